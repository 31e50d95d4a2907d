"""Connections that send nothing, or read nothing, are closed by the server; readers are answered meanwhile."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from discreet.web.connections import MAX_HEAD_BYTES, BoundedProtocol, ConnectionLimits, max_descriptors

from .conftest import running

PIECE = bytes(65_536)
HEADERS = b"GET / HTTP/1.1\r\nhost: x\r\n"


class Answering:
    """An application that answers shortly, or at `/large` for ever; it counts the pieces that it made."""

    def __init__(self):
        self.pieces = 0
        self.ended = threading.Event()
        self.headers = set()

    async def __call__(self, scope, receive, send):
        self.headers = {name for name, _ in scope["headers"]}
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            while scope["method"] == "POST" and (await receive()).get("more_body"):
                pass
            while scope["path"] == "/large" and not await _gone(receive):
                self.pieces += 1
                await send({"type": "http.response.body", "body": PIECE, "more_body": True})
            await send({"type": "http.response.body", "body": b"answer"})
        finally:
            if scope["path"] == "/large":
                self.ended.set()


async def _gone(receive):
    with suppress(TimeoutError):
        return (await asyncio.wait_for(receive(), 0.0001))["type"] == "http.disconnect"


@contextmanager
def serving(app, protocol, write_seconds=0):
    """The address of a server with a protocol."""
    options = {"ws": "none", "lifespan": "off", "timeout_keep_alive": 1, "timeout_graceful_shutdown": 1}
    with running(app, write_seconds, http=protocol, **options) as url:
        yield "127.0.0.1", urlsplit(url).port


def bounded(max_connections=50, request_seconds=30):
    """A protocol with limits of its own."""
    limits = ConnectionLimits(max_connections, request_seconds)
    return type("Bounded", (BoundedProtocol,), {"limits": limits})


def ended(connection, seconds=30.0):
    """Whether the server closes a connection within some seconds."""
    connection.settimeout(seconds)
    try:
        with suppress(ConnectionError):
            while connection.recv(65_536):
                pass
    except TimeoutError:
        return False
    return True


def asked(address):
    with socket.create_connection(address, timeout=30) as connection:
        connection.sendall(HEADERS + b"connection: close\r\n\r\n")
        return b"".join(iter(lambda: connection.recv(65_536), b"")).endswith(b"0\r\n\r\n")


HALF_A_BODY = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nabc"


@pytest.mark.slow
@pytest.mark.parametrize("sent", [b"", HEADERS, HALF_A_BODY])
def test_half_a_request_is_not_waited_for(sent):
    """Nothing, half of the headers, half of a body; the bare protocol holds each of them."""
    for protocol, closes in ((bounded(request_seconds=0.3), True), (HttpToolsProtocol, False)):
        with serving(Answering(), protocol) as address, socket.create_connection(address) as connection:
            connection.sendall(sent)
            assert ended(connection, 30 if closes else 1) is closes


@pytest.mark.parametrize("sent", [b"", HALF_A_BODY])
def test_thousands_who_send_nothing_or_half_a_body_only_close_each_other(sent):
    """The oldest connection without a request makes room for a new one: a reader who asks is answered at once."""
    protocol = bounded(20)
    with serving(Answering(), protocol) as address:
        silent = [socket.create_connection(address) for _ in range(100)]
        for connection in silent if sent else ():
            with suppress(ConnectionError):
                connection.sendall(sent)
        assert asked(address)
        assert protocol.limits.open <= 21
        assert ended(silent[0])
        assert not ended(silent[-1], 0.1)
        for connection in silent:
            connection.close()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="a socket option of Linux")
def test_a_reader_who_does_not_read_is_cut_off_and_nothing_piles_up():
    """The response stops at once, and the kernel closes the connection; without the option it waits for ever."""
    for seconds, cut in ((1, True), (0, False)):
        app = Answering()
        with serving(app, bounded(), seconds) as address, socket.create_connection(address) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            connection.sendall(b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n")
            assert app.ended.wait(30 if cut else 2) is cut
            assert app.pieces * len(PIECE) < 12_000_000  # what the system's own buffers take
            assert asked(address)


@pytest.mark.parametrize("head", [b"x: " + b"y" * 90_000, b"".join(b"x%d: y\r\n" % n for n in range(9_000))])
def test_headers_without_an_end_are_refused(head):
    assert len(head) > MAX_HEAD_BYTES
    with serving(Answering(), bounded()) as address, socket.create_connection(address) as connection:
        connection.sendall(HEADERS + head)
        connection.settimeout(30)
        assert connection.recv(100)[:12] in {b"HTTP/1.1 431", b"HTTP/1.1 400"}
        assert asked(address)


@pytest.mark.slow
def test_further_requests_on_one_connection_are_answered():
    protocol = bounded(request_seconds=1.5)
    with serving(Answering(), protocol) as address, socket.create_connection(address) as connection:
        connection.settimeout(30)
        for _ in range(3):
            connection.sendall(HEADERS + b"\r\n")
            answer = b""
            while not answer.endswith(b"0\r\n\r\n"):
                more = connection.recv(65_536)
                assert more, "the deadline of a request is its own"
                answer += more
            time.sleep(0.6)  # less than the headers' deadline; together more
        assert ended(connection)


def test_there_are_never_more_connections_than_descriptors():
    import resource

    assert 16 <= max_descriptors() < resource.getrlimit(resource.RLIMIT_NOFILE)[1]


def test_a_connection_too_many_is_refused_where_nobody_waits():
    protocol = bounded(1)
    with serving(Answering(), protocol) as address, socket.create_connection(address) as reading:
        reading.sendall(b"GET /large HTTP/1.1\r\nhost: x\r\n\r\n")
        assert reading.recv(15) == b"HTTP/1.1 200 OK"
        with socket.create_connection(address) as second:
            assert ended(second)


def test_trailers_are_no_headers():
    """A proxy that passes them on must not let a reader say who he is; and nothing piles up."""
    app = Answering()
    request = (
        b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
        b"x-forwarded-user: custodian\r\n\r\n"
    )
    for protocol, taken in ((bounded(), False), (HttpToolsProtocol, True)):
        with serving(app, protocol) as address, socket.create_connection(address) as connection:
            connection.sendall(request)
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
            assert ended(connection)
        assert (b"x-forwarded-user" in app.headers) is taken
