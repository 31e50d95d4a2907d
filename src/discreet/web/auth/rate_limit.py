"""Rate limits: calls per account and per client address in 10 seconds, and holds (`slow`, `stop`) on suspicious clients.

Each client has a token bucket, tokens(t) = min(calls, tokens + calls * seconds / window). The workers share the buckets and
holds in a small SQLite file. A worker takes tokens in batches of `BATCH`, so thousands of requests per second need a few
dozen transactions; with P workers a client may be limited P * `BATCH` of its calls too early, and never too late. The file
need not be durable: if it is lost, the buckets are full.

Requests from the loopback address are not limited unless a proxy forwards another address: they come from the machine
itself, or from an undeclared proxy whose readers would share one bucket.
"""

import logging
import math
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from cachetools import LRUCache
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import DiscreetError, Stopped, TooManyCalls
from discreet.ledger.requester import Requester
from discreet.model.messages.text import message
from discreet.web.audit.log import AddressPolicy
from discreet.web.auth.identity import LOOPBACK, in_networks
from discreet.web.context import HttpMiddleware, request_context
from discreet.workspace.options import Options

SLOW, STOP = "slow", "stop"
#: The window of a limit in seconds, the fraction of the calls that a worker takes at once, and the calls of a slowed client.
WINDOW, BATCH, SLOWED = 10, 1 / 40, 5
MAX_CLIENTS = 10_000
#: Buckets that were not used for this many seconds are full, and are deleted.
FORGOTTEN_AFTER = 600.0
#: How long a transaction waits for those of other workers.
LOCK_SECONDS = 0.05
_SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = OFF;
CREATE TABLE IF NOT EXISTS buckets (name TEXT PRIMARY KEY, tokens REAL NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS holds (who TEXT PRIMARY KEY, action TEXT NOT NULL, until REAL NOT NULL, why TEXT NOT NULL)
    WITHOUT ROWID;
"""
log = logging.getLogger("discreet.server")


@dataclass(frozen=True, slots=True)
class Hold:
    """A client (`account:NAME` or `address:NAME`) that is slowed or stopped until a time in seconds since 1970, and why."""

    who: str
    action: str
    until: float
    why: str


class RateLimitStore:
    """The file that the workers share, or the memory of one process; all clocks of a machine agree."""

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._path, self.clock = path, clock
        self._lock = Lock()
        self._open: sqlite3.Connection | None = None
        self._local: LRUCache[str, tuple[float, float]] = LRUCache(MAX_CLIENTS)
        self._holds: tuple[float, dict[str, Hold]] = (-1.0, {})

    def take(self, name: str, calls: int, seconds: float, wanted: int) -> tuple[int, float]:
        """Take tokens from a bucket that fills up in some seconds: how many were there, and the wait for the next one."""
        with self._lock:
            try:
                with self._connection() as connection:
                    connection.execute("BEGIN IMMEDIATE")
                    query = "SELECT tokens, at FROM buckets WHERE name = ?"
                    before = connection.execute(query, [name]).fetchone()
                    now = self.clock()
                    granted, left, wait = _take_tokens(before, calls, seconds, wanted, now)
                    if before is None:
                        full = [now - FORGOTTEN_AFTER, now]
                        connection.execute("DELETE FROM buckets WHERE at NOT BETWEEN ? AND ?", full)
                    connection.execute("INSERT OR REPLACE INTO buckets VALUES (?, ?, ?)", [name, left, now])
            except sqlite3.Error as error:  # full, locked or damaged
                log.warning("Limits are counted in this process alone: %s", type(error).__name__)
                now = self.clock()
                granted, left, wait = _take_tokens(self._local.get(name), calls, seconds, wanted, now)
                self._local[name] = (left, now)
            return granted, wait

    def holds(self) -> dict[str, Hold]:
        """The holds by client, at most a second old."""
        read_at, known = self._holds
        if 0 <= self.clock() - read_at < 1 and read_at >= 0:
            return known
        with self._lock:
            try:
                query = "SELECT who, action, until, why FROM holds WHERE until > ?"
                known = {row[0]: Hold(*row) for row in self._connection().execute(query, [time.time()])}
            except sqlite3.Error:
                log.warning("Who is held back cannot be read.")
            self._holds = (self.clock(), known)
        return known

    def hold(self, hold: Hold) -> None:
        """Add a hold; the stricter and the longer one counts."""
        with self._lock, self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            row = connection.execute("SELECT action, until FROM holds WHERE who = ?", [hold.who]).fetchone()
            stays = row is not None and row[1] > time.time() and row[0] == STOP
            action = STOP if stays else hold.action
            until = max(hold.until, row[1]) if row is not None else hold.until
            connection.execute(
                "INSERT OR REPLACE INTO holds VALUES (?, ?, ?, ?)", [hold.who, action, until, hold.why]
            )
            self._holds = (-1.0, {})

    def release(self, who: str) -> bool:
        """Lift a hold; whether there was one."""
        with self._lock:
            done = self._connection().execute("DELETE FROM holds WHERE who = ?", [who]).rowcount
            self._holds = (-1.0, {})
        return bool(done)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._open is not None:
                self._open.close()
            self._open = None

    def _connection(self) -> sqlite3.Connection:
        if self._open is None:
            place = ":memory:" if self._path is None else str(self._path)
            made = sqlite3.connect(place, LOCK_SECONDS, isolation_level=None, check_same_thread=False)
            made.executescript(_SCHEMA)
            self._open = made
        return self._open


def _take_tokens(
    before: tuple[float, float] | None, calls: int, seconds: float, wanted: int, now: float
) -> tuple[int, float, float]:
    """Tokens that are granted, tokens that are left, and the wait for the next one.

    >>> _take_tokens((0.5, 10.0), 10, 10.0, 3, 12.0)
    (2, 0.5, 0.5)
    """
    tokens, at = before or (float(calls), now)
    tokens = min(float(calls), tokens + max(0.0, now - at) * calls / seconds)
    granted = min(wanted, int(tokens))
    left = tokens - granted
    return granted, left, max(0.0, 1 - left) * seconds / calls


class TokenBuckets:
    """The token buckets of one kind of clients.

    >>> clock = [0.0]
    >>> buckets = TokenBuckets(2, RateLimitStore(None, lambda: clock[0]), "calls")
    >>> buckets.take("a"), buckets.take("a")
    (None, None)
    >>> buckets.take("a")
    Traceback (most recent call last):
    ...
    discreet.errors.TooManyCalls: There may be 2 calls in 10 seconds. Try again in 5 seconds.
    >>> clock[0] = 5.0
    >>> buckets.take("a")

    Args:
        kind: A prefix of the names in the store.
    """

    def __init__(self, calls: int, store: RateLimitStore, kind: str) -> None:
        self._calls, self._store, self._kind = calls, store, kind
        self._batch = max(1, int(calls * BATCH))
        #: Tokens of this worker by client, and until when they are valid.
        self._own: LRUCache[str, tuple[int, float]] = LRUCache(MAX_CLIENTS)
        self._lock = Lock()

    def take(self, name: str) -> None:
        """Take a token; if the bucket is empty, the refusal says when to retry."""
        with self._lock:
            now = self._store.clock()
            left, until = self._own.pop(name, (0, 0.0))
            wait = 0.0
            if not left or now >= until:
                left, wait = self._store.take(f"{self._kind}:{name}", self._calls, WINDOW, self._batch)
                until = now + WINDOW
            if left:
                self._own[name] = (left - 1, until)
        if not left:
            seconds = max(1, math.ceil(wait))
            raise TooManyCalls(
                message(
                    "There may be {calls:,} calls in {window} seconds.", calls=self._calls, window=WINDOW
                ),
                message("Try again in {seconds} second.", seconds=seconds)
                if seconds == 1
                else message("Try again in {seconds} seconds.", seconds=seconds),
                retry_after=seconds,
            )


class RateLimitMiddleware(HttpMiddleware):
    """Refuses calls over the limits."""

    def __init__(
        self, app: ASGIApp, store: RateLimitStore, addresses: AddressPolicy, options: Options
    ) -> None:
        super().__init__(app)
        self._store, self._addresses = store, addresses
        accounts, clients = options.account_calls, options.address_calls
        self._by_account = TokenBuckets(accounts, store, "account") if accounts else None
        self._by_address = TokenBuckets(clients, store, "address") if clients else None
        self._slowed = TokenBuckets(SLOWED, store, "slowed")

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        context, address = request_context(), str(scope["client"][0]) if scope.get("client") else ""
        try:
            if context.refusal is None:
                self._take(context.requester, address)
            else:  # a flood of invalid keys gets 429, as any other
                self._take_by_address(address)
        except DiscreetError as error:
            context.refusal = error
        await self.app(scope, receive, send)

    def _take(self, requester: Requester | None, address: str) -> None:
        holds = self._store.holds()
        name = ""
        if holds:
            stored = f"address:{self._addresses.stored(address)}"
            name = stored if requester is None else f"account:{requester.account}"
        if name in holds:
            if holds[name].action == STOP:
                raise Stopped(
                    message("Too many of the questions look like an attempt to single people out."),
                    message("Report it to the operator of this server."),
                )
            self._slowed.take(name)
        if requester is None:
            self._take_by_address(address)
        elif self._by_account is not None:
            self._by_account.take(requester.account)

    def _take_by_address(self, address: str) -> None:
        if self._by_address is not None and not in_networks(address, LOOPBACK):
            self._by_address.take(self._addresses.pseudonym(address))
