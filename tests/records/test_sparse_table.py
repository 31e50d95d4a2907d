"""The blocks of a wide table: every cell in which somebody is, once, with the sums of the dense way.

Groups that occur several times: both ways to add them up give what a dictionary gives.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import canonical, request_from_text
from discreet.model.shape import table_shape
from discreet.records import sparse_table as sparse_sums
from discreet.records import sparse_table as wide
from discreet.records.engine import SparseCells
from discreet.records.sparse_table import flat_positions, sum_groups, wide_blocks
from discreet.records.tabulate import tabulate

REQUESTS = {
    "totals": {"rows": ["area", "sex", "age", "job"]},
    "none": {"rows": ["area", "job"], "totals": False},
    "levels": {"rows": ["area", "age"], "levels": ["area=region,area"]},
    "people in no group": {"rows": ["job", "sex"], "groups": ["job=1+2"]},
    "filters": {"rows": ["area", "age"], "filters": ["age=adult", "region=S", "sex=2"]},
}


@pytest.mark.parametrize("at_once", [wide.AT_ONCE, 40, 1])
@pytest.mark.parametrize("name", REQUESTS)
def test_blocks_hold_the_cells_of_the_dense_table(town, town_workspace, monkeypatch, name, at_once):
    monkeypatch.setattr(wide, "AT_ONCE", at_once)
    dataset = parse_dataset(town.description)
    shape = table_shape(canonical(request_from_text("town", **REQUESTS[name]), dataset), dataset)
    exact = tabulate(town_workspace.stored("town").engine, shape)
    counts, keys = np.zeros(shape.cells, dtype=np.int64), np.zeros(shape.cells, dtype=np.uint64)
    blocks = list(wide_blocks(town_workspace.stored("town").engine, shape))
    for block in blocks:
        places = block.codes[0]
        assert (np.diff(places) > 0).all(), "ascending, each once"
        assert not counts[places].any(), "no cell is in two blocks"
        counts[places], keys[places] = block.counts, block.key_sums
    assert (counts.reshape(shape.lengths) == exact.counts).all()
    assert (keys.reshape(shape.lengths) == exact.key_sums).all()


def test_one_aggregate_is_enough(town, town_workspace, monkeypatch):
    """The wrong alternative: to ask the engine for each of the 16 blocks."""
    dataset, engine = parse_dataset(town.description), town_workspace.stored("town").engine
    shape = table_shape(canonical(request_from_text("town", **REQUESTS["totals"]), dataset), dataset)
    asked, aggregate = [], engine.aggregate
    monkeypatch.setattr(engine, "aggregate", lambda query: asked.append(query) or aggregate(query))
    assert len(list(wide_blocks(engine, shape))) == 16
    assert len(asked) == 2, "how many records there are, and the groups"
    monkeypatch.setattr(wide, "AT_ONCE", 40)
    sizes = []
    monkeypatch.setattr(engine, "aggregate", lambda query: sizes.append(aggregate(query)) or sizes[-1])
    list(wide_blocks(engine, shape))
    assert max(cells.counts.size for cells in sizes) <= 40, "no more groups at once than may be"


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
        expected, found = slowly(cells), sum_groups(cells, lengths)
    assert found.counts.size == len(expected)
    assert slowly(found) == expected


def test_places_beyond_64_bits_are_still_told_apart():
    """The wrong alternative: to let the place of a row wrap round, so that two groups share one."""
    codes = (np.array([0, 2**8, 0]), *(np.zeros(3, dtype=np.int64),) * 2)
    lengths = (2**32, 2**32, 2**24)
    places = flat_positions(codes, lengths)
    assert places[0] == places[2] != places[1]
    wrong = (codes[0] * 2**56).astype(np.int64)
    assert wrong[0] == wrong[1]


def test_groups_of_no_variable_are_one_group():
    """The total of a cube: its rows are all the same group, not one row that is asked of each."""
    ones = np.ones(5, dtype=np.int64)
    found = sum_groups(SparseCells((), ones, ones.astype(np.uint64), None, ()), ())
    assert (found.counts.tolist(), found.key_sums.tolist()) == ([5], [5])
