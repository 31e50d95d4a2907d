"""Connections of one server process: how many there are, and how long each may keep it waiting.

    headers     must be complete `header_seconds` after the first moment of a connection, or of a further request
    body        must be complete `body_seconds` after its headers
    answer      must be taken: a reader who takes nothing for `write_seconds` is cut off
    idle        between two requests a connection stays `idle_seconds`

There are at most `most` connections. One more takes the place of the one that has waited longest for a request or its
body: whoever opens thousands of connections and sends half of it closes his own, and a reader who asks at once is answered.
`most` leaves room for the files of the server, so that the system never runs out of descriptors.

Source: RFC 9112, section 9.5; RFC 6585, section 5.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from discreet.workspace.options import Options

#: Bytes of the first line and the headers together.
LONGEST_HEAD = 65_536
#: The server stops making an answer while so many bytes wait for the reader, and goes on at a quarter of them.
MOST_UNREAD = 262_144
#: Descriptors that are left for records, the ledger, logs and temporary files.
SPARE_FILES = 64
_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: text/plain; charset=utf-8\r\ncontent-length: 34\r\nconnection: close\r\n\r\n"
    b"The headers are too long: cut them"
)


@dataclass(slots=True)
class Connections:
    """What the connections of one process share.

    Args:
        most: How many there may be.
        header_seconds: For the headers of a request.
        body_seconds: For its body.
        write_seconds: For a reader to take what was sent.
    """

    most: int
    header_seconds: float
    body_seconds: float
    write_seconds: float
    waiting: dict[GuardedProtocol, None] = field(default_factory=dict)
    open: int = 0

    @classmethod
    def of(cls, options: Options) -> Connections:
        """As the options and the system's limit of open files allow."""
        return cls(
            min(options.connections, most_descriptors()),
            options.header_seconds,
            options.body_seconds,
            options.write_seconds,
        )

    def make_room(self) -> bool:
        """Where there is one too many, close the one that has waited longest for a request or its body; False if none."""
        if self.open > self.most:
            longest = next(iter(self.waiting), None)
            if longest is None:
                return False
            longest.cut_off()
        return True

    def protocol(self) -> type[HttpToolsProtocol]:
        """The protocol of connections that belong to these."""
        return type("Guarded", (GuardedProtocol,), {"shared": self})


class GuardedProtocol(HttpToolsProtocol):
    """One connection, with its deadlines."""

    shared: Connections
    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _in_head = True
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A connection; its headers are awaited."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(MOST_UNREAD)
        self.shared.open += 1
        if self.shared.make_room():
            self._wait(self.shared.header_seconds)
        else:
            transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more."""
        self.shared.open -= 1
        self._done_waiting()
        self._cancel_unread()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some bytes of a request; headers without an end are refused."""
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > LONGEST_HEAD and not self.transport.is_closing():
                self.transport.write(_TOO_LARGE)
                self.transport.close()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._in_head, self._head_bytes = True, 0
        answering = self.cycle is not None and not self.cycle.response_complete
        if (
            self._deadline is None and not answering
        ):  # a request that comes before its turn has the time of the first
            self._wait(self.shared.header_seconds)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header; trailers, which come after the body, are not taken."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """The headers are there; the body is awaited."""
        self._in_head = False
        if self._deadline is not None:
            self._deadline.cancel()
        if sum(len(name) + len(value) for name, value in self.headers) + len(self.url) > LONGEST_HEAD:
            raise ValueError("the headers are too long")  # the parser answers with 400
        self._deadline = self.loop.call_later(self.shared.body_seconds, self.cut_off)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is complete."""
        self._done_waiting()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The answer was made; another request may come."""
        super().on_response_complete()
        if not self.pipeline and not self.transport.is_closing():
            self.shared.waiting[self] = None

    def pause_writing(self) -> None:
        """The reader takes nothing at the moment."""
        super().pause_writing()
        self._await_reader()

    def resume_writing(self) -> None:
        """The reader has taken most of it."""
        self._cancel_unread()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """No further request came: close, also where the reader has not taken the answer."""
        super().timeout_keep_alive_handler()
        self._await_reader()

    def cut_off(self) -> None:
        """End the connection at once."""
        self._done_waiting()
        self.transport.abort()

    def _wait(self, seconds: float) -> None:
        self.shared.waiting[self] = None
        self._deadline = self.loop.call_later(seconds, self.cut_off)

    def _done_waiting(self) -> None:
        self.shared.waiting.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _await_reader(self) -> None:
        self._cancel_unread()
        self._unread = self.loop.call_later(self.shared.write_seconds, self.cut_off)

    def _cancel_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


def most_descriptors() -> int:
    """How many connections the system lets this process have; its limit of open files is raised as far as it may be."""
    try:
        import resource  # noqa: PLC0415
    except ImportError:  # Windows has no such limit
        return 10_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return max(16, hard - _open_files() - SPARE_FILES)


def _open_files() -> int:
    listed = Path("/proc/self/fd")
    return len(list(listed.iterdir())) if listed.is_dir() else SPARE_FILES
