"""How often somebody may call: a bucket of tokens for each, which fills up again as time passes.

    tokens(t) = min(calls, tokens before + calls * seconds / window)

The bucket is shared by all processes of a server (`shared`). A process takes a batch of tokens out of it, of at most
`BATCH` of the calls, and gives them away one by one; what it has not given away when the window ends is lost. So nobody
gets more than the bucket has, and with P processes a program may be stopped P x `BATCH` of its calls too early.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

from discreet.errors import TooManyCalls
from discreet.model.told import told

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.server.access.shared import Shared

#: Seconds in which somebody has their calls.
WINDOW = 10
#: The share of the calls that a process takes at once.
BATCH = 1 / 40
MOST_NAMES = 10_000


class Buckets:
    """The tokens of everybody who called lately.

    >>> from discreet.server.access.shared import Shared
    >>> clock = [0.0]
    >>> buckets = Buckets(2, Shared(None, lambda: clock[0]), "calls", lambda: clock[0])
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
        self, calls: int, shared: Shared, kind: str, clock: Callable[[], float] = time.monotonic
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
        told("There may be {calls:,} calls in {window} seconds.", calls=calls, window=WINDOW),
        told("Try again in {seconds} second.", seconds=seconds)
        if seconds == 1
        else told("Try again in {seconds} seconds.", seconds=seconds),
        retry_after=seconds,
    )
