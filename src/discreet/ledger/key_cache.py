"""A cache of the accounts and API keys of a workspace, for servers.

    lookup       in memory, by the hash of the key
    refresh      when a key is looked up and the ledger's file has changed, or the cache is older than `FRESH` seconds
    failure      a stale cache is used for `STALE` seconds; after that no key is accepted

So a revoked key is refused at once, or after `FRESH` seconds with a ledger in PostgreSQL. A flood of wrong keys reads the
ledger no more often than one right key does. A ledger that is locked or out of reach does not show in the response to a
wrong key: a key that cannot be checked is refused like a wrong one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Lock

from discreet.errors import DiscreetError
from discreet.ledger.accounts import AccountHolder, KeyFacts, Register

FRESH, STALE = 2.0, 60.0
log = logging.getLogger("discreet.server")


class KeyCache:
    """The cached register of one workspace.

    Args:
        read: Reads it from the ledger; returns None if there are no accounts.
        mark: A cheap value that changes with the ledger.
        clock: The time in seconds.
    """

    def __init__(
        self,
        read: Callable[[], Register | None],
        mark: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._mark = mark
        self._marked: object = None
        self._clock = clock
        self._register: Register | None = None
        self._read_at: float | None = None
        self._tried_at: float | None = None
        self._reading = Lock()

    def is_due(self) -> bool:
        """Whether the register must be read before the next lookup, or is being read."""
        return self._reading.locked() or self._is_old()

    def _is_old(self) -> bool:
        old = self._tried_at is None or self._clock() - self._tried_at >= FRESH
        return old or self._mark() != self._marked

    def refresh(self) -> None:
        """Read the register, or wait while another thread does. Failures are logged, not raised."""
        with self._reading:
            if not self._is_old():
                return
            try:
                self._tried_at, self._marked = self._clock(), self._mark()
                self._register = self._read()
                self._read_at = self._clock()
            except DiscreetError as error:
                log.error("The accounts cannot be read, and keys are refused soon: %s", error)  # noqa: TRY400 - complete

    def key(self, key: str) -> KeyFacts:
        """The facts of a valid key.

        Raises:
            BadKey: It is not accepted, or cannot be checked.
        """
        from discreet.ledger.accounts import not_accepted  # noqa: PLC0415 - without keys no database is needed

        register = self._current()
        if register is None:
            raise not_accepted()
        return register.key(key)

    def account(self, name: str) -> AccountHolder | None:
        """An account by name, revoked ones included."""
        register = self._current()
        return None if register is None else register.accounts.get(name)

    def is_lost(self) -> bool:
        """Whether the cache is too old to be used."""
        return self._read_at is None or self._clock() - self._read_at > STALE

    def is_slow(self, seconds: float) -> bool:
        """Whether the last attempt to read began longer ago than `seconds`."""
        return self._tried_at is not None and self._clock() - self._tried_at > seconds

    def _current(self) -> Register | None:
        return None if self.is_lost() else self._register
