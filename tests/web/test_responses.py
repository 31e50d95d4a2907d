"""HEAD asks whether a table is there: it counts nothing and charges nobody, whichever way it is asked.

A document in pieces over HTTP: the same bytes, and never a half that looks whole.
"""

import asyncio
import socket
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.client import IncompleteRead
from pathlib import Path
from types import SimpleNamespace

import pytest
import uvicorn
from starlette.responses import Response

import discreet.formats as registry
from discreet import __version__
from discreet.errors import Refused
from discreet.formats import Format, register
from discreet.model.file_io import PIECE
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web import responses as answer
from discreet.web import responses as streaming
from discreet.web.app import create_app
from discreet.web.responses import add_charge_header, headers_only
from discreet.web.run import listen
from discreet.workspace.options import read_options
from discreet_studies.bench.serve import free_port

from . import large_server

TABLE = "/api/datasets/people/table?rows=sex&columns=age"


@pytest.mark.parametrize("address", [TABLE, TABLE + "&format=csv", "/datasets/people?rows=sex&columns=age"])
def test_a_reader_who_has_the_table_gets_304_without_an_engine_call(watched, watched_client, address):
    first = watched_client.get(address)
    assert (first.status_code, watched.engines["people"].calls) == (200, 1)
    again = watched_client.get(address, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert watched.engines["people"].calls == 1


@pytest.mark.parametrize(
    "address", ["/", "/api/datasets", "/api/datasets/people", "/errors", "/errors/refused"]
)
def test_what_needs_no_counting_has_an_etag_too(client, address):
    tag = client.get(address).headers["etag"]
    assert client.get(address, headers={"if-none-match": f'"other", W/{tag}'}).status_code == 304


def test_another_tag_gets_the_table_again(watched, watched_client):
    assert watched_client.get(TABLE, headers={"if-none-match": '"another"'}).status_code == 200
    assert watched.engines["people"].calls == 1


def test_the_tag_is_strong_and_the_copy_must_be_revalidated(client):
    response = client.get(TABLE)
    assert response.headers["etag"].startswith('"')
    assert response.headers["cache-control"] == "public, max-age=0, must-revalidate"


def test_the_tag_depends_on_layout_format_and_version_and_on_nothing_else(client, monkeypatch):
    tag = client.get(TABLE).headers["etag"]
    assert client.get("/api/datasets/people/table?columns=age&rows=sex&format=json").headers["etag"] == tag
    assert client.get(TABLE + "&format=csv").headers["etag"] != tag
    assert client.get("/api/datasets/people/table?rows=age&columns=sex").headers["etag"] != tag
    monkeypatch.setattr(answer, "__version__", __version__ + ".1")
    other = {"accept": "*/*;q=0.5"}  # another key in the response cache
    assert client.get(TABLE, headers=other).headers["etag"] != tag


def test_head_has_the_headers_of_get_and_no_body(client):
    for address in (TABLE, "/", "/datasets/people", "/static/discreet.css", "/nothing"):
        got, head = client.get(address), client.head(address)
        assert (head.status_code, head.content) == (got.status_code, b"")
        for name in ("content-type", "content-length", "etag", "cache-control"):
            assert head.headers.get(name) == got.headers.get(name), (address, name)


def test_the_server_itself_sends_no_body_for_head(client):
    """Clients drop the body of a HEAD answer, so what is sent is looked at before it reaches one."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "method": "HEAD", "path": "/api/datasets/people/table", "query_string": b"rows=sex",
        "headers": [(b"host", b"testserver")], "http_version": "1.1", "scheme": "http", "server": ("testserver", 80),
    }  # fmt: skip
    with ThreadPoolExecutor(1) as pool:  # a browser test before this one may have left a loop in this thread
        pool.submit(lambda: asyncio.run(client.app(scope, receive, send))).result()
    assert sent[0]["status"] == 200
    assert [message["body"] for message in sent[1:]] == [b""]


def test_a_refusal_has_no_tag_and_cannot_become_304(client):
    response = client.get("/api/datasets/people/table?rows=sexx", headers={"if-none-match": "*"})
    assert response.status_code == 400
    assert "etag" not in response.headers


@pytest.mark.parametrize(
    "address",
    [
        "/api/datasets/people/table?rows=sex",
        "/api/pxweb/v2/tables/people/data?valuecodes[sex]=*",
        "/api/sdmx/data/people-sex/all",
    ],
)
def test_a_head_counts_nothing_by_any_protocol(watched, watched_client, address):
    """The wrong alternative is GET without its body, which counts."""
    assert watched_client.head(address).status_code == 200
    assert watched.engines["people"].calls == 0
    assert watched_client.get(address).status_code == 200
    assert watched.engines["people"].calls > 0


def test_every_table_must_be_there():
    class Door:
        def refuse_unreleased(self, request):
            if request == "closed":
                raise Refused("No.")

    assert "content-length" not in headers_only(Door(), ["open"], "text/csv").headers
    with pytest.raises(Refused):
        headers_only(Door(), ["open", "closed"], "text/csv")


def test_charges_are_told_in_letters_that_a_header_may_have():
    paid, free = (
        SimpleNamespace(charged={"sentence": "Charged 0.5 to “town”."}),
        SimpleNamespace(charged=None),
    )
    response = Response()
    add_charge_header(response, [free])
    assert "discreet-charged" not in response.headers
    add_charge_header(response, [paid, free, paid])
    assert response.headers["discreet-charged"].count("Charged") == 2
    assert response.headers["discreet-charged"].isascii()


TABLE_STREAMING = "/api/datasets/people/table?rows=sex&format="
PIECES = [bytes([65 + number]) * PIECE for number in range(4)]
WHOLE = b"".join(PIECES)


def broken(release):
    """Fails when two pieces have left."""
    yield from PIECES[:3]
    raise RuntimeError(f"a text that may hold a count: {release.values.max()}")


@pytest.fixture(autouse=True)
def _toys(monkeypatch):
    registry.formats()
    monkeypatch.setattr(streaming, "WHOLE", PIECE)
    monkeypatch.setattr(registry._REGISTRY, "_members", dict(registry._REGISTRY._members))
    for name, pieces in (("long", lambda _: PIECES), ("broken", broken), ("short", lambda _: [b"a", b"b"])):
        register(Format(name, name, name, name, "application/x-toy", pieces))


@pytest.fixture
def address(small_workspace):
    """A server of our own on this machine."""
    app = create_app(DatasetRegistry(small_workspace), read_options(small_workspace.folder))
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield listening.getsockname()[:2]
    server.should_exit = True
    thread.join(10)
    listening.close()


def get(address, name):
    return urllib.request.urlopen(f"http://{address[0]}:{address[1]}{TABLE_STREAMING}{name}", timeout=30)


def old_get(address, name):
    """The whole answer of HTTP/1.0, to the end of the connection."""
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(f"GET {TABLE_STREAMING}{name} HTTP/1.0\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = dict(line.split(": ", 1) for line in head.decode().lower().split("\r\n")[1:])
    return head.split(b" ")[1], lines, body


@pytest.mark.slow
def test_a_short_document_has_a_length_and_a_long_one_is_sent_as_it_is_made(address):
    with get(address, "short") as answer:
        assert (answer.headers["content-length"], answer.read()) == ("2", b"ab")
    with get(address, "long") as answer:
        assert answer.headers["transfer-encoding"] == "chunked"
        assert answer.headers["content-length"] is None
        assert answer.headers["etag"]
        assert answer.read() == WHOLE


def test_a_document_that_breaks_off_is_seen_as_broken_off(address, caplog):
    """Wrong alternative: an answer that ends in good order after the pieces that were made."""
    with get(address, "broken") as answer, pytest.raises(IncompleteRead):
        answer.read()
    assert "RuntimeError, incident" in caplog.text
    assert "may hold a count" not in caplog.text


def test_without_chunks_a_long_document_has_its_length_and_a_broken_one_is_a_problem(address):
    """Proxies speak HTTP/1.0. Wrong alternative: the end of the connection as the end of half a document."""
    status, headers, body = old_get(address, "long")
    assert (status, headers["content-length"], body) == (b"200", str(len(WHOLE)), WHOLE)
    status, headers, body = old_get(address, "broken")
    assert status == b"500"
    assert headers["content-type"].startswith("application/problem+json")
    assert PIECES[0] not in body


def test_a_refusal_is_a_problem_and_no_half_document(client, monkeypatch):
    monkeypatch.setattr("discreet.formats.xlsx.MOST_LINES", 2)
    answer = client.get(f"{TABLE_STREAMING}xlsx")
    assert answer.status_code == 400
    assert "Take the format parquet or csv" in answer.json()["advice"]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak is read from Linux")
def test_a_million_cells_take_less_than_twice_their_arrays_from_question_to_last_byte(tmp_path):
    """Counting included, in a fresh server. Wrong alternative: one aggregate of all cells."""
    large_server.load_large(tmp_path)
    ratio, answer = large_server.peak_ratio(tmp_path, free_port())
    worse, same = large_server.peak_ratio(tmp_path, free_port(), whole=True)
    assert answer == same
    assert answer.count(b"\n") == 1 + large_server.CELLS
    assert ratio < 2 < worse, (ratio, worse)
