"""How often an address may call."""

import pytest

from discreet.errors import TooManyCalls
from discreet.server.pxweb import rate
from discreet.server.pxweb.rate import WINDOW, Buckets


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_program_that_keeps_to_the_window_is_never_sent_away():
    """Wrong alternative: windows that all begin at full tens, which a burst across a border doubles."""
    clock = Clock()
    buckets = Buckets(5, clock)
    for start in (0.0, 10.0, 20.0):
        clock.now = start
        for _ in range(5):
            buckets.take("a")
    clock.now = 29.0
    for _ in range(4):
        buckets.take("a")
    with pytest.raises(TooManyCalls):
        buckets.take("a")


def test_whoever_waits_as_told_is_served():
    clock = Clock()
    buckets = Buckets(3, clock)
    for _ in range(3):
        buckets.take("a")
    with pytest.raises(TooManyCalls) as told:
        buckets.take("a")
    assert 1 <= told.value.retry_after <= WINDOW
    clock.now += told.value.retry_after
    buckets.take("a")


def test_addresses_have_buckets_of_their_own_and_few_are_remembered(monkeypatch):
    monkeypatch.setattr(rate, "MOST_ADDRESSES", 2)
    buckets = Buckets(1, Clock())
    for address in ("a", "b", "c", "a"):  # a was forgotten when c came
        buckets.take(address)
    with pytest.raises(TooManyCalls):
        buckets.take("a")
    assert len(buckets._known) == 2
