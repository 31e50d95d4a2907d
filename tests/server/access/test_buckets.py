"""How often somebody may call: never more than the bucket has, in one process or in many."""

import multiprocessing
import time

import pytest

from discreet.errors import TooManyCalls
from discreet.server.access import buckets as module
from discreet.server.access.buckets import BATCH, WINDOW, Buckets
from discreet.server.access.shared import Shared

FORK = multiprocessing.get_context("fork")


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def of(calls, clock, path=None):
    return Buckets(calls, Shared(path, clock), "calls", clock)


def test_a_program_that_keeps_to_the_window_is_never_sent_away():
    """Wrong alternative: windows that all begin at full tens, which a burst across a border doubles."""
    clock = Clock()
    buckets = of(5, clock)
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
    buckets = of(3, clock)
    for _ in range(3):
        buckets.take("a")
    with pytest.raises(TooManyCalls) as told:
        buckets.take("a")
    assert 1 <= told.value.retry_after <= WINDOW
    clock.now += told.value.retry_after
    buckets.take("a")


def test_names_have_buckets_of_their_own_and_few_are_remembered(monkeypatch):
    monkeypatch.setattr(module, "MOST_NAMES", 2)
    buckets = of(40, Clock())
    for name in ("a", "b", "c"):
        buckets.take(name)
    assert len(buckets._taken) == 2


def _call(path, number, calls, allowed):
    buckets = Buckets(calls, Shared(path), "calls")
    for _ in range(number):
        try:
            buckets.take("a")
        except TooManyCalls:
            continue
        with allowed.get_lock():
            allowed.value += 1


def test_processes_share_a_bucket(tmp_path):
    """A bucket for each process is the wrong alternative: four would let four times as much through."""
    calls, processes, allowed, begun = 400, 4, FORK.Value("i", 0), time.monotonic()
    made = [FORK.Process(target=_call, args=(tmp_path / "s", 300, calls, allowed)) for _ in range(processes)]
    for process in made:
        process.start()
    for process in made:
        process.join()
    refilled = (time.monotonic() - begun) * calls / WINDOW
    assert calls * (1 - processes * BATCH) <= allowed.value <= calls + refilled


def test_many_calls_need_few_transactions(tmp_path, monkeypatch):
    shared = Shared(tmp_path / "s")
    asked, take = [], shared.take
    monkeypatch.setattr(shared, "take", lambda *given: asked.append(1) or take(*given))
    buckets = Buckets(10_000, shared, "calls")
    for _ in range(5_000):
        buckets.take("a")
    assert len(asked) == 5_000 // (10_000 * BATCH)
