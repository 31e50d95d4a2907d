"""The audit middleware: one line per request, when its response was sent. It creates the request context.

    at, who, by, role, from, method, route, asked, status, decision, code, cells, ms, bytes, answer, encoding

`who` is the account, `by` how it signed in, `from` the client address as configured, `asked` the queries with their outcome
and `answer` the SHA-256 of the response body. A cached response is logged with the queries of the first one. Static files
are not logged.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import WorkspaceUnusable
from discreet.web.audit.log import AddressPolicy, AuditLog, log_timestamp
from discreet.web.context import HttpMiddleware, RequestContext, use_context
from discreet.web.lifespan import INTERNAL
from discreet.web.telemetry import span

LIMITED = frozenset({"too-many-calls", "stopped"})
#: Other methods are logged as `other`.
METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})


class AuditMiddleware(HttpMiddleware):
    """Logs every request; `observe` gets every line, for metrics."""

    def __init__(
        self,
        app: ASGIApp,
        addresses: AddressPolicy,
        log: AuditLog | None,
        observe: Callable[[dict[str, Any]], None],
    ) -> None:
        super().__init__(app)
        self._addresses, self._log, self._observe = addresses, log, observe

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        with use_context(RequestContext()) as context:
            if INTERNAL in scope or scope["path"].partition("/static/")[0] == scope.get("root_path", ""):
                await self.app(scope, receive, send)
                return
            if self._log is not None and self._log.failed and self._log.rules.failure == "stop":
                context.refuse(WorkspaceUnusable("The log of requests cannot be written.", "See its disk."))
            if self._log is not None:
                self._log.expect_line()
            response, started = _Response(context, scope["method"]), time.perf_counter()

            async def watch(part: Message) -> None:
                response.see(part)
                await send(part)

            try:
                with span("request") as traced:
                    await self.app(scope, receive, watch)
                    if traced is not None:
                        traced.update_name(f"{scope['method']} {context.route}")
                        traced.set_attribute("http.response.status_code", response.status)
            finally:
                self._write(scope, context, response, time.perf_counter() - started)

    def _write(self, scope: Scope, context: RequestContext, response: _Response, seconds: float) -> None:
        queries = list(context.queries.values())
        requester, client = context.requester, scope.get("client")
        fields = {
            "who": None if requester is None else requester.account,
            "by": None if requester is None else requester.by,
            "role": None if requester is None else requester.role,
            "from": self._addresses.stored(str(client[0]) if client else ""),
            "method": scope["method"] if scope["method"] in METHODS else "other",
            "route": context.route,
            "asked": queries,
            "status": response.status,
            "decision": decision(response.status, context.code),
            "code": context.code,
            "cells": sum(each.get("cells", 0) for each in queries),
            "ms": round(seconds * 1000),
            "bytes": response.size,
            "answer": response.digest(),
            "encoding": response.encoding,
        }
        given = {name: value for name, value in fields.items() if value not in (None, "", [], ())}
        line = {"at": log_timestamp(), **given}
        self._observe({**line, "seconds": seconds})
        if self._log is not None:
            self._log.add(line)


class _Response:
    def __init__(self, context: RequestContext, method: str) -> None:
        self._context, self._has_body = context, method != "HEAD"
        self._hash: Any = None
        self._complete = False
        self.status, self.size, self.encoding = 0, 0, ""

    def see(self, part: Message) -> None:
        if part["type"] == "http.response.start":
            self.status = part["status"]
            self.encoding = Headers(raw=part["headers"]).get("content-encoding", "")
            self._hash = None if self._context.body_hash or self.status != 200 else hashlib.sha256()
        elif part["type"] == "http.response.body" and self._has_body:
            body = part.get("body", b"")
            self.size += len(body)
            self._complete = not part.get("more_body", False)
            if self._hash is not None:
                self._hash.update(body)

    def digest(self) -> str:
        """The hash of the body; empty if there was none, or not all of it was sent."""
        if self.status != 200 or not self._complete or not self.size:
            return ""
        return self._context.body_hash or self._hash.hexdigest()


def decision(status: int, code: str) -> str:
    """The outcome of a request in a word.

    >>> decision(200, ""), decision(304, ""), decision(403, "too-sparse"), decision(429, "too-many-calls")
    ('answered', 'unchanged', 'refused', 'limited')
    """
    if code in LIMITED:
        return "limited"
    if status >= 500 or not status:
        return "failed"
    return "refused" if status >= 400 else "unchanged" if status == 304 else "answered"
