"""The server: the application with its routes and layers, and the loop that serves it.

Comes from: `cli/commands/serve.py`. Goes to: `api_routes`, `pages`; data only through a `Door`.
"""

from __future__ import annotations

import errno
import socket
import sys
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.staticfiles import StaticFiles

from discreet import __version__
from discreet.errors import BadOption
from discreet.server.address import public_address
from discreet.server.api_routes import api_router
from discreet.server.catalogue_routes import catalogue_router
from discreet.server.cross_origin import CrossOrigin
from discreet.server.hosts import TrustedHosts, trusted_names
from discreet.server.openapi import install_openapi
from discreet.server.pages import page_router
from discreet.server.problems import install
from discreet.server.pxweb.exchange import AnyCase
from discreet.server.pxweb.routes import pxweb_router
from discreet.server.record_watch import RecordWatch
from discreet.server.sdmx.routes import sdmx_router
from discreet.server.security import LastResort, Limits, SecurityHeaders
from discreet.server.templating import STATIC
from discreet.server.transfer import Compressed, HeadAsGet, Ranges

if TYPE_CHECKING:
    from discreet.answer.door import Doors
    from discreet.workspace.options import Options

#: What is longer is cut off by the server; what is shorter and still too long gets a 414 that says so.
LONGEST_REQUEST = 65_536
#: Tables that are still being sent when the server is stopped get this long.
SECONDS_TO_FINISH = 5


def create_app(doors: Doors, options: Options) -> FastAPI:
    """The web application over the doors of one workspace.

    Raises:
        BadOption: `public_url` or `trusted_hosts` cannot be used.
    """
    public = public_address(options.public_url)
    app = FastAPI(
        title="Discreet",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[
            Middleware(SecurityHeaders),
            Middleware(HeadAsGet),
            Middleware(TrustedHosts, public, trusted_names(options, public)),
            Middleware(CrossOrigin),
            Middleware(Limits),
            Middleware(Compressed),
            Middleware(Ranges),
            Middleware(LastResort),
            Middleware(AnyCase),
        ],
    )
    install(app)
    app.include_router(api_router(doors))
    app.include_router(pxweb_router(doors, options))
    app.include_router(sdmx_router(doors))
    app.include_router(page_router(doors, options))
    app.include_router(catalogue_router(doors, options))
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    install_openapi(app)
    return app


def serve(doors: Doors, options: Options) -> None:
    """Serve until Ctrl-C.

    Raises:
        BadOption: An option cannot be used, or the address cannot be listened on.
    """
    app = create_app(doors, options)
    listening = listen(options.host, options.port)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=LONGEST_REQUEST,
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
    )
    try:
        with RecordWatch(doors):
            _Announced(config, options.public_url or _address(listening)).run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()
        doors.close()


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
    """Says where it serves as soon as it does, in one line on standard error."""

    def __init__(self, config: uvicorn.Config, address: str) -> None:
        super().__init__(config)
        self._address = address

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(f"Discreet is serving {self._address}", file=sys.stderr, flush=True)  # noqa: T201 - the one line


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
