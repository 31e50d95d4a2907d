"""HEAD asks whether a table is there: it counts nothing and charges nobody, whichever way it is asked.

A document in pieces over HTTP: the same bytes, and never a half that looks whole.
"""

import re
import socket
import urllib.error
import urllib.request
from http.client import IncompleteRead
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from starlette.responses import Response

import discreet.formats as registry
from discreet import __version__
from discreet.errors import BadRequest, Refused
from discreet.formats import Format, register
from discreet.model.file_io import PIECE
from discreet.web import responses
from discreet.web.responses import add_charge_header, headers_only
from discreet.workspace.versions.load_version import load_dataset

from .conftest import client_of, running
from .test_run import ask, serving

TABLE = "/api/datasets/people/table?rows=sex&columns=age"


PXWEB = "/api/pxweb/v2/tables/people/data?valuecodes[sex]=1"
SDMX = "/api/sdmx/data/people-sex/1"


@pytest.mark.parametrize(
    "address", [TABLE, f"{TABLE}&format=csv", "/datasets/people?rows=sex&columns=age", PXWEB, SDMX]
)
def test_neither_head_nor_a_reader_who_has_the_table_makes_the_engine_count(watched, watched_client, address):
    """The wrong alternative is GET without its body, which counts."""
    if "/datasets/people?" not in address:
        assert watched_client.head(address).status_code == 200
        assert watched.engines["people"].calls == 0
    first = watched_client.get(address)
    assert (first.status_code, watched.engines["people"].calls) == (200, 1)
    assert first.headers["etag"].startswith('"')
    assert first.headers["cache-control"] == "public, max-age=0, must-revalidate"
    again = watched_client.get(address, headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"][:20] == first.headers["etag"][:20]
    assert watched.engines["people"].calls == 1


@pytest.mark.parametrize("address", ["/", "/api/datasets", "/api/datasets/people", "/errors/refused"])
def test_what_needs_no_counting_has_an_etag_too(client, address):
    tag = client.get(address).headers["etag"]
    assert client.get(address, headers={"if-none-match": f'"other", W/{tag}'}).status_code == 304


def test_the_tag_depends_on_layout_format_and_version_and_on_nothing_else(client, monkeypatch):
    tag = client.get(TABLE).headers["etag"]
    assert client.get("/api/datasets/people/table?columns=age&rows=sex&format=json").headers["etag"] == tag
    assert client.get(TABLE + "&format=csv").headers["etag"] != tag
    assert client.get("/api/datasets/people/table?rows=age&columns=sex").headers["etag"] != tag
    for cut, others in (
        (SDMX, ("/api/sdmx/data/people-sex/2", f"{SDMX}?format=sdmx-csv")),
        (PXWEB, (PXWEB.replace("=1", "=2"), f"{PXWEB}&outputFormat=csv")),
    ):
        assert not {client.get(other).headers["etag"] for other in others} & {client.get(cut).headers["etag"]}
    monkeypatch.setattr(responses, "__version__", __version__ + ".1")
    other = {"accept": "*/*;q=0.5"}  # another key in the response cache
    assert client.get(TABLE, headers=other).headers["etag"] != tag


@pytest.mark.parametrize(
    "address",
    [TABLE, f"{PXWEB}&outputFormat=xlsx", PXWEB, "/", "/datasets/people", "/static/discreet.css", "/nothing"],
)
def test_head_has_the_headers_of_get_and_no_body(client, address):
    got, head = client.get(address), client.head(address)
    assert (head.status_code, head.content) == (got.status_code, b"")
    assert head.headers.get("content-length") in {None, got.headers.get("content-length")}
    for name in ("content-type", "content-disposition", "etag", "cache-control"):
        assert head.headers.get(name) == got.headers.get(name), name


def test_a_refusal_has_no_tag_and_cannot_become_304(client):
    response = client.get("/api/datasets/people/table?rows=sexx", headers={"if-none-match": "*"})
    assert response.status_code == 400
    assert "etag" not in response.headers


def test_every_table_must_be_there():
    class Door:
        def refuse_unreleased(self, request):
            if request == "closed":
                raise Refused("No.")

    assert "content-length" not in headers_only(Door(), ["open"], "text/csv").headers
    with pytest.raises(Refused):
        headers_only(Door(), ["open", "closed"], "text/csv")


def test_charges_are_told_in_letters_that_a_header_may_have():
    paid = SimpleNamespace(charged={"sentence": "Charged 0.5 to “town”."})
    free = SimpleNamespace(charged=None)
    response = Response()
    add_charge_header(response, [free])
    assert "discreet-charged" not in response.headers
    add_charge_header(response, [paid, free, paid])
    assert response.headers["discreet-charged"].count("Charged") == 2
    assert response.headers["discreet-charged"].isascii()


TABLE_STREAMING = "/api/datasets/people/table?rows=sex&format="
PIECES = [bytes([65 + number]) * PIECE for number in range(4)]
WHOLE = b"".join(PIECES)


def broken(error):
    """Fails when two pieces have left."""

    def pieces(release):
        yield from PIECES[:3]
        raise error(f"a text that may hold a count: {release.values.max()}")

    return pieces


@pytest.fixture(autouse=True)
def _toys(monkeypatch):
    registry.formats()
    monkeypatch.setattr(responses, "WHOLE", PIECE)
    monkeypatch.setattr(registry._REGISTRY, "_members", dict(registry._REGISTRY._members))
    for name, pieces in (
        ("long", lambda _: PIECES),
        ("short", lambda _: [b"a", b"b"]),
        ("broken", broken(RuntimeError)),
        ("refused", broken(BadRequest)),
    ):
        register(Format(name, name, name, name, "application/x-toy", pieces))


@pytest.fixture
def address(small_workspace):
    """A server of our own on this machine."""
    with running(client_of(small_workspace).app) as there:
        yield there


def get(address, name):
    return urllib.request.urlopen(f"{address}{TABLE_STREAMING}{name}", timeout=30)  # noqa: S310 - our own server


def old_get(address, name):
    """The whole answer of HTTP/1.0, to the end of the connection."""
    with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=30) as connection:
        connection.sendall(f"GET {TABLE_STREAMING}{name} HTTP/1.0\r\n\r\n".encode())
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.decode().lower().split("\r\n"), body


@pytest.mark.slow
def test_a_short_document_has_a_length_and_a_long_one_is_sent_as_it_is_made(address):
    with get(address, "short") as answer:
        assert (answer.headers["content-length"], answer.read()) == ("2", b"ab")
    with get(address, "long") as answer:
        assert answer.headers["transfer-encoding"] == "chunked"
        assert answer.headers["content-length"] is None
        assert answer.headers["etag"]
        assert answer.read() == WHOLE


@pytest.mark.parametrize("name", ["broken", "refused"])
def test_a_document_that_breaks_off_is_seen_as_broken_off_and_its_error_told_nowhere(address, caplog, name):
    """Wrong alternative: an answer that ends in good order after the pieces that were made."""
    with get(address, name) as answer, pytest.raises(IncompleteRead):
        answer.read()
    assert "RuntimeError, incident" in caplog.text
    assert "may hold a count" not in caplog.text


def test_without_chunks_a_long_document_has_its_length_and_a_broken_one_is_a_problem(address):
    """Proxies speak HTTP/1.0. Wrong alternative: the end of the connection as the end of half a document."""
    (status, *headers), body = old_get(address, "long")
    assert "200" in status
    assert (f"content-length: {len(WHOLE)}" in headers, body) == (True, WHOLE)
    (status, *headers), body = old_get(address, "broken")
    assert "500" in status
    assert "content-type: application/problem+json" in headers
    assert PIECES[0] not in body


def test_a_refusal_is_a_problem_and_no_half_document(client, monkeypatch):
    monkeypatch.setattr("discreet.formats.writers.xlsx.MOST_LINES", 2)
    answer = client.get(f"{TABLE_STREAMING}xlsx")
    assert answer.status_code == 400
    assert "Take the format parquet or csv" in answer.json()["advice"]


LENGTHS, RECORDS = (100, 100, 100), 700_000
CELLS = 101**3
#: Values and noisy counts of eight bytes, and a status of one.
ARRAYS = CELLS * 17
LARGE = "/api/datasets/large/table?format=csv&rows=v{}&columns=v{}"
#: One aggregate of all cells, whose groups are in memory with the table; the compiled count needs no groups.
WHOLE_AT_ONCE = (
    f"from discreet.records import tabulate; tabulate.dense_of = lambda *_: None; tabulate.MANY = {CELLS}; "
)


def load_large(folder):
    """A workspace with records spread over all cells."""
    random, columns, variables = np.random.default_rng(1), {"id": np.arange(RECORDS)}, ""
    for number, length in enumerate(LENGTHS):
        codes = [f"c{place:03}" for place in range(length)]
        columns[f"v{number}"] = pa.array(codes).take(pa.array(random.integers(0, length, RECORDS)))
        variables += f'[[variable]]\nname = "v{number}"\ncategories = {codes}\n'
    load_dataset(folder, f'id = "large"\nlabel = "Large"\nid_column = "id"\n{variables}', pa.table(columns))


def peak_ratio(folder, patch=""):
    """The largest memory that a fresh server takes for one answer, as a multiple of the table's arrays; the answer."""
    with serving(folder, workers=1, patch=patch) as (process, port):

        def memory(key):
            text = Path(f"/proc/{process.pid}/status").read_text("utf-8")
            return int(re.search(rf"^{key}:\s+(\d+)", text, re.MULTILINE)[1]) * 1024

        for pair in ((0, 1), (1, 2)):  # the libraries are loaded and the records read
            ask(port, LARGE.format(*pair))
        before = memory("VmRSS")
        Path(f"/proc/{process.pid}/clear_refs").write_text("5", "utf-8")
        _, answer = ask(port, f"{LARGE.format(0, 1)}&layers=v2")
        return (memory("VmHWM") - before) / ARRAYS, answer


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak is read from Linux")
def test_a_million_cells_take_less_than_twice_their_arrays_from_question_to_last_byte(tmp_path):
    """Counting included, in a fresh server. Wrong alternative: one aggregate of all cells."""
    load_large(tmp_path)
    (ratio, answer), (worse, same) = peak_ratio(tmp_path), peak_ratio(tmp_path, WHOLE_AT_ONCE)
    assert answer == same
    assert answer.count(b"\n") == 1 + CELLS
    assert ratio < 2 < worse, (ratio, worse)
