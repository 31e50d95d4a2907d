"""How much a server does at once: a budget of cells for large answers, places for those that make them, and a queue.

    work of an answer    its cells, times what its kind costs; known from the shape, before anything is counted
    small work           up to `SMALL`: begins at once
    large work           takes a place while it is made, and its cells until the last byte was taken; else it waits,
                         and where too many wait, or it waits too long, the reader gets 503 with Retry-After

A reader who asks for a large table and does not read it holds cells, not memory without end, and is cut off in the end
(`connections`). Whoever asks without a key has two thirds of the budget: accounts always find the rest. What is decided
here follows from public shapes and from what others ask at the moment, never from a count.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from threading import Condition

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.release.checked_request import CheckedRequest
from discreet.web.cache import ACCOUNT
from discreet.web.problems import busy, problem_response

#: Work that begins at once.
SMALL = 20_000
#: Large answers that a server makes at once for readers without a key; each of its processes makes at least one of them,
#: and one more for readers with a key.
PLACES_FOR_ANYBODY = 2
#: Large answers that may wait, and for how long.
MOST_WAITING, SECONDS_TO_WAIT = 4, 2.0
#: Requests that are being answered, those that wait for a thread among them.
MOST_REQUESTS = 400
#: Threads that answer. At most 16 of them wait for a place or for what another makes (`turns`).
THREADS = 24
#: What a cell costs beside a count of it: tables whose totals are fitted, limits of all cells, two versions compared.
FITTED, LIMITS, COMPARED = 10, 3, 6
#: A small table may take seconds to fit: it always needs a place.
LEAST_FITTED = 30_000
#: A test fits a model; under `dp` it looks at many possible counts of each cell. A picture is drawn by another program.
TESTED, TESTED_UNDER_DP, PICTURE = 10, 100, 30_000
#: Cells that are not 0 are listed block by block: a wide table counts as so many cells and not more.
LISTED = 500_000


class Capacity:
    """What a process may do at once.

    Args:
        cells: Of large answers, from their question to their last byte, in all processes of the server.
        processes: How many there are.
    """

    def __init__(self, cells: int, processes: int = 1) -> None:
        self._most_cells = cells // processes
        self._places = max(1, PLACES_FOR_ANYBODY // processes)
        self._changed = Condition()
        self.cells = 0
        self.making = 0
        self.waiting = 0

    def enter(self, cells: int, *, own: int, known: bool, placed: bool) -> None:
        """Take cells, and a place unless there is one already; wait where there are none.

        Args:
            cells: How many.
            own: How many of those that are taken are the same request's.
            known: Whether it is asked with a key.
            placed: Whether the request has a place.

        Raises:
            Busy: Too many wait, or it took too long.
        """
        deadline = time.monotonic() + SECONDS_TO_WAIT
        with self._changed:

            def has_room() -> bool:
                return self._has_room(cells, own, known=known, placed=placed)

            if not has_room():
                self._wait(deadline, has_room)
            self.cells += cells
            self.making += not placed

    def leave(self, cells: int, places: int) -> None:
        """Give back."""
        with self._changed:
            self.cells -= cells
            self.making -= places
            self._changed.notify_all()

    def _has_room(self, cells: int, own: int, *, known: bool, placed: bool) -> bool:
        """An answer that is larger than the whole budget has room where it is alone."""
        most = self._most_cells if known else self._most_cells * 2 // 3
        return (self.cells == own or self.cells + cells <= most) and (
            placed or self.making < self._places + known
        )

    def _wait(self, deadline: float, has_room: Callable[[], bool]) -> None:
        if self.waiting >= MOST_WAITING:
            raise busy()
        self.waiting += 1
        try:
            while not has_room():
                if not self._changed.wait(deadline - time.monotonic()):
                    raise busy()
        finally:
            self.waiting -= 1


class Reservation:
    """What one request holds of the budget."""

    def __init__(self, budget: Capacity, *, known: bool) -> None:
        self._budget = budget
        self._known = known
        self._cells = 0
        self._placed = False

    def take(self, work: int) -> None:
        """Take what an answer needs; small work needs nothing.

        Raises:
            Busy: There is no room.
        """
        if work > SMALL:
            self._budget.enter(work, own=self._cells, known=self._known, placed=self._placed)
            self._cells += work
            self._placed = True

    def made(self) -> None:
        """The answer begins to leave: others may be made."""
        self._budget.leave(0, int(self._placed))
        self._placed = False

    def end(self) -> None:
        """The answer has left, or its reader."""
        self._budget.leave(self._cells, int(self._placed))
        self._cells, self._placed = 0, False


_TICKET: ContextVar[Reservation | None] = ContextVar("discreet_ticket", default=None)


class AdmissionMiddleware:
    """Gives every request a ticket, and refuses what would only wait.

    Args:
        app: What answers.
        budget: Of this process.
    """

    def __init__(self, app: ASGIApp, budget: Capacity) -> None:
        self.app = app
        self._budget = budget
        self._requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and take back what was held when the answer has left."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if self._requests >= MOST_REQUESTS:
            await problem_response(Request(scope), busy())(scope, receive, send)
            return
        ticket = Reservation(self._budget, known=bool(scope.get(ACCOUNT)))
        token = _TICKET.set(ticket)
        self._requests += 1

        async def leaving(message: Message) -> None:
            if message["type"] == "http.response.start":
                ticket.made()
            await send(message)

        try:
            await self.app(scope, receive, leaving)
        finally:
            self._requests -= 1
            _TICKET.reset(token)
            ticket.end()


def reserve_cells(work: int) -> None:
    """Take what an answer needs from the budget of the process, for the request that is being answered.

    Raises:
        Busy: There is no room at the moment.
    """
    ticket = _TICKET.get()
    if ticket is not None:
        ticket.take(work)


def admit_question(question: CheckedRequest) -> None:
    """Take what a table needs: called before each answer of a door.

    Raises:
        Busy: There is no room at the moment.
    """
    reserve_cells(
        max(LEAST_FITTED, question.cells * FITTED) if question.additivity == "fitted" else question.cells
    )
