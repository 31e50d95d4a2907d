"""The readers of the load generator see a wrong byte, a failure and a broken connection for what they are."""

import asyncio

from discreet_studies.bench.load_generator import Site, references, run_clients


async def served(answers, run):
    """Run something against a server that gives these answers one after the other, for ever."""

    async def answer(reader, writer):
        while (await reader.readline()).strip():
            while (await reader.readline()).strip():
                pass
            writer.write(answers[min(len(asked), len(answers) - 1)])
            asked.append(1)
        writer.close()

    asked = []
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        return await run(server.sockets[0].getsockname()[1])


def plain(body, status=200):
    return b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body)


CHUNKED = b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"


def test_the_same_bytes_in_chunks_are_the_same_bytes_and_others_are_wrong():
    async def run(port):
        expected = await references(Site(port), ["/"])
        return await run_clients(Site(port), expected, 1, 0.3, 0.01)

    right = asyncio.run(served([plain(b"abc"), CHUNKED], run))
    assert (right.wrong, set(right.statuses)) == (0, {200})
    wrong = asyncio.run(served([plain(b"abc"), CHUNKED.replace(b"ab", b"ax")], run))
    assert wrong.wrong == wrong.statuses[200] > 0
    busy = asyncio.run(served([plain(b"abc"), plain(b"no", 503)], run))
    assert (busy.wrong, set(busy.statuses)) == (0, {503})
