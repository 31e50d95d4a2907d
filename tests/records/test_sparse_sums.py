"""Groups that occur several times: both ways to add them up give what a dictionary gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.records import sparse_sums
from discreet.records.engine import SparseCells
from discreet.records.sparse_sums import added_up, places_of


def rows(seed, size, lengths):
    random = np.random.RandomState(seed)
    codes = tuple(random.randint(0, length, size).astype(np.uint16) for length in lengths)
    keys = random.randint(2**31, 2**32, size).astype(np.uint64) << np.uint64(20)
    return SparseCells(
        codes, random.randint(1, 9, size), keys, random.randint(0, 10**15, size), (np.arange(size),)
    )


def slowly(cells):
    found = {}
    for row, group in enumerate(zip(*(codes.tolist() for codes in cells.codes), strict=True)):
        before = found.get(group, (0, 0, 0, 0))
        numbers = (cells.counts[row], cells.key_sums[row], cells.weight_sums[row], cells.sums[0][row])
        found[group] = tuple(a + int(b) for a, b in zip(before, numbers, strict=True))
    return found


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(0, 60),
    st.sampled_from([(2, 3), (5,), (60_000, 60_000, 60_000, 60_000)]),
)
@pytest.mark.parametrize("dense", [0, 2**16])
def test_sums_are_those_of_a_dictionary(dense, seed, size, lengths):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_sums, "DENSE", dense)
        cells = rows(seed, size, lengths)
        expected, found = slowly(cells), added_up(cells, lengths)
    assert found.counts.size == len(expected)
    assert slowly(found) == expected


def test_places_beyond_64_bits_are_still_told_apart():
    """The wrong alternative: to let the place of a row wrap round, so that two groups share one."""
    codes = (np.array([0, 2**8, 0]), *(np.zeros(3, dtype=np.int64),) * 2)
    lengths = (2**32, 2**32, 2**24)
    places = places_of(codes, lengths)
    assert places[0] == places[2] != places[1]
    wrong = (codes[0] * 2**56).astype(np.int64)
    assert wrong[0] == wrong[1]


def test_groups_of_no_variable_are_one_group():
    """The total of a cube: its rows are all the same group, not one row that is asked of each."""
    ones = np.ones(5, dtype=np.int64)
    found = added_up(SparseCells((), ones, ones.astype(np.uint64), None, ()), ())
    assert (found.counts.tolist(), found.key_sums.tolist()) == ([5], [5])
