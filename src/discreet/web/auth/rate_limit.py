"""What the processes of a server share: buckets of tokens, and who is held back. One small SQLite file.

    buckets   name, tokens, when they were counted
    holds     who, what happens to them (`slow`, `stop`), until when, and why

Nothing here must last: the file is written without waiting for the disk, and a file that is lost means full buckets. A
process takes tokens in batches (`buckets`), so that thousands of requests a second need a few dozen transactions. Holds are
read once in a second. Buckets count by the clock of the machine, which all processes share; each machine has its own.

How often somebody may call: a bucket of tokens for each, which fills up again as time passes.

    tokens(t) = min(calls, tokens before + calls * seconds / window)

The bucket is shared by all processes of a server (`shared`). A process takes a batch of tokens out of it, of at most
`BATCH` of the calls, and gives them away one by one; what it has not given away when the window ends is lost. So nobody
gets more than the bucket has, and with P processes a program may be stopped P x `BATCH` of its calls too early.

How much may be asked: calls of an account, calls of an address, and who is held back.

    account_calls   in 10 seconds, for each account, whatever its keys
    address_calls   in 10 seconds, for each address that asks without an account, or with a key that is refused
    slowed          `SLOWED` calls in 10 seconds
    stopped         none, until the hold ends or a custodian lifts it (`discreet log release`)

The machine itself is not counted where no proxy told another address: it is the office's own, or a proxy that nobody
declared, behind which all readers would share one bucket.
"""

from __future__ import annotations

import logging
import math
import os
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import DiscreetError, Stopped, TooManyCalls
from discreet.ledger.requester import Requester
from discreet.model.messages.text import message
from discreet.web.audit.entry import AddressPolicy
from discreet.web.auth.identity import REFUSAL, SCOPE, refuse
from discreet.web.auth.proxies import LOOPBACK, in_networks
from discreet.workspace.options import Options

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


class RateLimitStore:
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


#: Seconds in which somebody has their calls.
WINDOW = 10
#: The share of the calls that a process takes at once.
BATCH = 1 / 40
MOST_NAMES = 10_000


class TokenBuckets:
    """The tokens of everybody who called lately.

    >>> from discreet.web.auth.rate_limit import RateLimitStore
    >>> clock = [0.0]
    >>> buckets = TokenBuckets(2, RateLimitStore(None, lambda: clock[0]), "calls", lambda: clock[0])
    >>> buckets.take("a"), buckets.take("a")
    (None, None)
    >>> buckets.take("a")
    Traceback (most recent call last):
    ...
    discreet.errors.TooManyCalls: There may be 2 calls in 10 seconds. Try again in 5 seconds.
    >>> clock[0] = 5.0
    >>> buckets.take("a")

    Args:
        calls: How many calls there may be in a window.
        shared: Where buckets stand.
        kind: What is counted: buckets of one kind do not touch those of another.
        clock: The time in seconds.
    """

    def __init__(
        self, calls: int, shared: RateLimitStore, kind: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._calls, self._shared, self._kind, self._clock = calls, shared, kind, clock
        self._batch = max(1, int(calls * BATCH))
        self._taken: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._lock = Lock()

    def take(self, name: str) -> None:
        """Take a token.

        Raises:
            TooManyCalls: The bucket is empty; it tells when to come back.
        """
        with self._lock:
            now = self._clock()
            left, until = self._taken.pop(name, (0, 0.0))
            wait = 0.0
            if not left or now >= until:
                left, wait = self._shared.take(f"{self._kind}:{name}", self._calls, WINDOW, self._batch)
                until = now + WINDOW
            if left:
                self._taken[name] = (left - 1, until)
                if len(self._taken) > MOST_NAMES:
                    self._taken.popitem(last=False)
        if not left:
            raise too_many(self._calls, wait)


def too_many(calls: int, wait: float) -> TooManyCalls:
    """The refusal of a call, with the seconds after which there may be one again."""
    seconds = max(1, math.ceil(wait))
    return TooManyCalls(
        message("There may be {calls:,} calls in {window} seconds.", calls=calls, window=WINDOW),
        message("Try again in {seconds} second.", seconds=seconds)
        if seconds == 1
        else message("Try again in {seconds} seconds.", seconds=seconds),
        retry_after=seconds,
    )


#: Calls in 10 seconds of somebody who is slowed down.
SLOWED = 5


def client_name(asker: Requester | None, address: str) -> str:
    """Whoever asks, as limits, holds and the watch name them; the address as it is kept."""
    return f"address:{address}" if asker is None else f"account:{asker.account}"


class RateLimitMiddleware:
    """Refuses what is too much.

    Args:
        app: What answers.
        shared: What the processes share.
        addresses: How addresses are named.
        options: The limits; 0 for none.
    """

    def __init__(
        self, app: ASGIApp, shared: RateLimitStore, addresses: AddressPolicy, options: Options
    ) -> None:
        self.app = app
        self._shared, self._addresses = shared, addresses
        self._accounts = _buckets(options.account_calls, shared, "account")
        self._by_address = _buckets(options.address_calls, shared, "address")
        self._slowed = TokenBuckets(SLOWED, shared, "slowed")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, refused or not."""
        if scope["type"] == "http":
            address = str(scope["client"][0]) if scope.get("client") else ""
            try:
                if REFUSAL in scope:
                    self._take_of_address(address)
                else:
                    self._take(scope.get(SCOPE), address)
            except DiscreetError as error:
                scope.pop(REFUSAL, None)  # a flood of bad keys gets 429, as any other
                refuse(scope, error)
        await self.app(scope, receive, send)

    def _take(self, asker: Requester | None, address: str) -> None:
        """Take a token of whoever asks.

        Raises:
            TooManyCalls: There is none.
            Stopped: Whoever asks was stopped.
        """
        holds = self._shared.holds()
        name = client_name(asker, self._addresses.kept(address)) if holds else ""
        if name in holds:
            if holds[name].action == STOP:
                raise Stopped(
                    message("Too many of the questions look like an attempt to single people out."),
                    message("Ask whoever runs this server to look at it."),
                )
            self._slowed.take(name)
        if asker is not None and self._accounts is not None:
            self._accounts.take(asker.account)
        elif asker is None:
            self._take_of_address(address)

    def _take_of_address(self, address: str) -> None:
        if self._by_address is not None and not in_networks(address, LOOPBACK):
            self._by_address.take(self._addresses.hashed(address))


def _buckets(calls: int, shared: RateLimitStore, kind: str) -> TokenBuckets | None:
    return TokenBuckets(calls, shared, kind) if calls else None
