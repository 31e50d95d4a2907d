"""How a document travels: headers alone (HEAD), compressed (`Accept-Encoding`), or a part of it (`Range`).

Three ASGI layers, from the outside in:

    HeadAsGet     HEAD is answered as GET without a body; a route that sees `is_head` need not make one
    Compressed    zstd, brotli or gzip, flushed with every piece: the first byte leaves early
    Ranges        206 with the bytes asked for; `If-Range` compares strong tags

A tag names the bytes of the document as it is, and a compressed copy has the same tag with its encoding at the end:
`"abc-gzip"`. `If-None-Match` takes either, and a 304 gives back the tag of the reader's copy. A part is cut from the
document as it is and not compressed; a document never changes, so parts that were fetched on different days fit
together.

Compression and secrets (BREACH): the length of a compressed answer tells about a secret only if a third party can make
a reader's browser ask with that reader's rights, for an answer that holds the secret. There are no cookies and no
secrets in documents, and no site can have a browser send a key (`cross_origin`).

Source: RFC 9110, sections 8.8.3, 9.3.2, 12.5.3, 13.1.5 and 14.
"""

from __future__ import annotations

import asyncio
import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette_compress import CompressMiddleware, add_compress_type

from discreet.errors import RangeNotSatisfiable
from discreet.formats import formats
from discreet.web.negotiation import media_type
from discreet.web.problems import problem_response

#: So much is compressed at a time; between two pieces the server attends to others.
PIECE_BYTES = 262_144
#: Formats that are compressed inside: to do it twice gains nothing.
_PACKED = {
    "application/vnd.apache.parquet",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_HEAD = "discreet.head"
_COPY = re.compile(r'-(?:zstd|br|gzip)"\Z')
_RANGE = re.compile(r"bytes=(?P<first>[0-9]{0,18})-(?P<last>[0-9]{0,18})\Z")


def is_head(request: Request) -> bool:
    """Whether only the headers of an answer are asked for."""
    return _HEAD in request.scope


class HeadAsGet:
    """Answers HEAD as GET without its body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, without the body on the way back."""
        if scope["type"] == "http" and scope["method"] == "HEAD":
            scope, send = {**scope, "method": "GET", _HEAD: True}, _without_body(send)
        await self.app(scope, receive, send)


class Compressed:
    """Compresses what shrinks: every format but those that are compressed inside, pages and the like."""

    def __init__(self, app: ASGIApp) -> None:
        for form in formats():
            if media_type(form) not in _PACKED:
                add_compress_type(media_type(form), streaming=True)
        self.app = CompressMiddleware(_InPieces(app))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and name the copy for what it is."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        copies = [
            tag.strip() for tag in Headers(scope=scope).get("if-none-match", "").split(",") if tag.strip()
        ]
        headers = (
            [(b"if-none-match", ", ".join(map(_document_tag, copies)).encode("latin-1"))] if copies else []
        )
        headers += [item for item in scope["headers"] if item[0] != b"if-none-match"]

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in {200, 206, 304}:
                _name_copy(MutableHeaders(scope=message), copies if message["status"] == 304 else [])
            await send(message)

        await self.app({**scope, "headers": headers}, receive, named)


def _name_copy(headers: MutableHeaders, copies: list[str]) -> None:
    """Say that the encoding was a choice, and name the copy that is sent, or that the reader has."""
    if "accept-encoding" not in headers.get("vary", "").lower():
        headers.add_vary_header("Accept-Encoding")
    tag, encoding = headers.get("etag", ""), headers.get("content-encoding")
    if encoding and tag.startswith('"'):
        headers["etag"] = f'{tag[:-1]}-{encoding}"'
    for copy in copies:
        if _document_tag(copy).removeprefix("W/") == tag:
            headers["etag"] = copy


def _document_tag(tag: str) -> str:
    """The tag of a document, of the tag of a compressed copy.

    >>> _document_tag('"abc-gzip"'), _document_tag('"abc"')
    ('"abc"', '"abc"')
    """
    return _COPY.sub('"', tag)


class _InPieces:
    """Hands a long body on piece by piece."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, with long bodies cut."""

        async def cut(message: Message) -> None:
            body = message.get("body", b"")
            if message["type"] != "http.response.body" or len(body) <= PIECE_BYTES:
                await send(message)
                return
            last = (len(body) - 1) // PIECE_BYTES * PIECE_BYTES
            for start in range(0, len(body), PIECE_BYTES):
                more = start < last or message.get("more_body", False)
                await send({**message, "body": body[start : start + PIECE_BYTES], "more_body": more})
                await asyncio.sleep(0)

        await self.app(scope, receive, cut if scope["type"] == "http" else send)


class Ranges:
    """Sends the part of a tagged document that `Range` asks for; several parts at once are not offered."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on without the wish, and cut on the way back."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        asked = Headers(scope=scope)
        kept = [item for item in scope["headers"] if item[0] not in {b"range", b"if-range"}]
        cutter = _Cutter(scope, receive, send)
        if _HEAD not in scope:
            cutter.wish(asked.get("range", ""), asked.get("if-range"))
        await self.app({**scope, "headers": kept}, receive, cutter)


class _Cutter:
    """Collects one document and sends a part of it, or passes everything on."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope, self.receive, self.send = scope, receive, send
        self.range: re.Match[str] | None = None
        self.if_range: str | None = None
        self.start: Message | None = None
        self.collected = bytearray()

    def wish(self, text: str, if_range: str | None) -> None:
        """Note which part is wanted, and of which document; what cannot be read is ignored, as RFC 9110 says."""
        found = _RANGE.match(text.replace(" ", ""))
        self.range = found if found is not None and _has_meaning(found) else None
        if text.replace(" ", "") == "bytes=0-":  # all of it
            self.range = None
        self.if_range = if_range

    async def __call__(self, message: Message) -> None:
        """Take a message of the answer."""
        if message["type"] == "http.response.start" and self._can_cut(message):
            self.start = message
        elif self.start is not None and message["type"] == "http.response.body":
            self.collected += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_part(self.start)
        else:
            await self.send(message)

    def _can_cut(self, message: Message) -> bool:
        headers = MutableHeaders(scope=message)
        tag = headers.get("etag", "")
        if message["status"] != 200 or not tag.startswith('"'):
            return False
        headers["accept-ranges"] = "bytes"
        same = self.if_range is None or self.if_range in {tag, headers.get("last-modified")}
        return self.range is not None and same

    async def _send_part(self, start: Message) -> None:
        length = len(self.collected)
        first, end = _limits(self.range, length)
        if not first < end:
            refusal = RangeNotSatisfiable(
                f"The document has {length:,} bytes.", "Ask for bytes before its end, or for all of it."
            )
            response = problem_response(Request(self.scope), refusal)
            response.headers["content-range"] = f"bytes */{length}"
            await response(self.scope, self.receive, self.send)
            return
        headers = MutableHeaders(scope=start)
        headers["content-range"] = f"bytes {first}-{end - 1}/{length}"
        headers["content-length"] = str(end - first)
        await self.send({**start, "status": 206})
        with memoryview(self.collected) as whole:
            part = bytes(whole[first:end])
        self.collected.clear()
        await self.send({"type": "http.response.body", "body": part})


def _has_meaning(asked: re.Match[str]) -> bool:
    first, last = asked["first"], asked["last"]
    return int(first) <= int(last) if first and last else bool(first or last)


def _limits(asked: re.Match[str] | None, length: int) -> tuple[int, int]:
    """The first byte asked for and the one after the last.

    >>> [_limits(_RANGE.match(text), 10) for text in ("bytes=2-4", "bytes=7-99", "bytes=8-", "bytes=-3")]
    [(2, 5), (7, 10), (8, 10), (7, 10)]
    """
    assert asked is not None  # noqa: S101 - only a wish that was read is cut
    if not asked["first"]:
        return max(0, length - int(asked["last"])), length
    return int(asked["first"]), min(length, int(asked["last"]) + 1 if asked["last"] else length)


def _without_body(send: Send) -> Send:
    async def headers_only(message: Message) -> None:
        if message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return headers_only
