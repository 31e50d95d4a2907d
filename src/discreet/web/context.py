"""The context of the current request: one object, created by the audit middleware and read by everything below it.

Middlewares are subclasses of `HttpMiddleware`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import DiscreetError
from discreet.ledger.requester import Requester

if TYPE_CHECKING:
    from discreet.web.admission import Reservation
    from discreet.web.i18n.translation import RequestLanguage
    from discreet.web.urls import SiteUrl


@dataclass(slots=True)
class RequestContext:
    """What middlewares and routes know about one request.

    Args:
        requester, refusal: The account, None for an anonymous request; why a middleware refused it: the router answers so.
        site_url, reservation: The URL under which the reader reached the server, and the capacity that the request holds.
        cache_seconds: How long the response may be cached; 0 for not at all.
        route, code, body_hash: For the log: the route's path template, the error code, the SHA-256 of a cached response.
        metered: Whether a query of it is counted or charged per account.
        unchecked_draft: Whether it opened a dataset whose description is an unchecked draft.
        queries: For the audit log: the queries by dataset and canonical request, with their outcome.
    """

    requester: Requester | None = None
    refusal: DiscreetError | None = None
    site_url: SiteUrl | None = None
    language: RequestLanguage | None = None
    reservation: Reservation | None = None
    cache_seconds: float = 0.0
    is_head: bool = False
    route: str = ""
    code: str = ""
    body_hash: str = ""
    metered: bool = False
    unchecked_draft: bool = False
    queries: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def refuse(self, error: DiscreetError) -> None:
        """Answer the request with this error; the first one counts."""
        self.refusal = self.refusal or error


_CONTEXT: ContextVar[RequestContext | None] = ContextVar("discreet_request", default=None)


def request_context() -> RequestContext:
    """The context of the current request; outside a request an empty one."""
    return _CONTEXT.get() or RequestContext()


@contextmanager
def use_context(context: RequestContext) -> Iterator[RequestContext]:
    """Make a context the current one."""
    token = _CONTEXT.set(context)
    try:
        yield context
    finally:
        _CONTEXT.reset(token)


class HttpMiddleware:
    """A middleware of HTTP requests; the scope of the lifespan passes it by."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self.handle if scope["type"] == "http" else self.app)(scope, receive, send)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on to `app`."""
        raise NotImplementedError
