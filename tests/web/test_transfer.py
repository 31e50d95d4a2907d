"""Headers alone, compressed copies and parts, on the real application and on a small one that streams."""

import asyncio
import gzip
import itertools
from concurrent.futures import ThreadPoolExecutor

import brotli
import pytest
import zstandard
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from discreet.formats import formats
from discreet.web import transfer
from discreet.web.transfer import Compressed, HeadAsGet, Ranges

TABLE = "/api/datasets/people/table?rows=district&columns=sex&format=csv"
UNPACK = {
    "gzip": gzip.decompress,
    "br": brotli.decompress,
    "zstd": lambda body: zstandard.ZstdDecompressor().decompressobj().decompress(body),
}
BODY = bytes(range(256)) * 8
NONE = {"accept-encoding": "identity"}


def raw(client, address, **headers):
    """A response as it travels: the client must not unpack it."""
    with client.stream("GET", address, headers={"accept-encoding": "identity", **headers}) as response:
        return response, b"".join(response.iter_raw())


@pytest.mark.parametrize("encoding", UNPACK)
def test_a_compressed_copy_is_the_document_with_a_tag_of_its_own(watched, watched_client, encoding):
    plain, document = raw(watched_client, TABLE)
    copy, packed = raw(watched_client, TABLE, **{"accept-encoding": encoding})
    assert copy.headers["content-encoding"] == encoding
    assert len(packed) < len(document) / 2
    assert UNPACK[encoding](packed) == document
    assert copy.headers["etag"] == f'{plain.headers["etag"][:-1]}-{encoding}"'
    assert "Accept-Encoding" in plain.headers["vary"]
    assert "Accept-Encoding" in copy.headers["vary"]
    calls = watched.engines["people"].calls
    for tag in (plain.headers["etag"], copy.headers["etag"], f"W/{copy.headers['etag']}"):
        kept = watched_client.get(TABLE, headers={"if-none-match": f'"other", {tag}'})
        assert (kept.status_code, kept.headers["etag"]) == (304, tag)
        assert "Accept-Encoding" in kept.headers["vary"]
    assert watched.engines["people"].calls == calls


@pytest.mark.parametrize("form", formats(), ids=lambda form: form.name)
def test_every_format_travels_small_and_none_is_compressed_twice(client, form):
    """A document that gzip makes smaller by half is compressed; Parquet and Excel gain nothing by it."""
    address = TABLE.replace("format=csv", f"format={form.name}")
    answer, _ = raw(client, address, **{"accept-encoding": "gzip"})
    _, document = raw(client, address)
    assert ("content-encoding" in answer.headers) == (len(gzip.compress(document)) < len(document) / 2)


def test_the_stylesheet_has_copies_too(client):
    copy, packed = raw(client, "/static/discreet.css", **{"accept-encoding": "gzip"})
    assert gzip.decompress(packed) == raw(client, "/static/discreet.css")[1]
    kept = client.get("/static/discreet.css", headers={"if-none-match": copy.headers["etag"]})
    assert (kept.status_code, kept.headers["etag"]) == (304, copy.headers["etag"])


def layered(endpoint):
    layers = [Middleware(HeadAsGet), Middleware(Compressed), Middleware(Ranges)]
    return Starlette(routes=[Route("/", endpoint)], middleware=layers)


def messages_of(app, method="GET", **headers):
    """What an application sends, message by message, with how far its body was made at each."""
    made, sent = [], []

    async def receive():
        await asyncio.sleep(0)
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append((len(made), message))

    scope = {
        "type": "http", "method": method, "path": "/", "query_string": b"", "http_version": "1.1",
        "scheme": "http", "server": ("x", 80), "asgi": {"spec_version": "2.4"},
        "headers": [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()],
    }  # fmt: skip
    with ThreadPoolExecutor(1) as pool:  # a browser test before this one may have left a loop in this thread
        pool.submit(lambda: asyncio.run(app(made)(scope, receive, send))).result()
    return sent


@pytest.mark.parametrize("encoding", [*UNPACK, "identity"])
def test_the_first_piece_of_a_stream_leaves_before_the_second_is_made(encoding):
    """A compressor that waits for a full block, as zstd's does by itself, would hold all four pieces back."""

    def streaming(made):
        def pieces():
            for number in range(4):
                made.append(number)
                yield b"%d,some line of a table\n" % number

        return layered(lambda _: StreamingResponse(pieces(), media_type="text/csv; charset=utf-8"))

    sent = messages_of(streaming, accept_encoding=encoding)
    bodies = [(made, message["body"]) for made, message in sent if message.get("body")]
    assert bodies[0][0] == 1
    unpack = UNPACK.get(encoding, bytes)
    assert unpack(b"".join(body for _, body in bodies)).count(b"\n") == 4


def test_a_long_document_is_compressed_piece_by_piece(monkeypatch):
    monkeypatch.setattr(transfer, "PIECE_BYTES", 1000)
    text = "".join(f"{number},cell\n" for number in range(500)).encode()
    sent = messages_of(
        lambda _: layered(lambda _: Response(text, media_type="text/csv")), accept_encoding="gzip"
    )
    bodies = [message["body"] for _, message in sent[1:]]
    assert len(bodies) >= len(text) / 1000
    assert gzip.decompress(b"".join(bodies)) == text


def test_a_head_makes_no_table_and_has_the_headers_of_get(watched, watched_client):
    """The wrong alternative is GET without its body: it counts, and would charge an account for nothing."""
    head = watched_client.head(TABLE, headers=NONE)
    assert watched.engines["people"].calls == 0
    got = watched_client.get(TABLE, headers=NONE)
    for name in (
        "content-type",
        "etag",
        "cache-control",
        "vary",
        "accept-ranges",
        "access-control-allow-origin",
    ):
        assert head.headers[name] == got.headers[name]
    assert head.headers.get("content-length", got.headers["content-length"]) == got.headers["content-length"]
    assert watched_client.head(TABLE.replace("district", "x")).status_code == 400
    assert watched_client.head(TABLE.replace("district", "age,job,origin")).status_code == 403


@pytest.fixture(scope="module")
def ranged():
    def document(_request):
        headers = {"etag": '"abc"', "last-modified": "Tue, 17 Nov 2026 00:00:00 GMT"}
        return Response(BODY, media_type="application/octet-stream", headers=headers)

    return TestClient(layered(document))


@pytest.mark.parametrize(
    ("asked", "first", "end"),
    [("0-9", 0, 10), ("5-5", 5, 6), ("2000-", 2000, 2048),
     ("-48", 2000, 2048), ("-9999", 0, 2048), ("2040-99999", 2040, 2048)],
)  # fmt: skip
def test_a_part_is_the_same_bytes(ranged, asked, first, end):
    part = ranged.get("/", headers={"range": f"bytes={asked}"})
    assert (part.status_code, part.content) == (206, BODY[first:end])
    assert part.headers["content-range"] == f"bytes {first}-{end - 1}/{len(BODY)}"
    assert part.headers["content-length"] == str(end - first)
    assert part.headers["etag"] == '"abc"'


@pytest.mark.parametrize("asked", ["bytes=2048-", "bytes=9999-10000", "bytes=-0"])
def test_a_part_beyond_the_end_is_416_with_the_length(ranged, asked):
    answer = ranged.get("/", headers={"range": asked})
    assert (answer.status_code, answer.headers["content-range"]) == (416, f"bytes */{len(BODY)}")


@pytest.mark.parametrize(
    "asked", ["lines=1-2", "bytes=a-b", "bytes=-", "bytes=0-1,4-5", "bytes=9-3", "bytes", "", "bytes=0-"]
)
def test_what_cannot_be_read_or_is_not_offered_gets_the_whole(ranged, asked):
    answer = ranged.get("/", headers={"range": asked})
    assert (answer.status_code, answer.content) == (200, BODY)
    assert answer.headers["accept-ranges"] == "bytes"


@pytest.mark.parametrize("condition", ['"other"', 'W/"abc"', '"abc-gzip"', "Mon, 16 Nov 2026 00:00:00 GMT"])
def test_a_part_of_another_copy_is_never_mixed_in(ranged, condition):
    """To ignore If-Range is the wrong alternative: the reader would join bytes of two documents."""
    part = {"range": "bytes=0-9"}
    assert ranged.get("/", headers={**part, "if-range": condition}).content == BODY
    for same in ('"abc"', "Tue, 17 Nov 2026 00:00:00 GMT"):
        assert ranged.get("/", headers={**part, "if-range": same}).content == BODY[:10]


def test_a_download_goes_on_where_it_stopped(client):
    address = TABLE + "&download=1"
    first = client.get(address, headers={**NONE, "range": "bytes=0-99"})
    rest = client.get(
        address, headers={"accept-encoding": "gzip", "range": "bytes=100-", "if-range": first.headers["etag"]}
    )
    assert (first.status_code, rest.status_code) == (206, 206)
    assert "content-encoding" not in rest.headers
    assert first.content + rest.content == client.get(address).content
    assert rest.headers["content-disposition"].startswith("attachment")
    assert client.head(address, headers={"range": "bytes=0-9"}).status_code == 200
    style = client.get("/static/discreet.css", headers={**NONE, "range": "bytes=0-9"})
    assert (style.status_code, len(style.content)) == (206, 10)


def test_a_streamed_document_has_parts_too():
    def lines(_request):
        pieces = itertools.repeat(b"0123456789", 5)
        return StreamingResponse(pieces, media_type="text/csv", headers={"etag": '"abc"'})

    part = TestClient(layered(lines)).get("/", headers={"range": "bytes=8-12"})
    assert (part.status_code, part.content) == (206, b"89012")
