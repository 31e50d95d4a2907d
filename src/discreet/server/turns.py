"""One thread makes what several want at the same moment: a few wait for it, and whoever comes after them makes it too.

Who waits holds a thread of the server, and threads are few: without a bound one slow answer, asked for by many, would keep
everybody from the quick ones. A quick answer that is made twice costs little, and a slow one needs a place (`in_flight`).
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator


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
        """Let one thread at a time make what has this key: the others find it made, unless too many wait or for too long."""
        with self._lock:
            making = self._making.setdefault(key, Lock())
        if not (making.acquire(blocking=False) or self._waited_for(making)):
            yield
            return
        try:
            yield
        finally:
            making.release()
            with self._lock:
                self._making.pop(key, None)

    def _waited_for(self, making: Lock) -> bool:
        """Wait for a turn; False where it did not come."""
        with self._lock:
            if self.waiting >= self._most_waiting:
                return False
            self.waiting += 1
        try:
            return making.acquire(timeout=self._seconds)
        finally:
            with self._lock:
                self.waiting -= 1
