"""One thread makes what many want; few wait, and none without end.

Answers are kept within a number of bytes; a file that is torn or foreign is not read.

Nobody gets an answer that was made for another request: each part of the key is needed, and the test shows it.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import shutil
import threading
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.app import create_app
from discreet.web.cache import (
    ALWAYS,
    MOMENT,
    AnswerFolder,
    CachedResponse,
    CacheMiddleware,
    ResponseCache,
    SingleFlight,
    _give,
)
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace


def test_one_thread_makes_what_many_want():
    turns, kept, made, gate = SingleFlight(12, 60), {}, [], threading.Barrier(12)

    def want():
        gate.wait()
        with turns.alone("tag"):
            if "tag" not in kept:
                made.append(1)
                kept["tag"] = "answer"

    threads = [threading.Thread(target=want) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]


def test_others_go_on_while_something_else_is_made():
    turns = SingleFlight(0, 60)
    with turns.alone("slow"), turns.alone("quick"):
        pass


def test_few_wait_and_the_rest_go_on_by_themselves():
    """Wrong alternative: all of them wait, each with a thread of the server."""
    turns, made = SingleFlight(3, 60), []

    def want():
        with turns.alone("tag"):
            made.append(turns.waiting)

    threads = [threading.Thread(target=want) for _ in range(10)]
    with turns.alone("tag"):
        for thread in threads:
            thread.start()
        while len(made) < 7 or turns.waiting < 3:
            threading.Event().wait(0.005)
        assert len(made) == 7
    for thread in threads:
        thread.join()
    assert len(made) == 10
    assert turns.waiting == 0


def test_nobody_waits_without_end():
    turns, made = SingleFlight(3, 0.01), []
    with turns.alone("tag"), turns.alone("tag"):
        made.append(1)
    assert made == [1]
    assert turns.waiting == 0
    with turns.alone("tag"):
        pass


ANSWER = CachedResponse(((b"content-type", b"text/csv"), (b"x", "ä".encode())), b"a,b\n1,2\n")


def test_no_stream_of_answers_takes_more_than_the_bound():
    """Garbage of all sizes; the bound holds after each, and what is used stays."""
    rng, kept = random.Random(3), ResponseCache(200_000)
    kept.keep("used", ANSWER)
    for number in range(5_000):
        kept.keep(("garbage", number % 700), CachedResponse((), b"x" * rng.randrange(30_000)))
        assert kept.size <= 200_000
        assert kept.find("used") is ANSWER
    assert kept.size == sum(answer.size for answer in kept._kept.values())
    assert kept.find(("garbage", 1)) is None or kept.find(("garbage", 1)).size <= kept.largest


def test_without_memory_nothing_is_kept():
    kept = ResponseCache(0)
    kept.keep_document("tag", ANSWER)
    assert kept.find_document("tag") is None


def test_a_folder_gives_back_what_was_kept_also_to_another_process(tmp_path):
    options = read_options(tmp_path, cache_folder=str(tmp_path / "kept"))
    ResponseCache.of(options).keep_document('"tag"', ANSWER)
    assert ResponseCache.of(options).find_document('"tag"') == ANSWER
    assert ResponseCache.of(options).find_document('"other"') is None
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("place", ["head", "body", "end", "name"])
def test_a_torn_changed_or_renamed_file_is_not_read(tmp_path, place):
    folder = AnswerFolder(tmp_path, 1_000_000)
    folder.keep('"tag"', ANSWER)
    (file,) = tmp_path.glob("*.answer")
    text = file.read_bytes()
    if place == "name":
        file.rename(folder._path('"another"'))
        assert folder.find('"another"') is None
        return
    torn = {
        "head": text.replace(b"text/csv", b"text/html"),
        "body": text.replace(b"1,2", b"1,3"),
        "end": text[:-1],
    }
    file.write_bytes(torn[place])
    assert folder.find('"tag"') is None


def test_a_folder_stays_within_its_bytes_and_keeps_what_was_read(tmp_path):
    folder = AnswerFolder(tmp_path, 100_000)
    for number in range(200):
        folder.keep(f'"{number}"', CachedResponse((), bytes(2_000)))
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 110_000
    assert folder.find('"199"') is not None
    assert folder.find('"0"') is None


PAGE = "/datasets/people?rows=sex&columns=age"
TABLE = "/api/datasets/people/table?rows=sex&columns=age"
#: Requests that differ in one thing that an answer may depend on, by the part of the key that tells them apart.
PAIRS = {
    4: ((TABLE, {}), ("/api/datasets/people/interval?rows=sex&columns=age", {})),
    5: ((f"{TABLE}&format=csv", {}), (f"{TABLE}&format=json", {})),
    6: ((PAGE, {"host": "localhost"}), (PAGE, {"host": "127.0.0.1"})),
    7: ((TABLE, {"accept": "text/csv"}), (TABLE, {"accept": "application/json"})),
    8: ((TABLE, {"accept-encoding": "gzip"}), (TABLE, {"accept-encoding": "identity"})),
    9: ((PAGE, {"accept-language": "de"}), (PAGE, {"accept-language": "en"})),
}


def without(part):
    """A front that forgets a part of the key: the named wrong alternative."""

    class Forgetful(CacheMiddleware):
        def _asked(self, scope):
            found = super()._asked(scope)
            return None if found is None else ((*found[0][:part], "", *found[0][part + 1 :]), found[1])

    return Forgetful


def got(client, address, headers):
    """An answer as it came over the wire, without what depends on the moment."""
    with client.stream("GET", address, headers=headers) as response:
        kept = {name: value for name, value in response.headers.items() if name != "date"}
        return response.status_code, kept, b"".join(response.iter_raw())


def is_mixed_up(client, plain, part):
    """Whether one of a pair gets something else than a server without a cache gives."""
    asked = [*PAIRS[part], *PAIRS[part]]
    return any(got(client, *each)[::2] != got(plain, *each)[::2] for each in asked)


@pytest.fixture(scope="module")
def plain(small_workspace, small_settings):
    """A server that keeps nothing: the slow and obvious one."""
    return TestClient(create_app(DatasetRegistry(small_workspace), replace(small_settings, cache_mb=0)))


@pytest.mark.slow
@pytest.mark.parametrize("part", PAIRS)
def test_no_request_gets_the_answer_of_another(small_workspace, small_settings, plain, monkeypatch, part):
    assert not is_mixed_up(
        TestClient(create_app(DatasetRegistry(small_workspace), small_settings)), plain, part
    )
    monkeypatch.setattr("discreet.web.app.Front", without(part))
    assert is_mixed_up(TestClient(create_app(DatasetRegistry(small_workspace), small_settings)), plain, part)


ADDRESSES = [
    TABLE,
    f"{TABLE}&format=csv",
    PAGE,
    "/",
    "/api/datasets",
    f"{PAGE}&lang=de",
    "/api/datasets/people",
]


@pytest.mark.parametrize("encoding", ["identity", "gzip", "br"])
@pytest.mark.parametrize("address", ADDRESSES)
def test_a_kept_answer_is_the_answer_and_304_is_304(client, plain, address, encoding):
    """Byte for byte, headers included, also where the reader has a copy already."""
    headers = {"accept-encoding": encoding}
    first, again = got(client, address, headers), got(client, address, headers)
    assert first == again == got(plain, address, headers)
    for copies in (first[1]["etag"], f'"other", W/{first[1]["etag"]}', '"other"'):
        asked = headers | {"if-none-match": copies}
        assert got(client, address, asked) == got(plain, address, asked), copies


def test_a_key_is_looked_at_before_what_is_kept(small_workspace, small_settings, monkeypatch):
    """A key that nobody has is refused though the table is kept; a front that does not see keys gives it away."""

    def status():
        client = TestClient(create_app(DatasetRegistry(small_workspace), small_settings))
        assert client.get(TABLE).status_code == client.get(TABLE).status_code == 200
        return client.get(TABLE, headers={"authorization": "Bearer garbage"}).status_code

    assert status() == 401
    monkeypatch.setattr("discreet.web.cache._PASS", frozenset())
    monkeypatch.setattr("discreet.web.cache.ACCOUNT", "nobody")
    assert status() == 200


def test_who_is_known_by_an_outer_layer_is_not_answered_here():
    """A layer before the front says who asks: that answer is neither taken from here nor kept here."""
    slips, sent = [], []

    async def app(scope, _receive, send):
        slips.append("discreet.slip" in scope)
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/x",
        "query_string": b"",
        "headers": [],
        "http_version": "1.1",
    }
    scope |= {"scheme": "http", "server": None}
    for account, has_slip in (("anna", False), (None, True)):
        asyncio.run(
            CacheMiddleware(app, ResponseCache(1_000), lambda _name: 1)(
                scope | {"discreet.account": account}, None, send
            )
        )
        assert slips.pop() is has_slip


@pytest.mark.slow
def test_a_new_version_is_served_from_the_moment_it_is_there(
    small_folder, small_settings, tmp_path, monkeypatch
):
    """A load makes all kept answers unreachable; a front without the mark gives old numbers."""
    from tests.web.conftest import people_description, people_records

    def stale(folder):
        shutil.copytree(small_folder, folder)
        client = TestClient(create_app(DatasetRegistry(Workspace(folder, threads=1)), small_settings))
        before = client.get(TABLE).content
        assert client.get(TABLE).content == before
        load_dataset(
            folder, people_description().replace('version = "7"', 'version = "8"'), people_records(500)
        )
        return client.get(TABLE).content == before

    assert not stale(tmp_path / "right")
    monkeypatch.setattr("discreet.web.app.Front", without(0))
    assert stale(tmp_path / "wrong")


def test_what_is_refused_or_changes_is_not_kept(client):
    kept = client.app.state.kept
    client.get("/nothing")
    size = kept.size
    for address in (
        "/nothing",
        "/api/datasets/people/table?rows=nothing",
        "/api/datasets/people/table?dry_run=1&rows=sex",
    ):
        client.get(address)
    assert kept.size == size


def test_equal_requests_at_once_are_answered_once():
    """Thirty readers wait for one answer, without a thread; what does not last is answered to each."""
    for lasts, calls in ((MOMENT, 1), (0, 31)):
        asked, gate = itertools.count(), asyncio.Event

        async def run(lasts=lasts, asked=asked, gate=gate):
            opened = gate()

            async def app(scope, _receive, send):
                next(asked)
                await opened.wait()
                scope["discreet.slip"].lasts = lasts if "discreet.slip" in scope else None
                await send({"type": "http.response.start", "status": 200, "headers": [(b"etag", b'"a"')]})
                await send({"type": "http.response.body", "body": b"answer"})

            front = CacheMiddleware(_slipped(app), ResponseCache(1_000_000), lambda _name: 1)
            bodies = []

            async def one():
                async def send(message):
                    bodies.append(message.get("body"))

                scope = {"type": "http", "method": "GET", "path": "/x", "query_string": b"", "headers": []}
                await front(scope | {"scheme": "http", "server": None, "http_version": "1.1"}, None, send)

            tasks = [asyncio.create_task(one()) for _ in range(31)]
            await asyncio.sleep(0)
            opened.set()
            await asyncio.gather(*tasks)
            assert bodies.count(b"answer") == 31

        asyncio.run(run())
        assert next(asked) == calls
    assert threading.active_count() < 40


def test_one_language_asked_for_in_many_ways_is_one_answer(client, plain):
    kept = client.app.state.kept
    ways = ("de", "de-AT,de;q=0.9,en;q=0.8", "fr;q=0.9, de;q=0.8, en;q=0.1", "de;q=1")
    first, size = got(client, PAGE, {"accept-language": ways[0]}), kept.size
    for way in ways:
        assert got(client, PAGE, {"accept-language": way}) == first
        assert got(plain, PAGE, {"accept-language": way})[2] == first[2]
    assert kept.size == size


@pytest.mark.parametrize(("lasts", "told"), [(MOMENT, b"new"), (ALWAYS, b"old")])
def test_what_others_change_is_told_again_for_a_moment_only(monkeypatch, lasts, told):
    """Wrong alternative: what is left of a budget, kept as if only another version changed it."""
    clock, state, got = [0.0], [b"old"], []
    monkeypatch.setattr("discreet.web.cache.time.monotonic", lambda: clock[0])

    async def app(scope, _receive, send):
        scope["discreet.slip"].lasts = lasts
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": state[0]})

    async def send(message):
        got.extend([message["body"]] if "body" in message else [])

    front = CacheMiddleware(app, ResponseCache(1_000_000), lambda _name: 1)
    scope = {"type": "http", "method": "GET", "path": "/x", "query_string": b"", "headers": []}
    scope |= {"scheme": "http", "server": None, "http_version": "1.1"}
    for now, text in ((0.0, b"old"), (MOMENT / 2, b"new"), (MOMENT * 1.01, b"new")):
        clock[0], state[0] = now, text
        asyncio.run(front(dict(scope), None, send))
    assert got == [b"old", b"old", told]


def _slipped(app):
    """An application that finds a slip in every request, as routes do."""

    async def wrapped(scope, receive, send):
        scope.setdefault("discreet.slip", type("Slip", (), {"lasts": 0})())
        await app(scope, receive, send)

    return wrapped


def slowly(pieces, taken):
    """An application whose answer lasts and comes in pieces, and a reader who takes the first and then waits."""

    async def app(scope, receive, send):
        scope.get("discreet.slip", type("Slip", (), {})).lasts = ALWAYS
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(pieces):
            await send({"type": "http.response.body", "body": b"x", "more_body": number < pieces - 1})

    async def reader(message):
        if message.get("more_body") is False and not taken.is_set():
            await taken.wait()

    return app, reader


@pytest.mark.slow
@pytest.mark.parametrize(("patience", "waits"), [(0.0, False), (60.0, True)])
def test_nobody_waits_for_a_reader_who_does_not_take_his_answer(monkeypatch, patience, waits):
    """Wrong alternative: a front whose patience has no end."""
    monkeypatch.setattr("discreet.web.cache.PATIENCE", patience)
    scope = {"type": "http", "method": "GET", "headers": [], "path": "/", "query_string": b""}
    scope |= {"http_version": "1.1", "scheme": "http"}

    async def nothing():
        return {}

    async def ignored(_message):
        return None

    async def run():
        taken = asyncio.Event()
        app, reader = slowly(3, taken)
        front = CacheMiddleware(app, ResponseCache(1_000_000), lambda _name: 0)
        first = asyncio.ensure_future(front(scope, nothing, reader))
        await asyncio.sleep(0)
        second = asyncio.ensure_future(front(scope, nothing, ignored))
        done, _ = await asyncio.wait([second], timeout=0.5 if waits else 30)
        taken.set()
        await asyncio.gather(first, second)
        return bool(done)

    assert asyncio.run(run()) is not waits


def test_a_kept_answer_is_handed_on_as_it_is_taken(monkeypatch):
    """Wrong alternative: all of it at once, which waits in memory for every reader who does not read."""
    monkeypatch.setattr("discreet.web.cache.PIECE_BYTES", 4)
    for size in (0, 3, 4, 5, 8, 10):
        body, sent = bytes(range(size)), []

        async def send(message, sent=sent):
            sent.append(message)

        asyncio.run(_give(CachedResponse((), body), b"", "GET", send))
        pieces = [message["body"] for message in sent[1:]]
        assert b"".join(pieces) == body
        assert max(map(len, pieces)) <= 4
        assert [message.get("more_body", False) for message in sent[1:]] == [True] * (len(pieces) - 1) + [
            False
        ]
