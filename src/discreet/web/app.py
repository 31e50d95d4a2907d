"""The server: the application with its routes and layers, and the loop that serves it."""

from __future__ import annotations

import errno
import gc
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import uvicorn
from anyio.to_thread import current_default_thread_limiter
from fastapi import FastAPI
from starlette.middleware import Middleware

from discreet import __version__
from discreet.errors import BadOption
from discreet.formats.svg import PICTURES
from discreet.ledger.key_cache import KeyCache
from discreet.pictures.drawing import DrawingProgram
from discreet.pictures.save import use_drawing_program
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.admission import THREADS, AdmissionMiddleware, Capacity, admit_question
from discreet.web.api.dcat import catalogue_router
from discreet.web.api.openapi import install_openapi
from discreet.web.api.routes import api_router
from discreet.web.assets import asset_routes
from discreet.web.audit.middleware import AuditMiddleware, Routed
from discreet.web.auth.identity import IdentityMiddleware, Refusals, sign_in_from_options
from discreet.web.auth.proxies import ProxyMiddleware, parse_networks
from discreet.web.auth.rate_limit import RateLimitMiddleware, TokenBuckets
from discreet.web.auth.roles import RequestAuthoriser
from discreet.web.cache import CacheMiddleware, ResponseCache
from discreet.web.connections import Connections
from discreet.web.health import HealthMiddleware
from discreet.web.hosts import HostMiddleware, host_patterns
from discreet.web.integrity_check import IntegrityCheck
from discreet.web.lifespan import METRICS, ServerState, open_state, server_folder, warm_up
from discreet.web.memory import COMPILER, give_back_heap, let_go_of_files, take_less_memory
from discreet.web.negotiation import LanguageMiddleware
from discreet.web.pages.custodian import custodian_router
from discreet.web.pages.table_page import page_router
from discreet.web.problems import install_error_handlers
from discreet.web.pxweb.routes import pxweb_router
from discreet.web.run import supervise
from discreet.web.sdmx.routes import sdmx_router
from discreet.web.security import (
    CorsMiddleware,
    ErrorMiddleware,
    SecurityHeadersMiddleware,
    SizeLimitMiddleware,
)
from discreet.web.telemetry import clear_metrics
from discreet.web.transfer import Compressed, HeadAsGet, Ranges
from discreet.web.urls import parse_public_url
from discreet.workspace.options import Options

#: Tables that are still being sent when the server is stopped get this long.
SECONDS_TO_FINISH = 5


def create_app(doors: DatasetRegistry, options: Options, state: ServerState | None = None) -> FastAPI:
    """The web application over the doors of one workspace.

    Args:
        doors: Of the workspace.
        options: Of the workspace.
        state: What the server keeps beside it; by default nothing is written.

    Raises:
        BadOption: `public_url` or `trusted_hosts` cannot be used.
    """
    public = parse_public_url(options.public_url)
    book, sign_in = KeyCache(doors.register, doors.accounts_stamp), sign_in_from_options(options)
    state, kept = state or ServerState(), ResponseCache.of(options)
    calls = TokenBuckets(options.pxweb_calls, state.shared, "pxweb")
    health = (doors, state.log, state.metrics, options.metrics_addresses)
    doors = doors.behind(RequestAuthoriser(options.access, admit_question))
    app = FastAPI(
        title="Discreet",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[  # from the outside in: who asks, whether and how often they may, and then what is kept
            Middleware(HealthMiddleware, *health),
            Middleware(ProxyMiddleware, parse_networks(options.trusted_proxies, "trusted_proxies")),
            Middleware(AuditMiddleware, state.addresses, state.log, state.metrics.observe),
            Middleware(IdentityMiddleware, book, sign_in),
            Middleware(RateLimitMiddleware, state.shared, state.addresses, options),
            Middleware(CacheMiddleware, kept, doors.mark),
            Middleware(SecurityHeadersMiddleware),
            Middleware(HeadAsGet),
            Middleware(HostMiddleware, public, host_patterns(options, public)),
            Middleware(CorsMiddleware),
            Middleware(LanguageMiddleware),
            Middleware(SizeLimitMiddleware),
            Middleware(Refusals),
            Middleware(AdmissionMiddleware, Capacity(options.cells_in_flight, options.workers)),
            Middleware(Compressed),
            Middleware(Ranges),
            Middleware(ErrorMiddleware),
            Middleware(Routed),
        ],
    )
    app.state.kept = kept
    install_error_handlers(app)
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


def serve(
    doors: DatasetRegistry, options: Options, announce: Callable[[str], None] = lambda _address: None
) -> None:
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
    place = server_folder(doors, options)
    if place is not None:
        clear_metrics(place / METRICS)
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
    doors: DatasetRegistry,
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
    with open_state(doors, options) as state, IntegrityCheck(doors), _drawing(folder):
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
    opener: Callable[[], DatasetRegistry],
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
        with use_drawing_program(program):
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
