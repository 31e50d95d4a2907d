"""A document in pieces over HTTP: the same bytes, and never a half that looks whole."""

import socket
import threading
import time
import urllib.error
import urllib.request
from http.client import IncompleteRead
from pathlib import Path

import pytest
import uvicorn

import discreet.formats as registry
from discreet.answer.doors import Doors
from discreet.formats import Format, register
from discreet.model.pieces import PIECE
from discreet.server import streaming
from discreet.server.app import create_app, listen
from discreet.workspace.options import read_options
from discreet_studies.bench.serve import free_port

from . import large_server

TABLE = "/api/datasets/people/table?rows=sex&format="
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
    app = create_app(Doors(small_workspace), read_options(small_workspace.folder))
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
    return urllib.request.urlopen(f"http://{address[0]}:{address[1]}{TABLE}{name}", timeout=30)


def old_get(address, name):
    """The whole answer of HTTP/1.0, to the end of the connection."""
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(f"GET {TABLE}{name} HTTP/1.0\r\n\r\n".encode())
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
    answer = client.get(f"{TABLE}xlsx")
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
