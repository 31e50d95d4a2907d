"""The front: a public answer that was given before leaves again before anything else is asked.

    identity -> authorisation -> limits -> front -> headers, host, language, encoding -> route -> door -> answer

It is a shared cache in the sense of RFC 9111, and stricter. An answer is kept only where its route says that it lasts
(`answer.conditional`): it is a pure function of the dataset's version and of the request, was allowed to anybody, and
was charged to nobody. It is found again only by a request that is the same in everything an answer may depend on:

    key = (mark of the dataset, HTTP/1.0 or 1.1, scheme, server, host, path, query, Accept, Accept-Encoding, language)

The mark follows from the files that say which version is served and in which words; it is read before the answer is
made, so a load or a correction makes every older answer unreachable. A request with a key, a cookie, a range or an
identity of its own passes by. Equal requests that arrive together are answered once, and waiting takes no thread. Nobody
waits for another reader: those who wait go on by themselves where the first one does not take a long answer at once.
A page that tells what is left of a budget is given again for a second (`MOMENT`): so old a page may be on any screen.

Source: RFC 9110, section 13.1.2; RFC 9111, section 3.
"""

from __future__ import annotations

import asyncio
import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.server.kept_answers import KeptAnswer
from discreet.server.languages import preferred

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from discreet.server.kept_answers import KeptAnswers

#: Where a route says that its answer lasts.
SLIP = "discreet.slip"
#: Where an outer layer says who asks; whoever is known is not answered here.
ACCOUNT = "discreet.account"
#: Headers that choose an answer.
_CHOOSE = {b"host": 0, b"accept": 1, b"accept-encoding": 2, b"accept-language": 3, b"if-none-match": 4}
#: Headers of requests that are not answered here.
_PASS = frozenset({b"authorization", b"cookie", b"range", b"if-range"})
#: So much of a kept answer is handed on at once: what a reader does not take stays one copy, in the cache.
PIECE_BYTES = 65_536
#: Seconds that others wait from the first piece of an answer on: its reader may be slow.
PATIENCE = 1.0
#: Seconds that an answer holds that also tells what others change, and of one that only another version changes.
MOMENT, ALWAYS = 1.0, float("inf")
#: A longer address, or longer headers, are not worth keeping.
LONGEST_KEY = 4_096
_DATASET = re.compile(r"/datasets/([^/]+)")
_COPY = re.compile(rb'-(?:zstd|br|gzip)"\Z')
#: Headers of a document that a 304 does not have.
_OF_BODY = frozenset(
    {b"content-length", b"content-type", b"content-encoding", b"content-disposition", b"accept-ranges"}
)


class Slip:
    """A note that goes with a request to its route and back: for how many seconds the answer lasts."""

    __slots__ = ("lasts",)

    def __init__(self) -> None:
        self.lasts = 0.0


class Front:
    """Gives public answers again.

    Args:
        app: What answers otherwise.
        kept: Where answers are kept.
        mark: What tells of a dataset whether its answers still hold; of all datasets for an empty name.
        pass_by: Names of further headers, in lower case, that say who asks.
    """

    def __init__(
        self,
        app: ASGIApp,
        kept: KeptAnswers,
        mark: Callable[[str], Hashable],
        pass_by: frozenset[bytes] = frozenset(),
    ) -> None:
        self.app = app
        self._kept = kept
        self._mark = mark
        self._pass = _PASS | pass_by
        self._flights: dict[Hashable, asyncio.Future[KeptAnswer | None]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Give an answer again, or pass on and keep what lasts."""
        asked = self._asked(scope)
        if asked is None:
            await self.app(scope, receive, send)
            return
        key, copies = asked
        found = self._kept.find(key)
        if found is not None and found.until < time.monotonic():
            found = None
        if found is None and key in self._flights:
            found = await asyncio.shield(self._flights[key])
        if found is not None:
            await _give(found, copies, scope["method"], send)
        elif scope["method"] == "GET" and not copies and key not in self._flights:
            await self._lead(key, scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _asked(self, scope: Scope) -> tuple[Hashable, bytes] | None:
        """The key of a request and the copies that the reader has; None for one that is not answered here."""
        if scope["type"] != "http" or scope["method"] not in {"GET", "HEAD"} or scope.get(ACCOUNT):
            return None
        chosen, seen = [b"", b"", b"", b"", b""], 0
        for name, value in scope["headers"]:
            if name in self._pass:
                return None
            place = _CHOOSE.get(name)
            if place is not None:
                if seen & 1 << place:  # given twice: let the layers behind read it
                    return None
                seen |= 1 << place
                chosen[place] = value
        path, query = scope["path"], scope["query_string"]
        if len(path) + len(query) + sum(map(len, chosen)) > LONGEST_KEY:
            return None
        found = _DATASET.search(path)
        mark = self._mark(found[1] if found else "")
        server = scope.get("server") or ("", None)
        asked = (scope["http_version"], scope["scheme"], server[0], path, query, *chosen[:3])
        return (mark, *asked, _language(chosen[3])), chosen[4]

    async def _lead(self, key: Hashable, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the answer made, and give it to those who wait for the same."""
        flight: asyncio.Future[KeptAnswer | None] = asyncio.get_running_loop().create_future()
        self._flights[key] = flight

        def land(made: KeptAnswer | None = None) -> None:
            if not flight.done():
                flight.set_result(made)

        copier = _Copier(send, self._kept.largest, land)
        try:
            await self.app({**scope, SLIP: copier.slip}, receive, copier)
        finally:
            del self._flights[key]
            made = copier.made()
            if made is not None:
                self._kept.keep(key, made)
            land(made)


@lru_cache(maxsize=1_000)
def _language(header: bytes) -> str:
    """The language that a header chooses: browsers write it in a thousand ways, and the answers are few."""
    return preferred(header.decode("latin-1")).code


class _Copier:
    """Hands an answer on, and copies it where it lasts and is not too large.

    Args:
        send: To the reader.
        most: Bytes that are copied.
        late: Called where the reader takes longer than others should wait.
    """

    def __init__(self, send: Send, most: int, late: Callable[[], None]) -> None:
        self.slip = Slip()
        self._send = send
        self._most = most
        self._late = late
        self._timer: asyncio.TimerHandle | None = None
        self._headers: list[tuple[bytes, bytes]] | None = None
        self._body: list[bytes] = []
        self._size = 0
        self._whole = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if self.slip.lasts and message["status"] == 200:
                self._headers = list(message["headers"])
        elif self._headers is not None:
            body = message.get("body", b"")
            self._size += len(body)
            self._body.append(body)
            self._whole = not message.get("more_body", False)
            if self._size > self._most:
                self._headers, self._body = None, []
                self._late()
        if self._timer is None and message.get("more_body", False):
            self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._late)
        await self._send(message)

    def made(self) -> KeptAnswer | None:
        """The whole answer; None where it does not last, is too large, or was not made to its end."""
        if self._timer is not None:
            self._timer.cancel()
        if self._headers is None or not self._whole:
            return None
        until = time.monotonic() + self.slip.lasts
        return KeptAnswer(tuple(self._headers), b"".join(self._body), until)


async def _give(found: KeptAnswer, copies: bytes, method: str, send: Send) -> None:
    """Send what is kept, or say that the reader has it."""
    headers, status, body = list(found.headers), 200, found.body
    copy = _reader_copy(headers, copies) if copies else None
    if copy is not None:
        headers = [item for item in headers if item[0] not in _OF_BODY and item[0] != b"etag"]
        headers.append((b"etag", copy))
        status, body = 304, b""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    body, start = b"" if method == "HEAD" else body, 0
    while len(body) - start > PIECE_BYTES:  # more is handed on as the reader takes it
        await send(
            {"type": "http.response.body", "body": body[start : start + PIECE_BYTES], "more_body": True}
        )
        start += PIECE_BYTES
    await send({"type": "http.response.body", "body": body[start:]})


def _reader_copy(headers: list[tuple[bytes, bytes]], copies: bytes) -> bytes | None:
    """The last tag of a list that names this document, compressed or not."""
    tag = next((value for name, value in headers if name == b"etag"), b"")
    own, found = _COPY.sub(b'"', tag), None
    for copy in copies.split(b","):
        if _COPY.sub(b'"', copy.strip()).removeprefix(b"W/") == own:
            found = copy.strip()
    return found if own else None
