"""Run the server: the listening socket, worker processes and signals.

Each worker opens the workspace for itself. There is one secret and one ledger on disk, and the ledger's database orders all
charges. uvicorn's supervisor replaces a worker that dies. Workers end when the supervisor is killed.
"""

import errno
import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker

import pyarrow as pa
import uvicorn
from fastapi import FastAPI
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from discreet.errors import BadOption, DiscreetError
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.app import create_app
from discreet.web.connections import BoundedProtocol, ConnectionLimits, set_write_timeout
from discreet.web.health import IntegrityCheck
from discreet.web.lifespan import METRICS, lifespan, open_state, server_folder
from discreet.web.telemetry import clear_metrics
from discreet.workspace.options import Options

log = logging.getLogger("discreet.server")
#: How long responses in progress may take after a signal to stop, and a worker until it is killed.
SECONDS_TO_FINISH, SECONDS_TO_END = 5, 10.0
#: How long a worker may take to answer the supervisor's health check before it is replaced.
SECONDS_TO_ANSWER = 60


def serve(
    registry: DatasetRegistry, options: Options, announce: Callable[[str], None] = lambda _url: None
) -> None:
    """Serve until SIGINT or SIGTERM, with the worker processes of the options; `announce` gets the URL when all answer."""
    if options.cache_folder:
        log.warning("The option cache_folder is ignored: responses are cached in memory. Remove it.")
    create_app(registry, options)  # invalid options are reported before the socket is opened
    folder = server_folder(registry, options)
    if folder is not None:
        clear_metrics(folder / METRICS)
    listening = listen(options.host, options.port)
    set_write_timeout(listening, options.write_seconds)
    url = options.public_url or _url(listening)

    def ready() -> None:
        print(f"Discreet is serving {url}", file=sys.stderr, flush=True)  # noqa: T201 - the one line
        announce(url)

    try:
        with _exit_on_sigterm():
            if options.workers > 1:
                registry.close()
                application = Application(registry.opener(), options)
                _Supervisor(_config(application, options), [listening], ready).run()
            else:
                application = Application(lambda: registry, options)
                _Server(_config(application, options), ready).run([listening])
    except (KeyboardInterrupt, _Terminated):
        pass
    finally:
        listening.close()
        registry.close()


@dataclass(frozen=True)
class Application:
    """Creates the application in a worker process; uvicorn pickles it."""

    open_registry: Callable[[], DatasetRegistry]
    options: Options

    def __call__(self) -> FastAPI:
        """The application; its lifespan closes everything that is opened here."""
        is_worker = multiprocessing.parent_process() is not None
        if is_worker:
            threading.Thread(target=_end_with_parent, daemon=True).start()
            _take_hangup_as_sigterm()
        hide_pandas_from_arrow()
        logging.getLogger("uvicorn.error").addFilter(_drop_traceback)
        BoundedProtocol.limits = ConnectionLimits.from_options(self.options)
        with ExitStack() as opened:
            try:
                registry = self.open_registry()
                opened.callback(registry.close)
                state = opened.enter_context(open_state(registry, self.options))
            except DiscreetError as error:
                if not is_worker:
                    raise
                print(error, file=sys.stderr)  # noqa: T201 - the supervisor ends on this exit code
                sys.exit(STARTUP_FAILURE)
            opened.enter_context(IntegrityCheck(registry))
            return create_app(registry, self.options, state, lifespan(registry, opened.pop_all().close))
        raise AssertionError  # pragma: no cover - the stack suppresses no exception


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket; for an address that cannot be used, the error says what to do."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except OSError:
        raise _bad_host(host) from None
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
        listening.listen()
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            other = port + 1 if port < 65_535 else port - 1
            raise BadOption(
                f"The port {port} is in use.",
                f"Choose another: `--port {other}`, DISCREET_PORT or `port` in workspace.toml.",
            ) from None
        raise _bad_host(f"{host}:{port}") from None
    return listening


class _Terminated(SystemExit):
    """SIGTERM arrived: the server ends with exit code 0."""


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


class _Supervisor(Multiprocess):
    """Worker processes, with a report when all of them answer and a limit to how long they take to end."""

    def __init__(
        self, config: uvicorn.Config, sockets: list[socket.socket], ready: Callable[[], object]
    ) -> None:
        super().__init__(config, sockets)
        self._ready = ready

    def init_processes(self) -> None:
        resource_tracker.ensure_running()  # else the first worker starts it, which unblocks Ctrl-C
        with _ctrl_c_blocked():
            super().init_processes()
        while not self.should_exit.wait(0.1):
            self.handle_signals()
            if any(process.process.exitcode is not None for process in self.processes):
                return  # the main loop replaces it, or ends
            if all(process.is_ready() for process in self.processes):
                self._ready()
                return

    def keep_subprocess_alive(self) -> None:
        with _ctrl_c_blocked():
            super().keep_subprocess_alive()

    def restart_all(self) -> None:
        with _ctrl_c_blocked():
            super().restart_all()

    def join_all(self) -> None:
        for process in self.processes:
            process.process.join(SECONDS_TO_END)
            if process.process.is_alive():
                process.process.kill()
        super().join_all()


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """Start workers that inherit a blocked Ctrl-C: it goes to all processes of a terminal, and the supervisor ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _config(application: Application, options: Options) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        factory=True,
        workers=options.workers,
        http=BoundedProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # `auth.identity` keeps the address of the connection, which decides about account headers
        timeout_keep_alive=options.idle_seconds,
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
        timeout_worker_healthcheck=SECONDS_TO_ANSWER,
    )


@contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    """Turn SIGTERM into an exception: uvicorn raises the signal again, and by default that ends a process uncleaned.

    A terminal that is closed (SIGHUP) ends a single process in the same way; the supervisor replaces its workers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(_number: int, _frame: object) -> None:
        raise _Terminated(0)

    before = signal.signal(signal.SIGTERM, terminate)
    _take_hangup_as_sigterm()
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _take_hangup_as_sigterm() -> None:
    # It is ignored under nohup.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, lambda _number, _frame: signal.raise_signal(signal.SIGTERM))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def hide_pandas_from_arrow() -> None:
    """Let Arrow find no pandas: it imports pandas with its first array, 60 MB per process, and a server has no frames."""
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas)
        try:
            pa.array([0])
        finally:
            sys.meta_path.remove(_NoPandas)


class _NoPandas:
    """An importer that refuses pandas. A None in `sys.modules` does not stop Arrow, which is compiled."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def _drop_traceback(record: logging.LogRecord) -> bool:
    """Log an exception in a middleware without its text, which could hold a value."""
    if record.exc_info:
        kind = record.exc_info[0]
        record.msg, record.args = f"{record.msg} {kind.__name__ if kind else ''}".strip(), ()
        record.exc_info = None
    return True


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bad_host(address: str) -> BadOption:
    return BadOption(
        f"The server cannot listen on {address!r}.",
        "Choose another address: `--host 127.0.0.1 --port 8000`, DISCREET_HOST or `host` in workspace.toml.",
    )
