"""Fingerprints are independent of order; a sketch of ids is exact if complete, and near with a stated error otherwise."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from discreet.records import fingerprint as id_sketch
from discreet.records.fingerprint import (
    FEWEST_STORED,
    MISS,
    Fingerprint,
    IdSketch,
    Overlap,
    number_records,
    open_sketch,
    overlap,
    seal_sketch,
)
from discreet.records.keys import Secret

SECRET = Secret(bytes(range(100, 132)))


def records(count: int, seed: int):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (count, 16)).astype(np.uint8), [
        rng.integers(0, 5, count).astype(np.uint8),
        rng.integers(0, 500, count).astype(np.uint16),
        rng.integers(-9, 9, count),
    ]


def digest_of(hashes, columns, chunks=1, description="text", secret=SECRET, lineage="town"):
    fingerprint = Fingerprint(secret, lineage)
    for part in np.array_split(np.arange(len(hashes)), chunks):
        fingerprint.add(hashes[part], [column[part] for column in columns])
    return fingerprint.digest(description)


@given(st.integers(1, 60), st.integers(0, 10**6), st.integers(1, 7))
def test_order_and_chunks_change_nothing(count, seed, chunks):
    hashes, columns = records(count, seed)
    order = np.random.default_rng(seed + 1).permutation(count)
    shuffled = digest_of(hashes[order], [column[order] for column in columns], chunks=chunks)
    assert shuffled == digest_of(hashes, columns)


def test_every_part_of_every_record_the_description_the_lineage_and_the_secret_count():
    """A value that moves from one record to another changes the digest, too."""
    hashes, columns = records(30, 3)
    seen = {digest_of(hashes, columns)}
    for place in range(len(columns)):
        changed = [column.copy() for column in columns]
        changed[place][7] += 1
        seen.add(digest_of(hashes, changed))
    swapped, other = [column.copy() for column in columns], hashes.copy()
    swapped[1][[0, 1]] = swapped[1][[1, 0]]
    assert swapped[1].tolist() != columns[1].tolist()
    other[7, 15] ^= 1
    seen |= {digest_of(hashes, swapped), digest_of(other, columns)}
    seen.add(digest_of(hashes[:-1], [column[:-1] for column in columns]))
    seen.add(digest_of(np.vstack([hashes, hashes[:1]]), [np.append(column, column[0]) for column in columns]))
    for changes in ({"description": "other"}, {"lineage": "other"}, {"secret": Secret(bytes(range(32)))}):
        seen.add(digest_of(hashes, columns, **changes))
    assert len(seen) == 11


def test_the_records_alone_have_a_fingerprint_of_their_own():
    """The same in any order, another for other records, and never a version's name."""
    hashes, columns = records(40, 9)
    found = []
    for order in (np.arange(40), np.arange(40)[::-1], np.arange(39)):
        fingerprint = Fingerprint(SECRET, "town")
        fingerprint.add(hashes[order], [column[order] for column in columns])
        found.append(fingerprint.of_records("codes"))
        assert found[-1] not in {fingerprint.digest(""), fingerprint.digest("codes")}
        assert found[-1] != fingerprint.of_records("other codes")
    assert found[0] == found[1] != found[2]


OTHER = Secret(bytes(range(1, 33)))
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


@pytest.mark.parametrize("text", ["{}", "{:0{}}", "{}.0"])
@pytest.mark.parametrize("first", [0, 1])
def test_ids_that_only_number_the_records_are_found_also_in_a_cut_sketch(first, text, small):
    for many in (200, 1500, 3000):
        ids = sketch(text.format(number, len(str(many))) for number in reversed(range(first, first + many)))
        assert number_records(ids, many, SECRET)
        # Wrong: of a complete one n is known.
        assert not number_records(ids, 4 * many, SECRET) or many == 200


@pytest.mark.parametrize("ids", [range(2, 202), range(1000, 4000), [*range(199), 5000], range(0, 6000, 2)])
def test_other_numbers_are_ids(ids, small):
    assert not number_records(sketch(ids), len(ids), SECRET)


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
    sealed = seal_sketch(sketch(range(1000)), SECRET, DIGEST)
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
    sealed = seal_sketch(sketch(range(900)), SECRET, DIGEST)
    assert guess not in sealed
    assert sketch([17]).tobytes() not in sealed
    one = seal_sketch(sketch([1]), SECRET, DIGEST)
    assert len(one) == len(sealed) == 32 + 8 * (FEWEST_STORED + 1)
    assert abs(np.unpackbits(np.frombuffer(one[32:], dtype=np.uint8)).mean() - 0.5) < 0.01  # random bits
