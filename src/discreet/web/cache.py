"""Caches of responses, releases and grids: LRU, bounded by bytes, each key computed once (single-flight).

Releases and grids are looked up after `DatasetService.check` has allowed the request to the requester, so that a reader who
pages through a large table has it counted once. A release is a pure function of the dataset version and the canonical
request: cached values never expire by time, and a new version or new labels change the key. Nothing that is metered per
account is cached. `CacheMiddleware` is a shared cache as in RFC 9111: it stores public responses of routes that allow it
(`responses.conditional`) and answers before all other work. Requests with credentials bypass it.
"""

import asyncio
import hashlib
import re
import time
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from threading import Lock
from typing import Any, Generic, TypeVar

import numpy as np
from cachetools import LRUCache
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import BadRequest, Refused
from discreet.inference.confidence_intervals.count_intervals import DEFAULT_LEVEL
from discreet.inference.confidence_intervals.table_intervals import every_interval
from discreet.inference.table_view import apply_view, bonferroni_level, percent_limits
from discreet.model.release import Release
from discreet.model.view import View
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetService
from discreet.web.admission import waiting_slot
from discreet.web.context import HttpMiddleware, request_context
from discreet.web.i18n.translation import current_language, translate_release
from discreet.web.negotiation import choose_language, matches_etag
from discreet.web.pages.table_grid import Layout, Limits, Shares

Value = TypeVar("Value")
#: Bytes of a cached response in addition to its headers and body.
OVERHEAD = 1_000
#: A response may take at most this fraction of the cache.
LARGEST_SHARE = 16
#: How long a thread waits for another thread that computes the same key.
SECONDS_TO_WAIT = 20.0
#: Seconds that a response is cached: one that shows the remaining budget, and one that only a new version changes.
MOMENT, ALWAYS = 1.0, float("inf")
#: Cached bodies are sent in pieces of this size, so that readers who do not read share one copy.
PIECE_BYTES = 65_536
#: How long equal requests wait for the first one from its first piece on: its reader may be slow.
PATIENCE = 1.0
#: Longer URLs and headers are not cached.
LONGEST_KEY = 4_096
#: Request headers that select a response, and headers that bypass the cache.
_SELECTING = (b"host", b"accept", b"accept-encoding", b"accept-language")
_BYPASSING = frozenset({b"authorization", b"cookie", b"range", b"if-range"})
_DATASET = re.compile(r"/datasets/([^/]+)")
#: Headers of a body, which a 304 does not have.
_OF_BODY = frozenset({b"content-length", b"content-type", b"content-encoding", b"content-disposition"})


def release_key(checked: CheckedRequest, *presentation: Hashable) -> tuple[Hashable, ...]:
    """The key of a checked request: version, labels, request, and how it is presented (view, format, language)."""
    dataset, request = checked.dataset, checked.request
    return (checked.digest, dataset.wording, dataset.id, request.permalink, *presentation)


class Cache(Generic[Value]):
    """An LRU cache for threads.

    Args:
        size_of: Bytes of a value. A larger value than the whole cache evicts all others.

    >>> cache = Cache(3, len)
    >>> [cache.compute(key, lambda: "x") for key in "abca"], cache.get("b"), cache.get("d")
    (['x', 'x', 'x', 'x'], 'x', None)
    """

    def __init__(self, max_bytes: int, size_of: Callable[[Value], int]) -> None:
        self._values: LRUCache[Hashable, Value] = LRUCache(
            max_bytes, lambda value: max(1, min(size_of(value), max_bytes))
        )
        self._flights: dict[Hashable, Future[Value]] = {}
        self._lock = Lock()

    @property
    def max_bytes(self) -> int:
        """The capacity."""
        return int(self._values.maxsize)

    @property
    def size(self) -> int:
        """Bytes in use."""
        return int(self._values.currsize)

    def get(self, key: Hashable) -> Value | None:
        """The cached value, if any."""
        with self._lock:
            return self._values.get(key)

    def put(self, key: Hashable, value: Value) -> None:
        """Store a value and evict the least recently used ones."""
        with self._lock, suppress(ValueError):  # a cache of 0 bytes stores nothing
            self._values[key] = value

    def compute(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        """The cached value, or a new one: one thread computes it, and concurrent callers wait for that thread.

        A caller computes for itself if too many threads wait already or the wait takes too long. If the computing thread
        fails, one of the waiting threads computes next: the failure may concern that thread's requester only.
        """
        with self._lock:
            if key in self._values:
                return self._values[key]
            flight = self._flights.get(key)
            if flight is None:
                own = self._flights[key] = Future()
        if flight is not None:
            with waiting_slot() as granted:
                try:
                    if granted:
                        return flight.result(SECONDS_TO_WAIT)
                except (CancelledError, TimeoutError):
                    pass
            return self.compute(key, compute) if flight.cancelled() else compute()
        try:
            value = compute()
        except BaseException:
            with self._lock:
                del self._flights[key]
            own.cancel()
            raise
        self.put(key, value)
        with self._lock:
            del self._flights[key]
        own.set_result(value)
        return value


@dataclass(frozen=True)
class CachedResponse:
    """A response with status 200, the monotonic time until which it is valid, and its route and queries for the log."""

    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    until: float = ALWAYS
    route: str = ""
    queries: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    @cached_property
    def body_hash(self) -> str:
        """The SHA-256 of the body."""
        return hashlib.sha256(self.body).hexdigest()

    @property
    def size(self) -> int:
        """Its bytes in memory, approximately."""
        texts = sum(len(each["request"]) + len(each.get("packed", "")) for each in self.queries.values())
        fixed = OVERHEAD * (1 + len(self.queries))
        return len(self.body) + sum(len(name) + len(value) for name, value in self.headers) + texts + fixed


def response_cache(megabytes: int, workers: int) -> Cache[CachedResponse]:
    """The response cache of one of several worker processes."""
    return Cache(megabytes * 1_000_000 // workers, lambda response: response.size)


class CacheMiddleware(HttpMiddleware):
    """Answers public requests from the cache. Equal requests at the same time are answered once, without a thread.

    `version_of` changes whenever a response about a dataset may change; for an empty name, about any dataset.
    """

    def __init__(
        self, app: ASGIApp, cache: Cache[CachedResponse], version_of: Callable[[str], Hashable]
    ) -> None:
        super().__init__(app)
        self.cache, self.version_of = cache, version_of
        self._flights: dict[Hashable, asyncio.Future[CachedResponse | None]] = {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = self.key(scope)
        if key is None:
            await self.app(scope, receive, send)
            return
        copies = b",".join(value for name, value in scope["headers"] if name == b"if-none-match")
        found = self.cache.get(key)
        if found is not None and found.until < time.monotonic():
            found = None
        if found is None and key in self._flights:
            found = await asyncio.shield(self._flights[key])
        if found is not None:
            context = request_context()
            context.route, context.queries, context.body_hash = found.route, found.queries, found.body_hash
            await send_cached(found, copies, scope["method"], send)
        elif scope["method"] == "GET" and not copies and key not in self._flights:
            await self._fill(key, scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def key(self, scope: Scope) -> tuple[Hashable, ...] | None:
        """Everything that selects a public response; None for a request that bypasses the cache.

        `Origin` is no part of it: the CORS headers of public responses are the same for every site.
        """
        context = request_context()
        if scope["method"] not in {"GET", "HEAD"} or context.requester or context.refusal:
            return None
        selecting: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in _BYPASSING or name in selecting:  # a header that is given twice is refused further in
                return None
            if name in _SELECTING:
                selecting[name] = value
        path, query = scope["path"], scope["query_string"]
        if len(path) + len(query) + sum(map(len, selecting.values())) > LONGEST_KEY:
            return None
        found = _DATASET.search(path)
        server = scope.get("server") or ("", None)
        return (
            self.version_of(found[1] if found else ""),
            _language(selecting.pop(b"accept-language", b"")),
            scope["http_version"],
            scope["scheme"],
            server[0],
            path,
            query,
            *(selecting.get(name) for name in _SELECTING[:3]),
        )

    async def _fill(self, key: Hashable, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer, record the response, and give it to all who wait for it.

        They stop waiting if it is too large, or if its reader takes longer than `PATIENCE`.
        """
        loop = asyncio.get_running_loop()
        flight: asyncio.Future[CachedResponse | None] = loop.create_future()
        self._flights[key] = flight
        timer: asyncio.TimerHandle | None = None
        headers: tuple[tuple[bytes, bytes], ...] | None = None
        body, complete = bytearray(), False

        async def record(message: Message) -> None:
            nonlocal timer, headers, complete
            more = message.get("more_body", False)
            if message["type"] == "http.response.start":
                if request_context().cache_seconds and message["status"] == 200:
                    headers = tuple(message["headers"])
            elif headers is not None:
                body.extend(message.get("body", b""))
                complete = not more
                if len(body) > self.cache.max_bytes // LARGEST_SHARE:
                    headers = None
                    body.clear()
                    _land(flight)
            if timer is None and more:
                timer = loop.call_later(PATIENCE, _land, flight)
            await send(message)

        response = None
        try:
            await self.app(scope, receive, record)
        finally:
            del self._flights[key]
            if timer is not None:
                timer.cancel()
            if headers is not None and complete:
                context = request_context()
                until = time.monotonic() + context.cache_seconds
                response = CachedResponse(headers, bytes(body), until, context.route, context.queries)
                self.cache.put(key, response)
            _land(flight, response)


def _land(flight: asyncio.Future[CachedResponse | None], response: CachedResponse | None = None) -> None:
    if not flight.done():
        flight.set_result(response)


@lru_cache(maxsize=1_000)
def _language(header: bytes) -> str:
    """The language that a header selects: there are thousands of headers and few languages."""
    return choose_language(header.decode("latin-1")).code


async def send_cached(found: CachedResponse, copies: bytes, method: str, send: Send) -> None:
    """Send a cached response, or 304 if the reader has a copy of it."""
    headers, status, body = list(found.headers), 200, b"" if method == "HEAD" else found.body
    etag = next((value.decode("latin-1") for name, value in headers if name == b"etag"), "")
    if etag and matches_etag(copies.decode("latin-1"), etag):
        status, body = 304, b""
        headers = [item for item in headers if item[0] not in _OF_BODY]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    for start in range(0, len(body) or 1, PIECE_BYTES):  # `send` waits while the reader is slow
        end = start + PIECE_BYTES
        more = end < len(body)
        await send({"type": "http.response.body", "body": body[start:end], "more_body": more})


#: Bytes per cell of a release and of a grid, and the bytes of each cache.
RELEASE_CELL, GRID_CELL, MAX_BYTES = 50, 80, 25_000_000


class ReleaseCache:
    """The releases of recent requests, and refusals that depend on counts."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.cache: Cache[Release | Refused] = Cache(
            max_bytes,
            lambda found: OVERHEAD + (0 if isinstance(found, Refused) else found.cells * RELEASE_CELL),
        )

    def release(self, service: DatasetService, checked: CheckedRequest) -> Release:
        """The answer to a checked request, unless a rule on counts refuses it."""
        if checked.metered:
            return service.answer(checked)
        own: list[Release] = []

        def compute() -> Release | Refused:
            try:
                own.append(service.answer(checked))
            except Refused as refusal:
                if not refusal.cacheable:
                    raise
                return _without_traceback(refusal)
            return replace(own[0], charged=None)  # only the requester who is charged sees the charge

        outcome = self.cache.compute(release_key(checked), compute)
        if isinstance(outcome, Refused):
            raise _without_traceback(outcome)
        return own[0] if own else outcome


class GridCache:
    """Recent releases as pages show them: with percentages, order, intervals and labels in one language."""

    def __init__(self, releases: ReleaseCache, max_bytes: int = MAX_BYTES) -> None:
        self.releases = releases
        self.cache: Cache[Layout] = Cache(
            max_bytes, lambda layout: OVERHEAD + layout.release.cells * GRID_CELL
        )

    def layout(
        self, service: DatasetService, checked: CheckedRequest, view: View, naming: str, ranges: str = ""
    ) -> Layout:
        """The answer to a checked request, laid out for a view; with `ranges` each number has its range below it."""

        def compute() -> Layout:
            release = translate_release(apply_view(self.releases.release(service, checked), view))
            return Layout(release, cell_limits(release), naming, share_limits(release), bool(ranges))

        if checked.metered:
            return compute()
        return self.cache.compute(
            release_key(checked, view, naming + ranges, current_language().code), compute
        )


def cell_limits(release: Release) -> Limits | None:
    """The smallest and largest true count of every cell, negative where there is none; None without any."""
    try:
        return every_interval(release, DEFAULT_LEVEL)
    except BadRequest:  # fitted numbers, or a distribution too wide for inference
        return None


def share_limits(release: Release) -> Shares | None:
    """The smallest and largest true percentage of every cell, rounded outwards; None without percentages."""
    if not release.view.percent:
        return None
    try:
        low, high = percent_limits(release, every_interval(release, bonferroni_level(DEFAULT_LEVEL)))
    except BadRequest:  # as above
        return None
    return None if low is None or high is None else (np.floor(10 * low) / 10, np.ceil(10 * high) / 10)


def _without_traceback(refusal: Refused) -> Refused:
    """A copy of a refusal. The frames of a traceback would keep exact counts in memory."""
    return type(refusal)(refusal.message, refusal.advice, code=refusal.code)
