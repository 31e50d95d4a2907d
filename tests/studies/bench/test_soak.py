"""A soak sends every kind of request, finds a changed byte and a failure, and its page follows from its results."""

import asyncio
import random
import sys

import pytest

from discreet_studies.bench.serve import build_demo, serving
from discreet_studies.bench.soak import WEIGHTS, Soak, document, minutes, request

MINUTE = {"answers": 450, "refused": 28, "busy": 2, "failed": 0, "wrong": 0, "rss": 900.0, "most": 640.0}


def test_requests_are_drawn_again_from_their_seed_and_are_of_every_kind():
    drawn = [request(random.Random(1))] + [request(draw) for draw in [random.Random(2)] for _ in range(500)]
    assert drawn[0] == request(random.Random(1))
    urls = [url for _, url in drawn]
    for part in (
        "format=svg",
        "show=chart",
        "lang=de",
        "/interval",
        "/test/",
        "/pxweb/",
        "/sdmx/",
        "rows=no",
    ):
        assert any(part in url for url in urls), part
    assert any("garbage" in headers for headers, _ in drawn)
    assert len(set(drawn)) > 250
    assert sum(WEIGHTS.values()) == 100


async def _serve(bodies, soak):
    """A server that gives these bodies in turn, and breaks the connection where there is none."""

    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        if body := bodies.pop(0):
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    soak._port = server.sockets[0].getsockname()[1]
    for _ in range(len(bodies)):
        await soak._send("", "/same")
    server.close()


def test_a_changed_byte_and_a_broken_connection_are_counted():
    soak = Soak(0)
    asyncio.run(_serve([b"ab", b"ab", b"ax", b""], soak))
    assert soak.take() == ({200: 3, 0: 1}, 1)
    assert soak.take() == ({}, 0)


def test_the_page_compares_the_end_with_the_tenth_minute():
    results = [MINUTE | {"minute": n, "pss": 600.0 + (n > 10)} for n in range(1, 31)]
    text = document([], results)
    assert "# Memory over 30 minutes" in text
    assert (
        "13,500 requests were answered, 840 were refused as they should be, 60 met a deliberate 503, and 0 were not complete"
        in text
    )
    assert "600 MB after 10 minutes and 601 MB at the end (+0.2 %); the peak was 640 MB" in text


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads memory from /proc")
def test_a_soak_of_a_server_has_no_wrong_byte_and_no_failure(tmp_path):
    with serving(build_demo(tmp_path, print), workers=1) as (port, memory):
        results = list(minutes(Soak(port), memory, 2, 4.0))
    assert [each["minute"] for each in results] == [1, 2]
    assert all(each["answers"] and not each["failed"] and not each["wrong"] for each in results)
    assert all(0 < each["pss"] <= each["most"] and each["pss"] <= each["rss"] for each in results)
