"""The layer that logs: one line a request, when its answer has left.

    at, who, by, role, from, method, route, asked, status, decision, code, cells, ms, bytes, answer, encoding

`who` is the account, `by` how it is known, `from` the address as it is kept. `asked` has the canonical requests with what
the rules said of each; `answer` is the SHA-256 of the bytes that left. An answer has the same bytes under one ETag, so
they are hashed once. A kept answer that leaves again is noted like the first one. Files of pages are not logged.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import WorkspaceUnusable
from discreet.web.audit.entry import ENTRY, AddressPolicy, AuditEntry
from discreet.web.audit.log import AuditLog, log_timestamp
from discreet.web.auth.identity import SCOPE, refuse
from discreet.web.lifespan import OURSELVES
from discreet.web.telemetry import span

#: The bytes of what is remembered of answers by their ETags; of each at least so many.
MOST_BYTES, LEAST_EACH = 16_000_000, 1_000
LIMITED = frozenset({"too-many-calls", "stopped"})
NOTE = "discreet.note"
#: Any other word is the reader's own, and is not kept.
METHODS = frozenset({"GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True)
class _Remembered:
    """What is known of the answer under an ETag."""

    route: str
    asked: tuple[dict[str, Any], ...]
    hashes: dict[str, str]

    @property
    def size(self) -> int:
        """The bytes that it takes, about."""
        return LEAST_EACH + sum(
            LEAST_EACH + len(each["request"]) + len(each.get("packed", "")) for each in self.asked
        )


class AuditMiddleware:
    """Logs every request.

    Args:
        app: What answers.
        addresses: What is kept of addresses.
        log: Where lines go; None for nowhere.
        observe: Told every line, for metrics.
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
        self._known: OrderedDict[str, _Remembered] = OrderedDict()
        self._size = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and log what became of it."""
        if scope["type"] != "http" or OURSELVES in scope or _is_static(scope):
            await self.app(scope, receive, send)
            return
        if self._log is not None and self._log.failed and self._log.rules.failure == "stop":
            refuse(scope, WorkspaceUnusable("The log of requests cannot be written.", "See its disk."))
        entry, answer, begun = AuditEntry(), _Answer(self._known), time.perf_counter()
        scope[NOTE], token = entry, ENTRY.set(entry)

        async def watched(message: Message) -> None:
            answer.see(message)
            await send(message)

        try:
            with span("request") as traced:
                await self.app(scope, receive, watched)
                if traced is not None:
                    traced.update_name(f"{scope['method']} {entry.route}")
                    traced.set_attribute("http.response.status_code", answer.status)
        finally:
            ENTRY.reset(token)
            self._write(scope, entry, answer, time.perf_counter() - begun)

    def _write(self, scope: Scope, entry: AuditEntry, answer: _Answer, seconds: float) -> None:
        route, asked = self._remember(entry, answer)
        asker = scope.get(SCOPE)
        client = scope.get("client")
        told = {
            "who": None if asker is None else asker.account,
            "by": None if asker is None else asker.by,
            "role": None if asker is None else asker.role,
            "from": self._addresses.kept(str(client[0]) if client else ""),
            "method": scope["method"] if scope["method"] in METHODS else "other",
            "route": route,
            "asked": asked,
            "status": answer.status,
            "decision": decision(answer.status, entry.code),
            "code": entry.code,
            "cells": sum(each.get("cells", 0) for each in asked),
            "ms": round(seconds * 1000),
            "bytes": answer.size,
            "answer": answer.digest(),
            "encoding": answer.encoding,
        }
        line = {
            "at": log_timestamp(),
            **{name: value for name, value in told.items() if value not in (None, "", [], ())},
        }
        self._observe({**line, "seconds": seconds})
        if self._log is not None:
            self._log.add(line)

    def _remember(self, entry: AuditEntry, answer: _Answer) -> tuple[str, list[dict[str, Any]]]:
        """The route and the questions of an answer; of one that was kept, those of the first time."""
        if not answer.tag:
            return entry.route, list(entry.asked.values())
        known = self._known.get(answer.tag)
        if known is None:
            known = _Remembered(entry.route, tuple(entry.asked.values()), {})
            self._known[answer.tag] = known
            self._size += known.size
            while self._size > MOST_BYTES:
                self._size -= self._known.popitem(last=False)[1].size
        answer.remember(known)
        return entry.route or known.route, list(entry.asked.values()) or list(known.asked)


def _is_static(scope: Scope) -> bool:
    return bool(scope["path"].partition("/static/")[0] == scope.get("root_path", ""))


class _Answer:
    """What is seen of an answer as it leaves."""

    def __init__(self, known: OrderedDict[str, _Remembered]) -> None:
        self._known = known
        self._hash: Any = None
        self._digest = ""
        self._whole = False
        self.status, self.size, self.tag, self.encoding = 0, 0, "", ""

    def see(self, message: Message) -> None:
        """Look at a piece on its way out."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = {name.lower(): value.decode("latin-1") for name, value in message["headers"]}
            self.encoding = headers.get(b"content-encoding", "")
            self.tag = _own_tag(headers.get(b"etag", ""))
            known = self._known.get(self.tag)
            self._digest = "" if known is None else known.hashes.get(self.encoding, "")
            self._hash = None if self._digest or self.status != 200 else hashlib.sha256()
        elif message["type"] == "http.response.body":
            body = message.get("body", b"")
            self.size += len(body)
            self._whole = not message.get("more_body", False)
            if self._hash is not None:
                self._hash.update(body)

    def digest(self) -> str:
        """The hash of the bytes that left; empty where there were none, or not all of them."""
        if self.status != 200 or not self._whole or not self.size:
            return ""
        return self._digest or self._hash.hexdigest()

    def remember(self, known: _Remembered) -> None:
        """Keep the hash, so that it is not made again."""
        if self.tag and self.digest():
            known.hashes.setdefault(self.encoding, self.digest())


class Routed:
    """Notes which route answered: the innermost layer, since the router is behind it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and look who took it."""
        try:
            await self.app(scope, receive, send)
        finally:
            note, route = scope.get(NOTE), scope.get("route")
            if note is not None:
                note.route = getattr(route, "path", "") or ""


def decision(status: int, code: str) -> str:
    """What became of a request, in a word.

    >>> decision(200, ""), decision(304, ""), decision(403, "too-sparse"), decision(429, "too-many-calls")
    ('answered', 'unchanged', 'refused', 'limited')
    """
    if code in LIMITED:
        return "limited"
    if status >= 500 or not status:
        return "failed"
    return "refused" if status >= 400 else "unchanged" if status == 304 else "answered"


def _own_tag(tag: str) -> str:
    """An ETag without what the encoding added.

    >>> _own_tag('"0a1b-zstd"'), _own_tag('W/"0a1b"'), _own_tag("")
    ('0a1b', '0a1b', '')
    """
    return tag.removeprefix("W/").strip('"').partition("-")[0]
