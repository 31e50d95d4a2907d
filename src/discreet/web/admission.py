"""Admission control: how many cells, request bodies and requests a process handles at once. The rest gets 503.

    small answer    up to `SMALL` cells: starts at once
    large answer    holds a slot while it is computed, and its cells until the last byte is sent; otherwise it waits in a
                    bounded queue, and gets 503 with Retry-After if the queue is full or the wait too long

The number of cells follows from the dimensions of the request, before anything is counted, so a refusal reveals nothing
about the data. A reader who does not read holds cells, not unbounded memory, until the connection times out. Anonymous
requests may use two thirds of the capacity; the rest is for accounts.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Semaphore

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import BodyTooLarge, DiscreetError, RequestTooLong
from discreet.model.messages.text import message
from discreet.release.checked_request import CheckedRequest
from discreet.web.context import HttpMiddleware, request_context
from discreet.web.problems import busy, problem_response

#: Cells of an answer that starts at once.
SMALL = 20_000
#: Large answers that a server computes at once for anonymous requests. Each process computes at least one of them, and one
#: more for an account.
SLOTS = 2
#: Large answers that may wait, and for how long.
MAX_QUEUE, SECONDS_TO_WAIT = 4, 2.0
#: Requests in progress, including those that wait for a thread.
MAX_REQUESTS = 400
#: Threads that answer requests, and how many of them may wait at a time: for capacity or for another thread's result.
THREADS, MAX_WAITING = 24, 16
#: The cost of a cell compared with a count: tables with fitted totals, intervals of all cells, a comparison of versions.
FITTED, LIMITS, COMPARED = 10, 3, 6
#: Fitting a small table may take seconds: it always needs a slot.
LEAST_FITTED = 30_000
#: A test fits a model; under `dp` it evaluates many possible counts of each cell. A chart is drawn by another process.
TESTED, TESTED_UNDER_DP, PICTURE = 10, 100, 30_000
#: A listing of non-zero cells is computed block by block: a wide table costs at most this number of cells.
LISTED = 500_000
#: The longest query string and body, and the bytes of all bodies together.
MAX_QUERY_BYTES, MAX_BODY_BYTES, MAX_BODIES_BYTES = 16_384, 1_048_576, 33_554_432

_waiting = Semaphore(MAX_WAITING)


@contextmanager
def waiting_slot() -> Iterator[bool]:
    """Whether the current thread may wait. The bound leaves threads of the pool to quick answers."""
    granted = _waiting.acquire(blocking=False)
    try:
        yield granted
    finally:
        if granted:
            _waiting.release()


class Capacity:
    """The cells and slots of a process; `cells` are those of all workers, held from the request to the last byte."""

    def __init__(self, cells: int, workers: int = 1) -> None:
        self._max_cells = cells // workers
        self._slots = max(1, SLOTS // workers)
        self._changed = Condition()
        self.cells = self.computing = self.queue = 0

    def acquire(self, cells: int, *, own: int, known: bool, has_slot: bool) -> None:
        """Take cells, and a slot unless the request has one; wait if there is no room, and raise `Busy` after that."""
        limit = self._max_cells if known else self._max_cells * 2 // 3

        def has_room() -> bool:  # an answer larger than the whole capacity is computed alone
            fits = self.cells == own or self.cells + cells <= limit
            return fits and (has_slot or self.computing < self._slots + known)

        with self._changed:
            if not has_room():
                with waiting_slot() as granted:
                    if not granted or self.queue >= MAX_QUEUE:
                        raise busy()
                    self.queue += 1
                    try:
                        if not self._changed.wait_for(has_room, SECONDS_TO_WAIT):
                            raise busy()
                    finally:
                        self.queue -= 1
            self.cells += cells
            self.computing += not has_slot

    def release(self, cells: int, slots: int) -> None:
        """Give cells and slots back."""
        with self._changed:
            self.cells -= cells
            self.computing -= slots
            self._changed.notify_all()


class Reservation:
    """What one request holds of the capacity."""

    def __init__(self, capacity: Capacity, *, known: bool) -> None:
        self._capacity, self._known = capacity, known
        self._cells, self._has_slot = 0, False

    def take(self, cells: int) -> None:
        """Reserve cells, or refuse the request as busy; small answers need no reservation."""
        if cells > SMALL:
            self._capacity.acquire(cells, own=self._cells, known=self._known, has_slot=self._has_slot)
            self._cells += cells
            self._has_slot = True

    def computed(self) -> None:
        """Give the slot back: the response starts to leave."""
        self._capacity.release(0, int(self._has_slot))
        self._has_slot = False

    def close(self) -> None:
        """Give everything back: the response was sent, or the reader has gone."""
        self._capacity.release(self._cells, int(self._has_slot))
        self._cells, self._has_slot = 0, False


class AdmissionMiddleware(HttpMiddleware):
    """Limits the size of a request and gives it a reservation."""

    def __init__(self, app: ASGIApp, capacity: Capacity) -> None:
        super().__init__(app)
        self.capacity = capacity
        self.requests = self.body_bytes = 0

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if len(scope.get("query_string", b"")) > MAX_QUERY_BYTES:
            refusal = RequestTooLong(
                message(
                    "The query has more than {max_query_bytes:,} bytes.", max_query_bytes=MAX_QUERY_BYTES
                ),
                message("Filter on a coarser level, or download the whole table and filter it yourself."),
            )
            await problem_response(Request(scope), refusal)(scope, receive, send)
        elif self.requests >= MAX_REQUESTS:
            await problem_response(Request(scope), busy())(scope, receive, send)
        elif scope["method"] == "POST":  # no other method has a body that a route reads
            await self._with_body(scope, receive, send)
        else:
            await self._with_reservation(scope, receive, send)

    async def _with_reservation(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = request_context()
        reservation = Reservation(self.capacity, known=context.requester is not None)
        context.reservation = reservation
        self.requests += 1

        async def sending(part: Message) -> None:
            if part["type"] == "http.response.start":
                reservation.computed()
            await send(part)

        try:
            await self.app(scope, receive, sending)
        finally:
            self.requests -= 1
            reservation.close()

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body up to the limit and pass it on in one piece."""
        body, more = bytearray(), True
        try:
            while more:
                part = await receive()
                if part["type"] != "http.request":
                    return
                body += part.get("body", b"")
                self.body_bytes += len(part.get("body", b""))
                more = part.get("more_body", False)
                refusal: DiscreetError | None = busy() if self.body_bytes > MAX_BODIES_BYTES else None
                if len(body) > MAX_BODY_BYTES:
                    refusal = BodyTooLarge(
                        message(
                            "The body has more than {max_body_bytes:,} bytes.", max_body_bytes=MAX_BODY_BYTES
                        ),
                        message("Ask for a coarser level, or for several tables."),
                    )
                if refusal is not None:
                    await problem_response(Request(scope), refusal)(scope, receive, send)
                    return
            read = [{"type": "http.request", "body": bytes(body), "more_body": False}]

            async def receive_body() -> Message:
                return read.pop() if read else await receive()

            await self._with_reservation(scope, receive_body, send)
        finally:
            self.body_bytes -= len(body)


def reserve_cells(cells: int) -> None:
    """Reserve cells for the current request, or refuse it as busy."""
    reservation = request_context().reservation
    if reservation is not None:
        reservation.take(cells)


def admit_request(checked: CheckedRequest) -> None:
    """Reserve the cells of a table, or refuse it as busy; called before each answer of a dataset service."""
    fitted = checked.additivity == "fitted"
    reserve_cells(max(LEAST_FITTED, checked.cells * FITTED) if fitted else checked.cells)
