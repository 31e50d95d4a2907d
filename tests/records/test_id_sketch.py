"""A sketch of ids: exact where it is whole, near with a stated error where not, and nothing without the secret."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from discreet.records import id_sketch
from discreet.records.id_sketch import (
    FEWEST_STORED,
    MISS,
    IdSketch,
    Overlap,
    open_sketch,
    overlap,
    sealed_sketch,
)
from discreet.records.secret import Secret

SECRET, OTHER = Secret(bytes(range(32))), Secret(bytes(range(1, 33)))
#: The most that a test of many draws fails although all is as it is said.
FALSE_ALARM = 1e-4
DIGEST = "0" * 32


def hashes(names):
    found = b"".join(hashlib.sha256(str(name).encode()).digest()[:16] for name in names)
    return np.frombuffer(found, dtype=np.uint8).reshape(-1, 16)


def sketch(names, secret=SECRET):
    made = IdSketch(secret)
    blocks = hashes(names)
    for start in range(0, len(blocks), 700):  # chunks as of a load
        made.add(blocks[start : start + 700])
    return made.values


@pytest.fixture
def small(monkeypatch):
    """Sketches of 256 values, so that few ids are many."""
    monkeypatch.setattr(id_sketch, "MOST", 256)


def test_whole_sketches_give_the_exact_share_and_order_and_repeats_change_nothing():
    found = overlap(sketch(range(100, 300)), sketch([*range(150, 400), *range(150, 200)]))
    assert found == Overlap(150, 200, whole=True)
    assert found.interval == (0.75, 0.75)
    assert np.array_equal(sketch(range(50)), sketch([*reversed(range(50)), 3, 3]))
    assert overlap(sketch(range(10)), sketch(range(10, 20))).matched == 0


def test_a_cut_sketch_is_the_smallest_of_all_keyed_hashes(small):
    """The slow way: hash everything, sort, cut."""
    everything = IdSketch(SECRET)
    for name in range(2000):
        everything.add(hashes([name]))
    assert np.array_equal(everything.values, sketch(range(2000)))
    assert everything.values.size == 256


@pytest.mark.slow
def test_the_interval_holds_as_often_as_it_says(small):
    """Half of the ids are in a file of three times as many. Wrong alternative: the plain share without an interval."""
    missed = exact = 0
    for draw in range(200):
        secret = Secret(hashlib.sha256(b"%d" % draw).digest())
        found = overlap(sketch(range(1000), secret), sketch(range(500, 3500), secret))
        low, high = found.interval
        missed += not low <= 0.5 <= high
        exact += found.share == 0.5
    assert missed <= binom.isf(FALSE_ALARM, 200, MISS)
    assert exact < 100


@pytest.mark.slow
def test_a_small_file_within_a_large_one_is_missed_as_often_as_is_said(small):
    """(1 - 256/8000)^n for n people among 8,000: 0.27 for 40. Wrong alternative: half as many values, 0.53."""
    missed = 0
    for draw in range(200):
        secret = Secret(hashlib.sha256(b"small %d" % draw).digest())
        missed += overlap(sketch(range(40), secret), sketch(range(8000), secret)).matched == 0
    said, wrong = (binom(200, (1 - size / 8000) ** 40) for size in (256, 128))
    assert said.ppf(FALSE_ALARM / 2) <= missed <= said.isf(FALSE_ALARM / 2)
    assert missed < wrong.ppf(FALSE_ALARM)


def test_the_figure_of_the_page_is_the_formula():
    text = (Path(__file__).parents[2] / "docs" / "methods" / "ledger.md").read_text("utf-8")
    missed = (1 - id_sketch.MOST / 10_000_000) ** 1000
    assert f"(1 − 65,536/N)^n: {missed:.4f} for 1,000 among ten million" in text


def test_other_secrets_cannot_be_compared():
    """The same people in two workspaces: nothing of one sketch is in the other."""
    assert overlap(sketch(range(1000)), sketch(range(1000), OTHER)).matched == 0
    sealed = sealed_sketch(sketch(range(1000)), SECRET, DIGEST)
    assert open_sketch(sealed, OTHER, DIGEST) is None
    assert open_sketch(sealed, SECRET, "1" * 32) is None
    assert open_sketch(sealed[:-1] + b"x", SECRET, DIGEST) is None
    assert np.array_equal(open_sketch(sealed, SECRET, DIGEST), sketch(range(1000)))


def test_who_steals_a_sketch_learns_nothing_but_its_length():
    """Wrong alternative: unkeyed hashes, with which everybody can ask whether an id is there."""
    ids = hashes(range(900))
    unkeyed = np.sort(ids[:, :8].copy().view("<u8").ravel()).tobytes()
    guess = hashes([17])[0, :8].tobytes()
    assert guess in unkeyed
    sealed = sealed_sketch(sketch(range(900)), SECRET, DIGEST)
    assert guess not in sealed
    assert sketch([17]).tobytes() not in sealed
    one = sealed_sketch(sketch([1]), SECRET, DIGEST)
    assert len(one) == len(sealed) == 32 + 8 * (FEWEST_STORED + 1)
    assert abs(np.unpackbits(np.frombuffer(one[32:], dtype=np.uint8)).mean() - 0.5) < 0.01  # random bits
