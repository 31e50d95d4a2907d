"""How often an address may call: a bucket of tokens for each, which fills up again as time passes.

    tokens(t) = min(calls, tokens before + calls * seconds / window)

A program that makes at most `calls` calls in any window never finds its bucket empty. The addresses are kept in the
order of their last call, at most `MOST_ADDRESSES`; the first is forgotten, and its bucket is full again.

Comes from: `routes`, before anything is read. Goes to: the reader, as 429 with Retry-After.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

from discreet.errors import TooManyCalls

if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds in which an address has its calls.
WINDOW = 10
MOST_ADDRESSES = 10_000


class Buckets:
    """The tokens of every address that called lately.

    >>> clock = iter([0.0, 0.0, 0.0, 5.0])
    >>> buckets = Buckets(2, lambda: next(clock))
    >>> buckets.take("a"), buckets.take("a")
    (None, None)
    >>> buckets.take("a")
    Traceback (most recent call last):
    ...
    discreet.errors.TooManyCalls: An address may make 2 calls in 10 seconds. Try again in 5 seconds.
    >>> buckets.take("a")
    """

    def __init__(self, calls: int, now: Callable[[], float] = time.monotonic) -> None:
        self._calls = calls
        self._now = now
        self._known: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def take(self, address: str) -> None:
        """Take a token from the bucket of an address.

        Raises:
            TooManyCalls: The bucket is empty; it tells when to come back.
        """
        with self._lock:
            now = self._now()
            tokens, before = self._known.pop(address, (float(self._calls), now))
            tokens = min(float(self._calls), tokens + (now - before) * self._calls / WINDOW)
            allowed = tokens >= 1
            self._known[address] = (tokens - allowed, now)
            if len(self._known) > MOST_ADDRESSES:
                self._known.popitem(last=False)
        if not allowed:
            wait = max(1, math.ceil((1 - tokens) * WINDOW / self._calls))
            raise TooManyCalls(
                f"An address may make {self._calls} calls in {WINDOW} seconds.",
                f"Try again in {wait} second{'s' * (wait > 1)}.",
                retry_after=wait,
            )
