"""What the router does for every route: refusals of middlewares, HEAD, unexpected errors, the audit log."""

from __future__ import annotations

import logging
import secrets

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import DiscreetError
from discreet.model.messages.text import message
from discreet.web.context import request_context

log = logging.getLogger("discreet.server")


class RouteDispatcher:
    """Wraps the router of an application.

    - Answers with the refusal of a middleware, in the language and with the links of the site.
    - Answers HEAD by the route for GET; the HTTP server sends no body.
    - Turns an unexpected exception into a 500 that reveals nothing: its text could hold a value.
    - Notes the route for the audit log.
    """

    def __init__(self, router: ASGIApp) -> None:
        self.router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Route a request.

        Raises:
            DiscreetError, HTTPException, RequestValidationError: For the exception handlers (`problems`).
        """
        if scope["type"] != "http":
            await self.router(scope, receive, send)
            return
        context = request_context()
        if context.refusal is not None:
            raise context.refusal
        if scope["method"] == "HEAD":
            context.is_head, scope = True, {**scope, "method": "GET"}
        started = False

        async def sending(part: Message) -> None:
            nonlocal started
            started = True
            await send(part)

        try:
            await self.router(scope, receive, sending)
        except Exception as error:
            handled = isinstance(error, DiscreetError | HTTPException | RequestValidationError)
            if handled and not started:
                raise
            incident = log_incident(error)
            if not started:
                raise internal_error(incident) from None
        finally:
            context.route = getattr(scope.get("route"), "path", "") or ""


def log_incident(error: Exception) -> str:
    """Log the type of an unexpected exception and return the incident number for the reader."""
    incident = secrets.token_hex(6)
    log.error("%s, incident %s", type(error).__name__, incident)
    return incident


def internal_error(incident: str) -> DiscreetError:
    """The answer to a request that ended in an unexpected exception."""
    return DiscreetError(
        message("The incident is noted as {incident}.", incident=incident),
        message("Try again; if it happens again, tell whoever runs this server that number."),
    )
