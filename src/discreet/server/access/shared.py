"""What the processes of a server share: buckets of tokens, and who is held back. One small SQLite file.

    buckets   name, tokens, when they were counted
    holds     who, what happens to them (`slow`, `stop`), until when, and why

Nothing here must last: the file is written without waiting for the disk, and a file that is lost means full buckets. A
process takes tokens in batches (`buckets`), so that thousands of requests a second need a few dozen transactions. Holds are
read once in a second. Buckets count by the clock of the machine, which all processes share; each machine has its own.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SLOW, STOP = "slow", "stop"
SECONDS_TO_WAIT = 0.05
#: Buckets that were not used for so many seconds are full, and are forgotten.
FORGOTTEN_AFTER = 600.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS buckets (name TEXT PRIMARY KEY, tokens REAL NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS holds (who TEXT PRIMARY KEY, action TEXT NOT NULL, until REAL NOT NULL, why TEXT NOT NULL)
    WITHOUT ROWID;
"""
log = logging.getLogger("discreet.server")


@dataclass(frozen=True, slots=True)
class Hold:
    """Somebody who is held back.

    Args:
        who: `account:` or `address:` and the name, as the log has it.
        action: `slow` or `stop`.
        until: When it ends, in seconds since 1970.
        why: The alerts that led to it.
    """

    who: str
    action: str
    until: float
    why: str


class Shared:
    """The file that the processes share.

    Args:
        path: Where it is; None for the memory of this process alone.
        clock: Seconds, the same in all processes of a machine.
    """

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self._clock = path, clock
        self._lock = Lock()
        self._open: tuple[int, sqlite3.Connection] | None = None
        self._alone: dict[str, tuple[float, float]] = {}
        self._holds: tuple[float, dict[str, Hold]] = (-1.0, {})

    def take(self, name: str, most: int, seconds: float, wanted: int) -> tuple[int, float]:
        """Take tokens out of a bucket that holds `most` and fills up in so many seconds.

        Returns:
            How many were taken, and after how many seconds there will be one again.
        """
        with self._lock:
            try:
                return self._take(self._connection(), name, most, seconds, wanted)
            except sqlite3.Error as error:  # full, locked for long, damaged: this process counts alone
                log.warning("Limits are counted in this process alone: %s", type(error).__name__)
                before = self._alone.get(name)
                taken, after, wait = _taken(before, most, seconds, wanted, self._clock())
                self._alone = {} if len(self._alone) > 10_000 else self._alone
                self._alone[name] = after
                return taken, wait

    def holds(self) -> dict[str, Hold]:
        """Who is held back now, by name; at most a second old."""
        read_at, known = self._holds
        if 0 <= self._clock() - read_at < 1 and read_at >= 0:
            return known
        with self._lock:
            try:
                rows = self._connection().execute(
                    "SELECT who, action, until, why FROM holds WHERE until > ?", [time.time()]
                )
                known = {row[0]: Hold(*row) for row in rows}
            except sqlite3.Error:
                log.warning("Who is held back cannot be read.")
            self._holds = (self._clock(), known)
        return known

    def hold(self, hold: Hold) -> None:
        """Hold somebody back; the stricter and longer hold counts."""
        with self._lock:
            connection = self._connection()
            connection.execute("BEGIN IMMEDIATE")
            row = connection.execute("SELECT action, until FROM holds WHERE who = ?", [hold.who]).fetchone()
            stays = row is not None and row[1] > time.time() and row[0] == STOP
            action = STOP if stays else hold.action
            until = max(hold.until, row[1]) if row is not None else hold.until
            connection.execute(
                "INSERT OR REPLACE INTO holds VALUES (?, ?, ?, ?)", [hold.who, action, until, hold.why]
            )
            connection.execute("COMMIT")
            self._holds = (-1.0, {})

    def release(self, who: str) -> bool:
        """Let somebody go on; whether they were held back."""
        with self._lock:
            done = self._connection().execute("DELETE FROM holds WHERE who = ?", [who]).rowcount
            self._holds = (-1.0, {})
        return bool(done)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._open is not None and self._open[0] == os.getpid():
                self._open[1].close()
            self._open = None

    def _take(
        self, connection: sqlite3.Connection, name: str, most: int, seconds: float, wanted: int
    ) -> tuple[int, float]:
        connection.execute("BEGIN IMMEDIATE")
        try:
            before = connection.execute("SELECT tokens, at FROM buckets WHERE name = ?", [name]).fetchone()
            now = self._clock()
            taken, (tokens, at), wait = _taken(before, most, seconds, wanted, now)
            if before is None:
                connection.execute(
                    "DELETE FROM buckets WHERE at NOT BETWEEN ? AND ?", [now - FORGOTTEN_AFTER, now]
                )
            connection.execute("INSERT OR REPLACE INTO buckets VALUES (?, ?, ?)", [name, tokens, at])
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return taken, wait

    def _connection(self) -> sqlite3.Connection:
        """The connection of this process: one that was made before a fork is not used after it."""
        if self._open is None or self._open[0] != os.getpid():
            place = ":memory:" if self._path is None else str(self._path)
            made = sqlite3.connect(
                place, timeout=SECONDS_TO_WAIT, isolation_level=None, check_same_thread=False
            )
            made.execute("PRAGMA journal_mode = WAL")
            made.execute("PRAGMA synchronous = OFF")
            made.executescript(_SCHEMA)
            self._open = (os.getpid(), made)
        return self._open[1]


def _taken(
    before: tuple[float, float] | None, most: int, seconds: float, wanted: int, now: float
) -> tuple[int, tuple[float, float], float]:
    """Tokens that are taken, what is left, and the wait for the next one.

    >>> _taken((0.5, 10.0), 10, 10.0, 3, 12.0)
    (2, (0.5, 12.0), 0.5)
    """
    tokens, at = before or (float(most), now)
    tokens = min(float(most), tokens + max(0.0, now - at) * most / seconds)
    taken = min(wanted, int(tokens))
    left = tokens - taken
    return taken, (left, now), max(0.0, 1 - left) * seconds / most
