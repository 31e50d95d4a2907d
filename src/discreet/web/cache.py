"""One thread makes what several want at the same moment: a few wait for it, and whoever comes after them makes it too.

Who waits holds a thread of the server, and threads are few: without a bound one slow answer, asked for by many, would keep
everybody from the quick ones. A quick answer that is made twice costs little, and a slow one needs a place (`in_flight`).

Answers that were given before: a release never changes, so neither does its document. Bounded in bytes.

    key = ETag of the document        after the question was checked for whoever asks
    key = (mark of the dataset, address, what chose the answer)        for public answers, as they left (`front`)

An ETag follows from the version, the canonical request, the format, the view, the language and the root of the links
(`answer`). What is not used longest is forgotten first. With a folder, documents are kept on disk too: a restart finds
them, and so do the other processes. A file holds the hash of its own bytes; one that is torn or foreign is not read.

The front: a public answer that was given before leaves again before anything else is asked.

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
import hashlib
import json
import os
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Lock

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.web.negotiation import choose_language
from discreet.workspace.options import Options
from discreet.workspace.sealed import make_private_folder


class SingleFlight:
    """Who makes what, and who waits for it.

    Args:
        most_waiting: How many threads wait at once, whatever for.
        seconds: How long each waits.
    """

    def __init__(self, most_waiting: int, seconds: float) -> None:
        self._most_waiting, self._seconds = most_waiting, seconds
        self._making: dict[Hashable, Lock] = {}
        self._lock = Lock()
        self.waiting = 0

    @contextmanager
    def alone(self, key: Hashable) -> Iterator[None]:
        """Let one thread at a time make what has this key: the others find it made, unless too many wait or for too long."""
        with self._lock:
            making = self._making.setdefault(key, Lock())
        if not (making.acquire(blocking=False) or self._waited_for(making)):
            yield
            return
        try:
            yield
        finally:
            making.release()
            with self._lock:
                self._making.pop(key, None)

    def _waited_for(self, making: Lock) -> bool:
        """Wait for a turn; False where it did not come."""
        with self._lock:
            if self.waiting >= self._most_waiting:
                return False
            self.waiting += 1
        try:
            return making.acquire(timeout=self._seconds)
        finally:
            with self._lock:
                self.waiting -= 1


#: What an answer takes beside its bytes.
OVERHEAD = 1_000
#: One answer may take so much of the memory, and no more.
LARGEST_SHARE = 16
#: Threads that wait for an answer that another makes, and for how long.
MOST_WAITING, SECONDS_TO_WAIT = 4, 5.0
#: A folder that is full is emptied to this share.
EMPTIED_TO = 0.8
_SUFFIX = ".answer"


@dataclass(frozen=True, slots=True)
class CachedResponse:
    """An answer with status 200: its headers and its bytes, and how long they are given again, by the monotonic clock."""

    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    until: float = float("inf")

    @property
    def size(self) -> int:
        """What it takes in memory, about."""
        return len(self.body) + sum(len(name) + len(value) for name, value in self.headers) + OVERHEAD


class ResponseCache:
    """Answers in memory, as many as fit, and in a folder where there is one.

    Args:
        most_bytes: Of all answers in memory.
        folder: On disk.

    >>> kept = ResponseCache(32_000)
    >>> for name in "abcdefghijklmnopqrstuvwxyz":
    ...     kept.keep(name, KeptAnswer((), b"x" * 500))
    >>> kept.find("a"), kept.find("z").size, kept.size <= 32_000
    (None, 1500, True)
    """

    def __init__(self, most_bytes: int, folder: AnswerFolder | None = None) -> None:
        self._most_bytes = most_bytes
        self._folder = folder
        self._kept: OrderedDict[Hashable, CachedResponse] = OrderedDict()
        self.turns = SingleFlight(MOST_WAITING, SECONDS_TO_WAIT)
        self._lock = Lock()
        self.size = 0

    @classmethod
    def of(cls, options: Options) -> ResponseCache:
        """As the options say."""
        place = options.cache_folder
        folder = AnswerFolder(Path(place), options.cache_folder_mb * 1_000_000) if place else None
        return cls(options.cache_mb * 1_000_000 // options.workers, folder)

    @property
    def largest(self) -> int:
        """The bytes of the largest answer that is kept."""
        return self._most_bytes // LARGEST_SHARE

    def find(self, key: Hashable) -> CachedResponse | None:
        """What is in memory under a key."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def find_document(self, tag: str) -> CachedResponse | None:
        """What is kept under an ETag, in memory or on disk."""
        found = self.find(tag)
        if found is None and self._folder is not None:
            found = self._folder.find(tag)
            if found is not None:
                self.keep(tag, found)
        return found

    def keep(self, key: Hashable, answer: CachedResponse) -> None:
        """Keep an answer in memory, and forget what was not used longest until all fit."""
        if answer.size > self.largest:
            return
        with self._lock:
            before = self._kept.pop(key, None)
            self.size += answer.size - (0 if before is None else before.size)
            self._kept[key] = answer
            while self.size > self._most_bytes:
                self.size -= self._kept.popitem(last=False)[1].size

    def keep_document(self, tag: str, answer: CachedResponse) -> None:
        """Keep an answer under its ETag, in memory and on disk."""
        self.keep(tag, answer)
        if self._folder is not None:
            self._folder.keep(tag, answer)


class AnswerFolder:
    """Documents on disk, by their ETags.

    Args:
        folder: Where; it is made with access for its owner alone.
        most_bytes: Of all files.
    """

    def __init__(self, folder: Path, most_bytes: int) -> None:
        make_private_folder(folder)
        self._folder = folder
        self._most_bytes = most_bytes
        self._lock = Lock()
        self._size = sum(size for _, size, _ in self._files())

    def find(self, tag: str) -> CachedResponse | None:
        """What is kept under an ETag; None where nothing is, or where a file is damaged."""
        path = self._path(tag)
        try:
            head, _, body = path.read_bytes().partition(b"\n")
            told = json.loads(head)
            if told["sha256"] != _hash(told["tag"], told["headers"], body) or told["tag"] != tag:
                return None
            os.utime(path)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return CachedResponse(
            tuple((n.encode("latin-1"), v.encode("latin-1")) for n, v in told["headers"]), body
        )

    def keep(self, tag: str, answer: CachedResponse) -> None:
        """Write a file that is there whole or not at all; a disk that is full keeps nothing."""
        headers = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in answer.headers]
        told = {"tag": tag, "headers": headers, "sha256": _hash(tag, headers, answer.body)}
        path = self._path(tag)
        beside = path.with_name(f".{secrets.token_hex(8)}")
        try:
            beside.write_bytes(json.dumps(told).encode() + b"\n" + answer.body)
            beside.replace(path)
        except OSError:
            beside.unlink(missing_ok=True)
            return
        with self._lock:
            self._size += answer.size
            if self._size > self._most_bytes:
                self._make_room()

    def _make_room(self) -> None:
        """Remove what was not read longest; other processes may do so too."""
        files = sorted(self._files())
        self._size = sum(size for _, size, _ in files)
        for _, size, path in files:
            if self._size <= EMPTIED_TO * self._most_bytes:
                break
            path.unlink(missing_ok=True)
            self._size -= size

    def _files(self) -> list[tuple[int, int, Path]]:
        found = []
        for path in self._folder.glob(f"*{_SUFFIX}"):
            with suppress(OSError):
                stat = path.stat()
                found.append((stat.st_mtime_ns, stat.st_size, path))
        return found

    def _path(self, tag: str) -> Path:
        return self._folder / f"{hashlib.sha256(tag.encode()).hexdigest()}{_SUFFIX}"


def _hash(tag: str, headers: list[list[str]], body: bytes) -> str:
    return hashlib.sha256(json.dumps([tag, headers]).encode() + b"\n" + body).hexdigest()


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


class CacheMiddleware:
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
        kept: ResponseCache,
        mark: Callable[[str], Hashable],
        pass_by: frozenset[bytes] = frozenset(),
    ) -> None:
        self.app = app
        self._kept = kept
        self._mark = mark
        self._pass = _PASS | pass_by
        self._flights: dict[Hashable, asyncio.Future[CachedResponse | None]] = {}

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
        flight: asyncio.Future[CachedResponse | None] = asyncio.get_running_loop().create_future()
        self._flights[key] = flight

        def land(made: CachedResponse | None = None) -> None:
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
    return choose_language(header.decode("latin-1")).code


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

    def made(self) -> CachedResponse | None:
        """The whole answer; None where it does not last, is too large, or was not made to its end."""
        if self._timer is not None:
            self._timer.cancel()
        if self._headers is None or not self._whole:
            return None
        until = time.monotonic() + self.slip.lasts
        return CachedResponse(tuple(self._headers), b"".join(self._body), until)


async def _give(found: CachedResponse, copies: bytes, method: str, send: Send) -> None:
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
