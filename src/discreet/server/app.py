"""The server: the application with its routes and layers, and the loop that serves it."""

from __future__ import annotations

import errno
import gc
import socket
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import uvicorn
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from starlette.middleware import Middleware

from discreet import __version__
from discreet.errors import BadOption
from discreet.formats.svg import PICTURES
from discreet.ledger.key_book import KeyBook
from discreet.pictures.drawing import DrawingProgram
from discreet.pictures.save import drawn_by
from discreet.server.access.buckets import Buckets
from discreet.server.access.gate import RequestGate
from discreet.server.access.identity import Identity, Refusals
from discreet.server.access.proxies import BehindProxies, read_networks
from discreet.server.access.quotas import Quotas
from discreet.server.access.sign_in import sign_in_of
from discreet.server.address import public_address
from discreet.server.api_routes import api_router
from discreet.server.assets import asset_routes
from discreet.server.audit.layer import Audit, Routed
from discreet.server.catalogue_routes import catalogue_router
from discreet.server.connections import Connections
from discreet.server.cross_origin import CrossOrigin
from discreet.server.custodian import custodian_router
from discreet.server.front import Front
from discreet.server.health import Health
from discreet.server.hosts import TrustedHosts, trusted_names
from discreet.server.in_flight import THREADS, Budget, InFlight, admit
from discreet.server.kept_answers import KeptAnswers
from discreet.server.languages import Languages
from discreet.server.memory import COMPILER, give_back_heap, let_go_of_files, take_less_memory
from discreet.server.metrics import forget_metrics
from discreet.server.openapi import install_openapi
from discreet.server.pages import page_router
from discreet.server.problems import install
from discreet.server.pxweb.exchange import AnyCase
from discreet.server.pxweb.routes import pxweb_router
from discreet.server.record_watch import RecordWatch
from discreet.server.sdmx.routes import sdmx_router
from discreet.server.security import LastResort, Limits, SecurityHeaders
from discreet.server.state import METRICS, State, open_state, state_place
from discreet.server.transfer import Compressed, HeadAsGet, Ranges
from discreet.server.warm_up import warm_up
from discreet.server.workers import supervise

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from discreet.answer.doors import Doors
    from discreet.workspace.options import Options

#: Tables that are still being sent when the server is stopped get this long.
SECONDS_TO_FINISH = 5


def create_app(doors: Doors, options: Options, state: State | None = None) -> FastAPI:
    """The web application over the doors of one workspace.

    Args:
        doors: Of the workspace.
        options: Of the workspace.
        state: What the server keeps beside it; by default nothing is written.

    Raises:
        BadOption: `public_url` or `trusted_hosts` cannot be used.
    """
    public = public_address(options.public_url)
    book, sign_in = KeyBook(doors.register, doors.register_mark), sign_in_of(options)
    state, kept = state or State(), KeptAnswers.of(options)
    calls = Buckets(options.pxweb_calls, state.shared, "pxweb")
    health = (doors, state.log, state.metrics, options.metrics_addresses)
    doors = doors.behind(RequestGate(options.access, admit))
    app = FastAPI(
        title="Discreet",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[  # from the outside in: who asks, whether and how often they may, and then what is kept
            Middleware(Health, *health),
            Middleware(BehindProxies, read_networks(options.trusted_proxies, "trusted_proxies")),
            Middleware(Audit, state.addresses, state.log, state.metrics.observe),
            Middleware(Identity, book, sign_in),
            Middleware(Quotas, state.shared, state.addresses, options),
            Middleware(Front, kept, doors.mark),
            Middleware(SecurityHeaders),
            Middleware(HeadAsGet),
            Middleware(TrustedHosts, public, trusted_names(options, public)),
            Middleware(CrossOrigin),
            Middleware(Languages),
            Middleware(Limits),
            Middleware(Refusals),
            Middleware(InFlight, Budget(options.cells_in_flight, options.workers)),
            Middleware(Compressed),
            Middleware(Ranges),
            Middleware(LastResort),
            Middleware(AnyCase),
            Middleware(Routed),
        ],
    )
    app.state.kept = kept
    install(app)
    app.include_router(api_router(doors, options.nonzero_cells))
    app.include_router(
        pxweb_router(doors, options, lambda address: calls.take(state.addresses.hashed(address)))
    )
    app.include_router(sdmx_router(doors))
    app.include_router(page_router(doors, options))
    app.include_router(catalogue_router(doors, options))
    app.include_router(custodian_router(state))
    app.routes.extend(asset_routes())
    install_openapi(app)
    return app


def serve(doors: Doors, options: Options, announce: Callable[[str], None] = lambda _address: None) -> None:
    """Serve until Ctrl-C, with as many processes as the options say.

    Args:
        doors: Of the workspace.
        options: Of the workspace.
        announce: Told the address as soon as it is served.

    Raises:
        BadOption: An option cannot be used, or the address cannot be listened on.
    """
    take_less_memory()
    create_app(doors, options)  # what cannot be used is said before anybody listens
    place = state_place(doors, options)
    if place is not None:
        forget_metrics(place / METRICS)
    listening = listen(options.host, options.port)
    address = options.public_url or _address(listening)

    def told() -> None:
        print(f"Discreet is serving {address}", file=sys.stderr, flush=True)  # noqa: T201 - the one line
        announce(address)

    try:
        with TemporaryDirectory(prefix="discreet-") as folder:
            if options.workers > 1:
                doors.prepare(wait=True)  # compiled code is then in memory once
                let_go_of_files(COMPILER)
                doors.close()  # each process opens what it needs
                work = partial(_work, doors.opener(), options, listening, Path(folder))
                supervise(work, options.workers, told)
            else:
                serve_here(doors, options, listening, Path(folder), told)
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()
        doors.close()


def serve_here(
    doors: Doors,
    options: Options,
    listening: socket.socket,
    folder: Path,
    ready: Callable[[], object],
) -> None:
    """Serve in this process, on a socket that listens, until a signal.

    Args:
        doors: Of the workspace.
        options: Of the workspace.
        listening: The socket.
        folder: Where the processes of the server find the program that draws.
        ready: Called when it answers.
    """
    take_less_memory()  # again where this process is no fork
    with open_state(doors, options) as state, RecordWatch(doors), _drawing(folder):
        app = create_app(doors, options, state)
        config = uvicorn.Config(
            app,
            http=Connections.of(options).protocol(),
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # `access/proxies` reads them, of those who are trusted
            timeout_keep_alive=options.idle_seconds,
            timeout_graceful_shutdown=SECONDS_TO_FINISH,
        )
        try:
            _Announced(config, partial(warm_up, app, doors), ready).run(sockets=[listening])
        finally:
            gc.unfreeze()  # so that libraries find nothing left over


def _work(
    opener: Callable[[], Doors],
    options: Options,
    listening: socket.socket,
    folder: Path,
    ready: Callable[[], object],
) -> None:
    """What one of several processes does."""
    doors = opener()
    try:
        serve_here(doors, options, listening, folder, ready)
    finally:
        doors.close()


@contextmanager
def _drawing(folder: Path) -> Iterator[None]:
    """Have pictures drawn by a program of the server, where the system has sockets that are files."""
    if PICTURES.missing or not hasattr(socket, "AF_UNIX"):
        yield
        return
    program = DrawingProgram(folder)
    try:
        with drawn_by(program):
            yield
    finally:
        program.close()


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, or an error that says how to choose another address."""
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
        raise (_bad_port(port) if error.errno == errno.EADDRINUSE else _bad_host(f"{host}:{port}")) from None
    return listening


class _Announced(uvicorn.Server):
    """Warms up before it listens, and says when it answers."""

    def __init__(
        self, config: uvicorn.Config, warm: Callable[[], Awaitable[None]], ready: Callable[[], object]
    ) -> None:
        super().__init__(config)
        self._warm, self._ready = warm, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        current_default_thread_limiter().total_tokens = THREADS
        await self._warm()
        gc.collect()
        gc.freeze()  # what stays is not looked through again while readers wait
        give_back_heap()
        await super().startup(sockets)
        self._ready()


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _bad_port(port: int) -> BadOption:
    other = port + 1 if port < 65_535 else port - 1
    return BadOption(
        f"The port {port} is in use.",
        f"Choose another: `--port {other}`, DISCREET_PORT or `port` in workspace.toml.",
    )


def _bad_host(address: str) -> BadOption:
    return BadOption(
        f"The server cannot listen on {address!r}.",
        "Choose another address: `--host 127.0.0.1 --port 8000`, DISCREET_HOST or `host` in workspace.toml.",
    )
