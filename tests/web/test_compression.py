"""Compressed copies and HEAD, on the real application and on a small one that streams."""

import asyncio
import gzip
from concurrent.futures import ThreadPoolExecutor

import brotli
import pytest
import zstandard
from starlette.responses import StreamingResponse
from starlette_compress import CompressMiddleware

from discreet.formats import formats

TABLE = "/api/datasets/people/table?rows=district&columns=sex&format=csv"
UNPACK = {
    "gzip": gzip.decompress,
    "br": brotli.decompress,
    "zstd": lambda body: zstandard.ZstdDecompressor().decompressobj().decompress(body),
}


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
        assert (kept.status_code, kept.headers["etag"][:20]) == (304, plain.headers["etag"][:20])
        assert "Accept-Encoding" in kept.headers["vary"]
    assert watched.engines["people"].calls == calls


@pytest.mark.parametrize("form", formats(), ids=lambda form: form.name)
def test_every_format_travels_small_and_none_is_compressed_twice(client, form):
    """A document that gzip makes smaller by half is compressed; Parquet and Excel gain nothing by it."""
    address = TABLE.replace("format=csv", f"format={form.name}")
    answer, _ = raw(client, address, **{"accept-encoding": "gzip"})
    _, document = raw(client, address)
    assert ("content-encoding" in answer.headers) == (len(gzip.compress(document)) < len(document) / 2)


def messages_of(app, encoding):
    """What an application sends, message by message, with how far its body was made at each."""
    made, sent = [], []

    async def receive():
        await asyncio.sleep(0)
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message):
        sent.append((len(made), message))

    scope = {
        "type": "http", "method": "GET", "path": "/", "query_string": b"", "http_version": "1.1",
        "scheme": "http", "server": ("x", 80), "asgi": {"spec_version": "2.4"},
        "headers": [(b"accept-encoding", encoding.encode())],
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

        return CompressMiddleware(StreamingResponse(pieces(), media_type="text/csv; charset=utf-8"))

    sent = messages_of(streaming, encoding)
    bodies = [(made, message["body"]) for made, message in sent if message.get("body")]
    assert bodies[0][0] == 1
    unpack = UNPACK.get(encoding, bytes)
    assert unpack(b"".join(body for _, body in bodies)).count(b"\n") == 4
