"""The audit middleware: one line per request, when its response was sent. It creates the request context.

    at, who, by, role, from, method, route, asked, status, decision, code, cells, ms, bytes, answer, encoding

`who` is the account, `by` how it signed in, `from` the client address as configured, `asked` the queries with their outcome
and `answer` the SHA-256 of the response body. Bodies with the same ETag are equal and hashed once. A cached response is
logged with the queries of the first one. Static files are not logged.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cachetools import LRUCache
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import WorkspaceUnusable
from discreet.web.audit.entry import AddressPolicy
from discreet.web.audit.log import AuditLog, log_timestamp
from discreet.web.context import RequestContext, use_context
from discreet.web.lifespan import INTERNAL
from discreet.web.telemetry import span

#: Bytes of the table of known responses, and of one entry at least.
MAX_BYTES, ENTRY_BYTES = 16_000_000, 1_000
LIMITED = frozenset({"too-many-calls", "stopped"})
#: Other methods are logged as `other`.
METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True)
class _KnownResponse:
    """The route, queries and body hashes (by encoding) of the response with one ETag."""

    route: str
    queries: tuple[dict[str, Any], ...]
    hashes: dict[str, str]

    @property
    def size(self) -> int:
        """Its bytes in memory, approximately."""
        texts = (len(each["request"]) + len(each.get("packed", "")) for each in self.queries)
        return ENTRY_BYTES * (1 + len(self.queries)) + sum(texts)


class AuditMiddleware:
    """Logs every request.

    Args:
        app: The application.
        addresses: What is stored of client addresses.
        log: The audit log; None for none.
        observe: Called with every line, for metrics.
    """

    def __init__(
        self,
        app: ASGIApp,
        addresses: AddressPolicy,
        log: AuditLog | None,
        observe: Callable[[dict[str, Any]], None],
    ) -> None:
        self.app = app
        self._addresses, self._log, self._observe = addresses, log, observe
        self.known: LRUCache[str, _KnownResponse] = LRUCache(MAX_BYTES, lambda known: known.size)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and log the outcome."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        with use_context(RequestContext()) as context:
            if INTERNAL in scope or scope["path"].partition("/static/")[0] == scope.get("root_path", ""):
                await self.app(scope, receive, send)
                return
            if self._log is not None and self._log.failed and self._log.rules.failure == "stop":
                context.refuse(WorkspaceUnusable("The log of requests cannot be written.", "See its disk."))
            response, started = _Response(self.known, scope["method"]), time.perf_counter()

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
        route, queries = self._remember(context, response)
        requester, client = context.requester, scope.get("client")
        fields = {
            "who": None if requester is None else requester.account,
            "by": None if requester is None else requester.by,
            "role": None if requester is None else requester.role,
            "from": self._addresses.stored(str(client[0]) if client else ""),
            "method": scope["method"] if scope["method"] in METHODS else "other",
            "route": route,
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

    def _remember(self, context: RequestContext, response: _Response) -> tuple[str, list[dict[str, Any]]]:
        """The route and queries of a response; those of the first one if it came from the cache."""
        queries = list(context.queries.values())
        if not response.etag:
            return context.route, queries
        known = self.known.get(response.etag)
        if known is None:
            known = _KnownResponse(context.route, tuple(queries), {})
            if known.size <= MAX_BYTES:
                self.known[response.etag] = known
        if response.digest():
            known.hashes.setdefault(response.encoding, response.digest())
        return context.route or known.route, queries or list(known.queries)


class _Response:
    """Status, size and hash of a response, as it is sent."""

    def __init__(self, known: LRUCache[str, _KnownResponse], method: str) -> None:
        self._known, self._has_body = known, method != "HEAD"
        self._hash: Any = None
        self._digest = ""
        self._complete = False
        self.status, self.size, self.etag, self.encoding = 0, 0, "", ""

    def see(self, part: Message) -> None:
        """Look at a message of the response."""
        if part["type"] == "http.response.start":
            self.status = part["status"]
            headers = {name.lower(): value.decode("latin-1") for name, value in part["headers"]}
            self.encoding = headers.get(b"content-encoding", "")
            self.etag = _plain_etag(headers.get(b"etag", ""))
            known = self._known.get(self.etag)
            self._digest = "" if known is None else known.hashes.get(self.encoding, "")
            self._hash = None if self._digest or self.status != 200 else hashlib.sha256()
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
        return self._digest or self._hash.hexdigest()


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


def _plain_etag(etag: str) -> str:
    """An ETag without the suffix of its encoding.

    >>> _plain_etag('"0a1b-zstd"'), _plain_etag('W/"0a1b"'), _plain_etag("")
    ('0a1b', '0a1b', '')
    """
    return etag.removeprefix("W/").strip('"').partition("-")[0]
