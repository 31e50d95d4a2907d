"""One thread makes what several want at the same moment: a few wait for it, and whoever comes after them comes back later.

Who waits holds a thread of the server, and threads are few: without a bound one slow answer, asked for by many, would keep
everybody from the quick ones.

Comes from: `kept_answers`, `wholes`, `in_flight`. Goes to: the reader, as 503 with Retry-After.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from discreet.errors import Busy
from discreet.model.told import told

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

RETRY_AFTER = 5


class Turns:
    """Who makes what, and who waits for it.

    Args:
        most_waiting: How many threads wait at once, whatever for.
        seconds: How long each waits.
    """

    def __init__(self, most_waiting: int, seconds: float) -> None:
        self._most_waiting, self._seconds = most_waiting, seconds
        self._making: dict[Hashable, Lock] = {}
        self._lock = Lock()
        self.waiting = 0

    @contextmanager
    def alone(self, key: Hashable) -> Iterator[None]:
        """Let one thread at a time make what has this key: the others find it made.

        Raises:
            Busy: Too many wait, or it took too long.
        """
        with self._lock:
            making = self._making.setdefault(key, Lock())
        if not making.acquire(blocking=False):
            self._wait(making)
        try:
            yield
        finally:
            making.release()
            with self._lock:
                self._making.pop(key, None)

    def _wait(self, making: Lock) -> None:
        with self._lock:
            if self.waiting >= self._most_waiting:
                raise busy()
            self.waiting += 1
        try:
            if not making.acquire(timeout=self._seconds):
                raise busy()
        finally:
            with self._lock:
                self.waiting -= 1


def busy() -> Busy:
    """The refusal of what finds no room."""
    return Busy(
        told("The server has too much to do at the moment."),
        told("Try again in {seconds} seconds, or ask for a smaller table.", seconds=RETRY_AFTER),
        retry_after=RETRY_AFTER,
    )
