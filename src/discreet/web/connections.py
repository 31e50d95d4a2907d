"""Limits on the connections of a process, for a server without a proxy in front of it.

    request   must be complete within `header_seconds` + `body_seconds`
    response  must be read: the kernel closes a connection whose reader takes nothing for `write_seconds`
    idle      a connection without a further request stays open for `idle_seconds` (set in `web/run.py`)

At the maximum number of connections a new one replaces the one that has waited longest for a complete request. A client
that opens thousands of connections and sends half a request therefore closes its own. The maximum leaves file
descriptors for the files of the server. Source: RFC 9112, section 9.5; RFC 6585, section 5; tcp(7), TCP_USER_TIMEOUT.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from discreet.workspace.options import Options

#: The longest request line and headers together.
MAX_HEAD_BYTES = 65_536
#: Descriptors that are left for records, the ledger, logs and temporary files.
SPARE_FILES = 64
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


@dataclass(slots=True)
class ConnectionLimits:
    """The limits of a process, with the timeout of a request, headers and body; and its open connections."""

    max_connections: int
    request_seconds: float
    #: Connections without a complete request, the oldest first.
    half_open: dict[BoundedProtocol, None] = field(default_factory=dict)
    open: int = 0

    @classmethod
    def from_options(cls, options: Options) -> ConnectionLimits:
        """The limits of the options, as far as the system's limit of open files allows."""
        seconds = options.header_seconds + options.body_seconds
        return cls(min(options.connections, max_descriptors()), seconds)

    def make_room(self) -> bool:
        """Close the oldest half-open connection if there is one too many; False if there is none to close."""
        if self.open <= self.max_connections:
            return True
        oldest = next(iter(self.half_open), None)
        if oldest is not None:
            oldest.abort()
        return oldest is not None


class BoundedProtocol(HttpToolsProtocol):
    """An HTTP connection within the limits of its process."""

    limits: ClassVar[ConnectionLimits]
    _deadline: asyncio.TimerHandle | None = None
    _in_head = True
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, or refuse the connection if there are too many."""
        super().connection_made(transport)
        self.limits.open += 1
        if self.limits.make_room():
            self._wait_for_request()
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        self.limits.open -= 1
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse bytes of a request; refuse headers without an end."""
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
                self.transport.write(_TOO_LARGE)
                self.transport.close()

    def on_message_begin(self) -> None:
        """Start the timeout of a request, unless it is pipelined behind a response in progress."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._wait_for_request()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header, and no trailer: a trailer could forge the account header of a proxy."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Refuse headers that are too long; the parser answers 400."""
        self._in_head = False
        if sum(len(name) + len(value) for name, value in self.headers) + len(self.url) > MAX_HEAD_BYTES:
            raise ValueError("the headers are too long")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._stop_waiting()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Let the idle connection make room for others."""
        super().on_response_complete()
        if not self.pipeline and not self.transport.is_closing():
            self.limits.half_open[self] = None

    def abort(self) -> None:
        """Close the connection at once."""
        self._stop_waiting()
        self.transport.abort()

    def _wait_for_request(self) -> None:
        self.limits.half_open[self] = None
        self._deadline = self.loop.call_later(self.limits.request_seconds, self.abort)

    def _stop_waiting(self) -> None:
        self.limits.half_open.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def set_write_timeout(listening: socket.socket, seconds: int) -> None:
    """Let the kernel close connections whose reader takes nothing; they inherit the option of their listening socket."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, seconds * 1_000)


def max_descriptors() -> int:
    """The number of connections that the limit of open files allows; the soft limit is raised to the hard one."""
    try:
        import resource  # noqa: PLC0415
    except ImportError:  # Windows has no such limit
        return 10_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    listed = Path("/proc/self/fd")
    files = len(list(listed.iterdir())) if listed.is_dir() else SPARE_FILES
    return max(16, hard - files - SPARE_FILES)
