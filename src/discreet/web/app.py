"""The web application: its middlewares and routes. A route asks a dataset service, which runs `release/pipeline.py`."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette_compress import CompressMiddleware, add_compress_type

from discreet import __version__
from discreet.formats import formats
from discreet.ledger.requester import KeyCache
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.admission import AdmissionMiddleware, Capacity
from discreet.web.api.dcat import catalogue_router
from discreet.web.api.openapi import install_openapi
from discreet.web.api.routes import api_router
from discreet.web.audit.middleware import AuditMiddleware
from discreet.web.auth.identity import (
    IdentityMiddleware,
    RequestAuthoriser,
    parse_networks,
    sign_in_from_options,
)
from discreet.web.auth.rate_limit import RateLimitMiddleware, TokenBuckets
from discreet.web.cache import CacheMiddleware, ReleaseCache, response_cache
from discreet.web.health import HealthMiddleware
from discreet.web.lifespan import ServerState
from discreet.web.negotiation import LanguageMiddleware, media_type
from discreet.web.pages.custodian import custodian_router
from discreet.web.pages.table_page import page_router
from discreet.web.problems import install_error_handlers
from discreet.web.pxweb.routes import pxweb_router
from discreet.web.response_headers import ResponseHeadersMiddleware
from discreet.web.responses import RouteDispatcher
from discreet.web.sdmx.routes import sdmx_router
from discreet.web.templating import asset_routes
from discreet.web.trusted_hosts import HostMiddleware, host_patterns
from discreet.web.urls import parse_public_url
from discreet.workspace.options import Options

#: Formats that are compressed already.
_COMPRESSED = {
    "application/vnd.apache.parquet",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def create_app(
    registry: DatasetRegistry,
    options: Options,
    state: ServerState | None = None,
    lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None = None,
) -> FastAPI:
    """The web application of a workspace; without `state` it writes nothing."""
    public = parse_public_url(options.public_url)
    accounts = KeyCache(registry.register, registry.accounts_stamp)
    proxies = parse_networks(options.trusted_proxies, "trusted_proxies")
    state, releases = state or ServerState(), ReleaseCache()
    cache = response_cache(options.cache_mb, options.workers)
    calls = TokenBuckets(options.pxweb_calls, state.shared, "pxweb")
    unrestricted, registry = registry, registry.behind(RequestAuthoriser(options.access))
    for form in formats():
        if media_type(form) not in _COMPRESSED:
            add_compress_type(media_type(form), streaming=True)
    app = FastAPI(
        title="Discreet",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
        middleware=[  # the first one is the outermost
            Middleware(HealthMiddleware, unrestricted, state, options.metrics_addresses),
            Middleware(AuditMiddleware, state.addresses, state.log, state.metrics.observe),
            Middleware(IdentityMiddleware, accounts, sign_in_from_options(options), proxies),
            Middleware(RateLimitMiddleware, state.shared, state.addresses, options),
            Middleware(CacheMiddleware, cache, registry.mark),
            Middleware(ResponseHeadersMiddleware),
            Middleware(HostMiddleware, public, host_patterns(options, public)),
            Middleware(LanguageMiddleware),
            Middleware(AdmissionMiddleware, Capacity(options.cells_in_flight, options.workers)),
            Middleware(CompressMiddleware),
        ],
    )
    app.state.cache = cache
    app.router.middleware_stack = RouteDispatcher(app.router.middleware_stack)
    install_error_handlers(app)
    app.include_router(page_router(registry, options, releases))
    app.include_router(api_router(registry, options.nonzero_cells))
    app.include_router(
        pxweb_router(
            registry, options, lambda address: calls.take(state.addresses.pseudonym(address)), releases
        )
    )
    app.include_router(sdmx_router(registry))
    app.include_router(catalogue_router(registry, options))
    app.include_router(custodian_router(state))
    app.routes.extend(asset_routes())
    install_openapi(app)
    return app
