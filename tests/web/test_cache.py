"""The caches: no request gets the response of another, each key is computed once, and memory and waiting are bounded.

Recent releases and grids: computed once, bounded in bytes, and never metered ones.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import BadRequest, Busy, Refused, TableNotReleased
from discreet.model.request import request_from_text
from discreet.model.view import NO_VIEW, View
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web import admission
from discreet.web import cache as caching
from discreet.web.admission import MAX_WAITING, THREADS
from discreet.web.cache import OVERHEAD, RELEASE_CELL, GridCache, ReleaseCache, release_key
from discreet.web.context import RequestContext, request_context, use_context
from discreet.workspace.versions.label_corrections import relabel_dataset
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

from .conftest import client_of, people_description, people_records, with_key

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


def layer(app):
    return caching.CacheMiddleware(app, caching.response_cache(1, 1), lambda _name: 1)


def without(part):
    """A middleware whose key lacks a part: the named wrong alternative."""

    class Forgetful(caching.CacheMiddleware):
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
def plain(small_workspace):
    """A server that caches nothing: the slow and obvious one."""
    return client_of(small_workspace, page_cells=1000, cache_mb=0)


@pytest.mark.slow
@pytest.mark.parametrize("part", PAIRS)
def test_no_request_gets_the_response_of_another(small_workspace, plain, monkeypatch, part):
    assert not mixes_up(client_of(small_workspace, page_cells=1000), plain, part)
    monkeypatch.setattr("discreet.web.app.CacheMiddleware", without(part))
    assert mixes_up(client_of(small_workspace, page_cells=1000), plain, part)


@pytest.mark.parametrize("encoding", ["identity", "gzip", "br"])
@pytest.mark.parametrize("url", [TABLE, f"{TABLE}&format=csv", f"{PAGE}&lang=de", "/api/datasets"])
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


def test_a_key_is_checked_before_the_cache(small_workspace, monkeypatch):
    """An invalid key is refused although the table is cached; a cache that ignores keys gives it away."""

    def status():
        client = client_of(small_workspace)
        assert client.get(TABLE).status_code == client.get(TABLE).status_code == 200
        return client.get(TABLE, headers=with_key("garbage")).status_code

    assert status() == 401
    monkeypatch.setattr(caching, "_BYPASSING", frozenset())
    monkeypatch.setattr(RequestContext, "refuse", lambda _self, _error: None)
    assert status() == 200


def test_responses_to_accounts_are_neither_cached_nor_taken_from_the_cache():
    middleware = layer(None)
    with use_context(RequestContext()) as context:
        assert middleware.key(SCOPE) is not None
        context.requester = "anna"
        assert middleware.key(SCOPE) is None


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [False, True])
def test_a_new_version_is_served_at_once(small_copy, monkeypatch, wrong):
    """A load makes all cached responses unreachable; a key without the version gives old numbers."""
    if wrong:
        monkeypatch.setattr("discreet.web.app.CacheMiddleware", without(0))
    client = client_of(Workspace(small_copy, threads=1))
    before = client.get(TABLE).content
    assert client.get(TABLE).content == before
    described = people_description().replace('version = "7"', 'version = "8"')
    load_dataset(small_copy, described, people_records(500))
    assert (client.get(TABLE).content == before) is wrong


@pytest.mark.parametrize("wrong", [False, True])
def test_new_labels_are_served_at_once(small_copy, monkeypatch, wrong):
    """Wrong alternative: a key without the wording, with which pages and blocks kept their old labels."""

    def key(checked, *rest):
        without = checked.dataset.wording if wrong else object()
        return tuple(x for x in release_key(checked, *rest) if x != without)

    release_key = caching.release_key
    monkeypatch.setattr(caching, "release_key", key)
    client = client_of(Workspace(small_copy, threads=1))
    urls = (PAGE, BLOCK, f"{TABLE}&format=html")
    assert all("Female" in client.get(url).text for url in urls)
    relabel_dataset(small_copy, people_description().replace('label = "Female"', 'label = "Women"'))
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


async def ask(middleware, bodies, send=None):
    async def collect(part):
        bodies.extend([part["body"]] if "body" in part else [])

    with use_context(RequestContext()):
        await middleware(dict(SCOPE), None, send or collect)


@pytest.mark.parametrize(("seconds", "calls"), [(caching.MOMENT, 1), (0, 31)])
def test_equal_requests_at_once_are_answered_once(seconds, calls):
    """Thirty readers wait for one response, without a thread; one that must not be cached is computed for each."""
    asked, bodies = itertools.count(), []

    async def run():
        opened = asyncio.Event()
        app = answering(seconds, lambda: [next(asked), b"answer"][1], opened.wait)
        middleware = layer(app)
        tasks = [asyncio.create_task(ask(middleware, bodies)) for _ in range(31)]
        await asyncio.sleep(0)
        opened.set()
        await asyncio.gather(*tasks)

    asyncio.run(run())
    assert bodies == [b"answer"] * 31
    assert next(asked) == calls


@pytest.mark.parametrize(("seconds", "last"), [(caching.MOMENT, b"new"), (caching.ALWAYS, b"old")])
def test_a_page_with_the_remaining_budget_is_cached_for_a_moment(monkeypatch, seconds, last):
    """Wrong alternative: it is cached as if only another version changed it."""
    clock, state, bodies = [0.0], [b"old"], []
    monkeypatch.setattr(caching.time, "monotonic", lambda: clock[0])
    middleware = layer(answering(seconds, lambda: state[0]))
    for now, text in ((0.0, b"old"), (caching.MOMENT / 2, b"new"), (caching.MOMENT * 1.01, b"new")):
        clock[0], state[0] = now, text
        asyncio.run(ask(middleware, bodies))
    assert bodies == [b"old", b"old", last]


@pytest.mark.slow
@pytest.mark.parametrize(("patience", "waits"), [(0.0, False), (60.0, True)])
def test_no_reader_waits_for_a_slow_one(monkeypatch, patience, waits):
    """Wrong alternative: a patience without end."""
    monkeypatch.setattr(caching, "PATIENCE", patience)

    async def app(_scope, _receive, send):
        request_context().cache_seconds = caching.ALWAYS
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(3):
            await send({"type": "http.response.body", "body": b"x", "more_body": number < 2})

    async def run():
        taken = asyncio.Event()
        middleware = layer(app)

        async def slow(part):
            if part.get("more_body") is False and not taken.is_set():
                await taken.wait()

        leader = asyncio.ensure_future(ask(middleware, [], slow))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(ask(middleware, []))
        done, _ = await asyncio.wait([second], timeout=0.5 if waits else 30)
        taken.set()
        await asyncio.gather(leader, second)
        return bool(done)

    assert asyncio.run(run()) is not waits


def test_a_cached_body_is_sent_as_it_is_read(monkeypatch):
    """Wrong alternative: all of it at once, which is buffered for every reader who does not read."""
    monkeypatch.setattr(caching, "PIECE_BYTES", 4)
    for size in (0, 3, 4, 5, 8, 10):
        body, sent = bytes(range(size)), []

        async def send(part, sent=sent):
            sent.append(part)

        asyncio.run(caching.send_cached(caching.CachedResponse((), body), b"", "GET", send))
        pieces = [part["body"] for part in sent[1:]]
        assert b"".join(pieces) == body
        assert max(map(len, pieces)) <= 4
        assert [part.get("more_body", False) for part in sent[1:]] == [True] * (len(pieces) - 1) + [False]


def test_bytes_are_bounded_and_the_least_recently_used_value_is_evicted():
    cache = caching.Cache(30, len)
    for name in "abcd":
        cache.put(name, "x" * 10)
        cache.get("a")
    assert [cache.get(name) is not None for name in "abcd"] == [True, False, True, True]
    assert cache.size == cache.max_bytes == 30
    cache.put("large", "x" * 99)  # it replaces all others
    assert (cache.size, len(cache.get("large"))) == (30, 99)
    nothing = caching.Cache(0, len)
    nothing.put("a", "x")
    assert nothing.get("a") is None
    assert caching.response_cache(64, 2).max_bytes == 32_000_000


def in_threads(number, work):
    threads = [threading.Thread(target=work) for _ in range(number)]
    for thread in threads:
        thread.start()
    return threads


def wait_until(holds):
    while not holds():
        threading.Event().wait(0.001)


@pytest.mark.parametrize("size", [1, 1_000])
def test_one_thread_computes_what_many_want(size):
    """Also a value that is too large for the cache. Wrong alternative: a lock that is dropped when the first one leaves."""
    cache, barrier = caching.Cache(100 if size == 1 else 0, len), threading.Barrier(12)
    computed, results = [], []

    def compute():
        computed.append(1)
        wait_until(lambda: admission._waiting._value <= MAX_WAITING - 11)
        return "x" * size

    def want():
        barrier.wait()
        results.append(cache.compute("key", compute))

    for thread in in_threads(12, want):
        thread.join()
    assert (len(computed), len(results)) == (1, 12)


def test_a_failure_is_the_failure_of_one_requester():
    """The next waiting thread computes for itself, again one at a time."""
    cache, running, most, outcomes = caching.Cache(100, len), [], [], []
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
    caches, hold = [caching.Cache(100, lambda _value: 1) for _ in range(3)], threading.Event()
    capacity = admission.Capacity(10**9)
    done, queued, waiting = [], [], admission._waiting
    before = waiting._value

    def enqueue():
        try:
            admission.Reservation(capacity, known=False).take(admission.SMALL + 1)
        except Busy:
            queued.append("busy")

    started = []
    for cache in caches:
        started += in_threads(1, lambda c=cache: c.compute("key", hold.wait))
    wait_until(lambda: all(cache._flights for cache in caches))
    for _ in range(admission.SLOTS):
        admission.Reservation(capacity, known=False).take(admission.SMALL + 1)
    for cache in caches:
        started += in_threads(8, lambda c=cache: done.append(c.compute("key", lambda: "own")))
    started += in_threads(4, enqueue)
    wait_until(lambda: len(done) + len(queued) >= 28 - MAX_WAITING)
    assert before - waiting._value == MAX_WAITING < THREADS
    hold.set()
    capacity.release(0, admission.SLOTS + 4)
    for thread in started:
        thread.join()
    assert waiting._value == before


def test_a_thread_does_not_wait_for_ever(monkeypatch):
    monkeypatch.setattr(caching, "SECONDS_TO_WAIT", 0.01)
    cache, hold = caching.Cache(100, len), threading.Event()
    (leader,) = in_threads(1, lambda: cache.compute("key", lambda: [hold.wait(), "slow"][1]))
    wait_until(lambda: cache._flights)
    assert cache.compute("key", lambda: "own") == "own"
    hold.set()
    leader.join()
    assert cache.get("key") == "slow"


@pytest.fixture(scope="module")
def service(town_workspace):
    return DatasetRegistry(town_workspace).open("town")


class Counted:
    """A service that counts its answers, and may refuse or wait."""

    def __init__(self, service, refusal=None, pause=0):
        self.service, self.refusal, self.pause = service, refusal, pause
        self.answers = 0

    def answer(self, question):
        self.answers += 1
        threading.Event().wait(self.pause)
        if self.refusal is not None:
            raise self.refusal
        return self.service.answer(question)


def question(service, *rows):
    return service.check(request_from_text("town", rows=list(rows)))


@pytest.mark.slow
def test_a_release_is_computed_once_even_if_all_ask_together(service):
    """Wrong alternative: look up, compute, store: everybody who comes meanwhile computes it again."""
    releases, counted = ReleaseCache(), Counted(service, pause=0.3)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: releases.release(counted, question(service, "sex", "age")), range(8)))
    assert counted.answers == 1
    assert all((each.values == made[0].values).all() for each in made)


def test_another_request_version_or_wording_is_another_release(service):
    releases, counted = ReleaseCache(), Counted(service)
    for rows in ("sex", "age", "sex"):
        releases.release(counted, question(service, rows))
    one = question(service, "sex")
    object.__setattr__(one, "digest", "another version")
    releases.release(counted, one)
    assert counted.answers == 3


def test_the_cache_is_bounded_by_the_cells_of_its_releases(service):
    releases, counted = ReleaseCache(max_bytes=2 * (OVERHEAD + 5 * RELEASE_CELL)), Counted(service)
    for name, answers in (("sex", 1), ("age", 2), ("job", 3), ("age", 3), ("sex", 4)):  # 3, 4 and 5 cells
        releases.release(counted, question(service, name))
        assert counted.answers == answers


def test_a_refusal_is_cached_without_its_traceback(service):
    """Wrong alternative: the exception itself, whose traceback keeps the exact counts in memory."""
    releases, counted = ReleaseCache(), Counted(service, TableNotReleased("Too sparse.", "Take one out."))
    for _ in range(3):
        with pytest.raises(TableNotReleased, match=r"Too sparse\. Take one out\."):
            releases.release(counted, question(service, "sex"))
    assert counted.answers == 1
    assert releases.cache.get(release_key(question(service, "sex"))).__traceback__ is None


def test_what_is_metered_or_may_change_is_not_cached(service):
    releases, metered = ReleaseCache(), question(service, "age")
    object.__setattr__(metered, "metered", True)
    refusing, allowed = Counted(service, Refused("Not today.", cacheable=False)), Counted(service)
    for _ in range(2):
        with pytest.raises(Refused):
            releases.release(refusing, question(service, "sex"))
        releases.release(allowed, metered)
    assert (refusing.answers, allowed.answers, releases.cache.size) == (2, 2, 0)


def asked(watched, **parts):
    service = DatasetRegistry(watched).open("people")
    return service, service.check(request_from_text("people", **parts))


def test_a_grid_is_computed_once_per_view_and_its_table_counted_once(watched):
    """Wrong: one grid for all views, so that readers see each other's order."""
    grids, question = GridCache(ReleaseCache()), asked(watched, rows=["district"], columns=["sex"])
    plain = grids.layout(*question, NO_VIEW, "labels")
    assert grids.layout(*question, NO_VIEW, "labels") is plain
    turned = grids.layout(*question, View(sort="-value"), "labels")
    assert turned.release.dimensions != plain.release.dimensions
    assert grids.layout(*question, NO_VIEW, "codes").naming == "codes"
    assert watched.engines["people"].calls == 1


def test_grids_are_bounded_and_a_view_that_fails_is_not_cached(watched):
    grids = GridCache(ReleaseCache(), max_bytes=20_000)
    for columns in (["sex"], ["age"], ["job"]):
        grids.layout(*asked(watched, rows=["district"], columns=columns), NO_VIEW, "labels")
        assert grids.cache.size <= 20_000
    before = grids.cache.size
    with pytest.raises(BadRequest):
        grids.layout(*asked(watched, columns=["sex"]), View(sort="label"), "labels")
    assert grids.cache.size == before
