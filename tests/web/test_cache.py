"""The caches: no request gets the response of another, each key is computed once, and memory and waiting are bounded."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import threading
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient
from tests.web.conftest import people_description, people_records

from discreet.errors import Busy
from discreet.model.request import TableRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web import admission
from discreet.web import cache as module
from discreet.web.admission import MAX_WAITING, THREADS
from discreet.web.app import create_app
from discreet.web.cache import (
    ALWAYS,
    MOMENT,
    Cache,
    CachedResponse,
    CacheMiddleware,
    release_key,
    response_cache,
    send_cached,
)
from discreet.web.context import RequestContext, request_context, use_context
from discreet.workspace.versions.label_corrections import relabel_dataset
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

PAGE = "/datasets/people?rows=sex&columns=age"
TABLE = "/api/datasets/people/table?rows=sex&columns=age"
BLOCK = "/datasets/people/block?rows=sex&columns=age"
#: Requests that differ in one thing that selects a response, by its place in the key.
PAIRS = {
    1: ((PAGE, {"accept-language": "de"}), (PAGE, {"accept-language": "en"})),
    5: ((TABLE, {}), ("/api/datasets/people/interval?rows=sex&columns=age", {})),
    6: ((f"{TABLE}&format=csv", {}), (f"{TABLE}&format=json", {})),
    7: ((PAGE, {"host": "localhost"}), (PAGE, {"host": "127.0.0.1"})),
    8: ((TABLE, {"accept": "text/csv"}), (TABLE, {"accept": "application/json"})),
    9: ((TABLE, {"accept-encoding": "gzip"}), (TABLE, {"accept-encoding": "identity"})),
}
SCOPE = {
    "type": "http", "method": "GET", "path": "/x", "query_string": b"", "headers": [],
    "scheme": "http", "server": None, "http_version": "1.1",
}  # fmt: skip


def without(part):
    """A middleware whose key lacks a part: the named wrong alternative."""

    class Forgetful(CacheMiddleware):
        def key(self, scope):
            found = super().key(scope)
            return None if found is None else (*found[:part], "", *found[part + 1 :])

    return Forgetful


def fetch(client, url, headers):
    """A response as it came over the wire, without its date."""
    with client.stream("GET", url, headers=headers) as response:
        kept = {name: value for name, value in response.headers.items() if name != "date"}
        return response.status_code, kept, b"".join(response.iter_raw())


def mixes_up(client, plain, part):
    """Whether one of a pair gets something else than a server without a cache gives."""
    return any(fetch(client, *each)[::2] != fetch(plain, *each)[::2] for each in (*PAIRS[part], *PAIRS[part]))


@pytest.fixture(scope="module")
def plain(small_workspace, small_settings):
    """A server that caches nothing: the slow and obvious one."""
    return TestClient(create_app(DatasetRegistry(small_workspace), replace(small_settings, cache_mb=0)))


@pytest.mark.slow
@pytest.mark.parametrize("part", PAIRS)
def test_no_request_gets_the_response_of_another(small_workspace, small_settings, plain, monkeypatch, part):
    registry = DatasetRegistry(small_workspace)
    assert not mixes_up(TestClient(create_app(registry, small_settings)), plain, part)
    monkeypatch.setattr("discreet.web.app.CacheMiddleware", without(part))
    assert mixes_up(TestClient(create_app(registry, small_settings)), plain, part)


@pytest.mark.parametrize("encoding", ["identity", "gzip", "br"])
@pytest.mark.parametrize(
    "url",
    [TABLE, f"{TABLE}&format=csv", PAGE, "/", "/api/datasets", f"{PAGE}&lang=de", "/api/datasets/people"],
)
def test_a_cached_response_is_the_response_and_304_is_304(client, plain, url, encoding):
    """Byte for byte, headers included, also if the reader has a copy already."""
    headers = {"accept-encoding": encoding}
    first, again = fetch(client, url, headers), fetch(client, url, headers)
    uncached = fetch(plain, url, headers)
    assert first == again
    if encoding != "gzip":  # gzip writes the time
        assert first == uncached
    for copies in (first[1]["etag"], f'"other", W/{first[1]["etag"]}', '"other"'):
        asked = headers | {"if-none-match": copies}
        one, other = fetch(client, url, asked), fetch(plain, url, asked)
        assert (one[0], set(one[1])) == (other[0], set(other[1])), copies


def test_a_key_is_checked_before_the_cache(small_workspace, small_settings, monkeypatch):
    """An invalid key is refused although the table is cached; a cache that ignores keys gives it away."""

    def status():
        client = TestClient(create_app(DatasetRegistry(small_workspace), small_settings))
        assert client.get(TABLE).status_code == client.get(TABLE).status_code == 200
        return client.get(TABLE, headers={"authorization": "Bearer garbage"}).status_code

    assert status() == 401
    monkeypatch.setattr(module, "_BYPASSING", frozenset())
    monkeypatch.setattr(RequestContext, "refuse", lambda _self, _error: None)
    assert status() == 200


def test_responses_to_accounts_are_neither_cached_nor_taken_from_the_cache():
    middleware = CacheMiddleware(None, response_cache(1, 1), lambda _name: 1)
    with use_context(RequestContext()) as context:
        assert middleware.key(SCOPE) is not None
        context.requester = "anna"
        assert middleware.key(SCOPE) is None


@pytest.mark.slow
def test_a_new_version_is_served_at_once(small_folder, small_settings, tmp_path, monkeypatch):
    """A load makes all cached responses unreachable; a key without the version gives old numbers."""

    def is_stale(folder):
        shutil.copytree(small_folder, folder)
        client = TestClient(create_app(DatasetRegistry(Workspace(folder, threads=1)), small_settings))
        before = client.get(TABLE).content
        assert client.get(TABLE).content == before
        load_dataset(
            folder, people_description().replace('version = "7"', 'version = "8"'), people_records(500)
        )
        return client.get(TABLE).content == before

    assert not is_stale(tmp_path / "right")
    monkeypatch.setattr("discreet.web.app.CacheMiddleware", without(0))
    assert is_stale(tmp_path / "wrong")


@pytest.mark.parametrize("wrong", [False, True])
def test_new_labels_are_served_at_once(small_folder, small_settings, tmp_path, monkeypatch, wrong):
    """Wrong alternative: a key without the wording, with which pages and blocks kept their old labels."""
    if wrong:
        monkeypatch.setattr(
            "discreet.web.release_cache.release_key",
            lambda checked, *rest: tuple(
                x for x in release_key(checked, *rest) if x != checked.dataset.wording
            ),
        )
    folder = shutil.copytree(small_folder, tmp_path / "w")
    client = TestClient(create_app(DatasetRegistry(Workspace(folder, threads=1)), small_settings))
    urls = (PAGE, BLOCK, f"{TABLE}&format=html")
    assert all("Female" in client.get(url).text for url in urls)
    relabel_dataset(folder, people_description().replace('label = "Female"', 'label = "Women"'))
    texts = [client.get(url).text for url in urls]
    assert all("Female" not in text and "Women" in text for text in texts) is not wrong


def test_errors_and_dry_runs_are_not_cached(client):
    cache = client.app.state.cache
    client.get("/nothing")
    size = cache.size
    for url in ("/nothing", "/api/datasets/people/table?rows=nothing", f"{TABLE}&dry_run=1"):
        client.get(url)
    assert cache.size == size


def test_one_language_in_many_headers_is_one_response(client, plain):
    cache = client.app.state.cache
    ways = ("de", "de-AT,de;q=0.9,en;q=0.8", "fr;q=0.9, de;q=0.8, en;q=0.1", "de;q=1")
    first, size = fetch(client, PAGE, {"accept-language": ways[0]}), cache.size
    for way in ways:
        assert fetch(client, PAGE, {"accept-language": way}) == first
        assert fetch(plain, PAGE, {"accept-language": way})[2] == first[2]
    assert cache.size == size


def answering(seconds, body=lambda: b"answer", before=lambda: asyncio.sleep(0)):
    """An application whose response may be cached for some seconds."""

    async def app(_scope, _receive, send):
        request_context().cache_seconds = seconds
        await before()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"etag", b'"a"')]})
        await send({"type": "http.response.body", "body": body()})

    return app


async def ask(middleware, bodies):
    async def send(part):
        bodies.extend([part["body"]] if "body" in part else [])

    with use_context(RequestContext()):
        await middleware(dict(SCOPE), None, send)


def test_equal_requests_at_once_are_answered_once():
    """Thirty readers wait for one response, without a thread; one that must not be cached is computed for each."""
    for seconds, calls in ((MOMENT, 1), (0, 31)):
        asked, bodies = itertools.count(), []

        async def run(seconds=seconds, asked=asked, bodies=bodies):
            opened = asyncio.Event()
            app = answering(seconds, lambda: [next(asked), b"answer"][1], opened.wait)
            middleware = CacheMiddleware(app, response_cache(1, 1), lambda _name: 1)
            tasks = [asyncio.create_task(ask(middleware, bodies)) for _ in range(31)]
            await asyncio.sleep(0)
            opened.set()
            await asyncio.gather(*tasks)

        asyncio.run(run())
        assert bodies == [b"answer"] * 31
        assert next(asked) == calls


@pytest.mark.parametrize(("seconds", "last"), [(MOMENT, b"new"), (ALWAYS, b"old")])
def test_a_page_with_the_remaining_budget_is_cached_for_a_moment(monkeypatch, seconds, last):
    """Wrong alternative: it is cached as if only another version changed it."""
    clock, state, bodies = [0.0], [b"old"], []
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    middleware = CacheMiddleware(answering(seconds, lambda: state[0]), response_cache(1, 1), lambda _name: 1)
    for now, text in ((0.0, b"old"), (MOMENT / 2, b"new"), (MOMENT * 1.01, b"new")):
        clock[0], state[0] = now, text
        asyncio.run(ask(middleware, bodies))
    assert bodies == [b"old", b"old", last]


@pytest.mark.slow
@pytest.mark.parametrize(("patience", "waits"), [(0.0, False), (60.0, True)])
def test_no_reader_waits_for_a_slow_one(monkeypatch, patience, waits):
    """Wrong alternative: a patience without end."""
    monkeypatch.setattr(module, "PATIENCE", patience)

    async def app(_scope, _receive, send):
        request_context().cache_seconds = ALWAYS
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(3):
            await send({"type": "http.response.body", "body": b"x", "more_body": number < 2})

    async def run():
        taken = asyncio.Event()
        middleware = CacheMiddleware(app, response_cache(1, 1), lambda _name: 0)

        async def slow(part):
            if part.get("more_body") is False and not taken.is_set():
                await taken.wait()

        async def first():
            with use_context(RequestContext()):
                await middleware(dict(SCOPE), None, slow)

        leader = asyncio.ensure_future(first())
        await asyncio.sleep(0)
        second = asyncio.ensure_future(ask(middleware, []))
        done, _ = await asyncio.wait([second], timeout=0.5 if waits else 30)
        taken.set()
        await asyncio.gather(leader, second)
        return bool(done)

    assert asyncio.run(run()) is not waits


def test_a_cached_body_is_sent_as_it_is_read(monkeypatch):
    """Wrong alternative: all of it at once, which is buffered for every reader who does not read."""
    monkeypatch.setattr(module, "PIECE_BYTES", 4)
    for size in (0, 3, 4, 5, 8, 10):
        body, sent = bytes(range(size)), []

        async def send(part, sent=sent):
            sent.append(part)

        asyncio.run(send_cached(CachedResponse((), body), b"", "GET", send))
        pieces = [part["body"] for part in sent[1:]]
        assert b"".join(pieces) == body
        assert max(map(len, pieces)) <= 4
        assert [part.get("more_body", False) for part in sent[1:]] == [True] * (len(pieces) - 1) + [False]


def test_bytes_are_bounded_and_the_least_recently_used_value_is_evicted():
    cache = Cache(30, len)
    for name in "abcd":
        cache.put(name, "x" * 10)
        cache.get("a")
    assert [cache.get(name) is not None for name in "abcd"] == [True, False, True, True]
    assert cache.size == cache.max_bytes == 30
    cache.put("large", "x" * 99)  # it replaces all others
    assert (cache.size, len(cache.get("large"))) == (30, 99)
    nothing = Cache(0, len)
    nothing.put("a", "x")
    assert nothing.get("a") is None
    assert response_cache(64, 2).max_bytes == 32_000_000


def in_threads(number, work):
    threads = [threading.Thread(target=work) for _ in range(number)]
    for thread in threads:
        thread.start()
    return threads


@pytest.mark.parametrize("size", [1, 1_000])
def test_one_thread_computes_what_many_want(size):
    """Also a value that is too large for the cache. Wrong alternative: a lock that is dropped when the first one leaves."""
    cache, computed, results, barrier = Cache(100 if size == 1 else 0, len), [], [], threading.Barrier(12)

    def compute():
        computed.append(1)
        while admission._waiting._value > MAX_WAITING - 11:
            threading.Event().wait(0.001)
        return "x" * size

    def want():
        barrier.wait()
        results.append(cache.compute("key", compute))

    for thread in in_threads(12, want):
        thread.join()
    assert (len(computed), len(results)) == (1, 12)


def test_a_failure_is_the_failure_of_one_requester():
    """The next waiting thread computes for itself, again one at a time."""
    cache, running, most, outcomes = Cache(100, len), [], [], []
    started = threading.Event()

    def compute():
        running.append(1)
        most.append(len(running))
        started.set()
        threading.Event().wait(0.02)
        running.pop()
        if len(most) == 1:
            raise ValueError("busy")
        return "x"

    def want():
        try:
            outcomes.append(cache.compute("key", compute))
        except ValueError:
            outcomes.append("failed")

    first = in_threads(1, want)
    started.wait()
    for thread in first + in_threads(8, want):
        thread.join()
    assert sorted(outcomes) == ["failed"] + ["x"] * 8
    assert (max(most), len(most)) == (1, 2)


def test_threads_that_wait_are_bounded_over_all_caches_and_the_queue(monkeypatch):
    """Wrong alternative: a bound for each cache, with which all 24 threads waited and no table was answered."""
    monkeypatch.setattr(admission, "SECONDS_TO_WAIT", 30)
    caches, hold, capacity = [Cache(100, len) for _ in range(3)], threading.Event(), admission.Capacity(10**9)
    done, waiting = [], admission._waiting
    before = waiting._value

    def compute():
        hold.wait()
        return "x"

    leaders = [
        thread for cache in caches for thread in in_threads(1, lambda c=cache: c.compute("key", compute))
    ]
    while not all(cache._flights for cache in caches):
        threading.Event().wait(0.001)
    for _ in range(admission.SLOTS):
        admission.Reservation(capacity, known=False).take(admission.SMALL + 1)
    queued = []

    def enqueue():
        reservation = admission.Reservation(capacity, known=False)
        try:
            reservation.take(admission.SMALL + 1)
        except Busy:
            queued.append("busy")

    for cache in caches:
        leaders += in_threads(8, lambda c=cache: done.append(c.compute("key", lambda: "own")))
    leaders += in_threads(4, enqueue)
    while len(done) + len(queued) < 28 - MAX_WAITING:
        threading.Event().wait(0.001)
    assert before - waiting._value == MAX_WAITING < THREADS
    hold.set()
    capacity.release(0, admission.SLOTS + 4)
    for thread in leaders:
        thread.join()
    assert waiting._value == before


def test_a_thread_does_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr(module, "SECONDS_TO_WAIT", 0.01)
    cache, hold = Cache(100, len), threading.Event()
    (leader,) = in_threads(1, lambda: cache.compute("key", lambda: [hold.wait(), "slow"][1]))
    while not cache._flights:
        threading.Event().wait(0.001)
    assert cache.compute("key", lambda: "own") == "own"
    hold.set()
    leader.join()
    assert cache.get("key") == "slow"


def test_a_key_holds_version_labels_request_and_presentation(small_workspace):
    service = DatasetRegistry(small_workspace).door("people")
    one, other = (service.check(TableRequest("people", (name,))) for name in ("sex", "age"))
    assert release_key(one, "de")[:3] == (one.digest, one.dataset.wording, "people")
    assert len({release_key(one), release_key(other), release_key(one, "de"), release_key(one, "en")}) == 4
