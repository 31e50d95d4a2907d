from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadNoiseTable
from discreet.noise.arranged_table import ArrangedRow, ArrangedTable, make_table
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy import delta

key_lists = st.lists(st.lists(st.integers(-3, 3), min_size=16, max_size=16), min_size=1, max_size=4)


@pytest.mark.slow
@given(key_lists, st.integers(0, 40), st.integers(0, 15))
@settings(max_examples=150, deadline=None)
def test_every_key_takes_the_value_that_the_file_gives_it(lists, count, key):
    rows = [ArrangedRow.of_keys(noise) for noise in lists]
    table = make_table(16, rows, repeats=len(rows), family="file", parameters={})
    found = table.noise(np.array([count]), np.array([key], dtype=np.uint64))
    assert found.tolist() == [lists[count % len(lists)][key]]


@given(key_lists)
@settings(max_examples=60, deadline=None)
def test_the_order_of_keys_changes_no_law_and_no_audit(lists):
    arranged = make_table(
        16, [ArrangedRow.of_keys(each) for each in lists], repeats=1, family="file", parameters={}
    )
    sorted_rows = [ArrangedRow.of_keys(sorted(each)) for each in lists]
    plain = make_table(16, sorted_rows, repeats=1, family="file", parameters={})
    assert type(plain) is NoiseTable
    assert plain.rows == arranged.rows
    assert delta(plain, epsilon=0.5) == delta(arranged, epsilon=0.5)


def test_keys_of_64_bits_are_searched_row_by_row():
    rows = [ArrangedRow((1, -1), (2**63, 2**64)), ArrangedRow((0, 5, 0), (1, 2**64 - 1, 2**64))]
    table = make_table(2**64, rows, repeats=1, family="file", parameters={})
    keys = np.array([2**63 - 1, 2**63, 0, 1, 2**64 - 1], dtype=np.uint64)
    assert table.noise(np.array([0, 0, 1, 2, 3]), keys).tolist() == [1, -1, 0, 5, 0]


def test_an_arranged_table_survives_pickling_and_equals_itself_only():
    rows = [ArrangedRow((1, -1), (2, 4)), ArrangedRow((0,), (4,))]
    table = make_table(4, rows, repeats=1, family="file", parameters={"file": "x"})
    assert pickle.loads(pickle.dumps(table)) == table
    assert hash(table) == hash(pickle.loads(pickle.dumps(table)))
    assert table != make_table(4, [rows[1], rows[0]], repeats=1, family="file", parameters={})


def test_an_arrangement_with_another_law_is_refused():
    with pytest.raises(BadNoiseTable, match="does not have the law"):
        ArrangedTable(4, (NoiseRow((0,), (4,)),), arranged=(ArrangedRow((1,), (4,)),))


@pytest.mark.parametrize(("values", "thresholds"), [((), ()), ((1,), (1, 2)), ((1, 0), (3, 3)), ((1,), (0,))])
def test_a_row_that_leaves_keys_undecided_is_refused(values, thresholds):
    with pytest.raises(BadNoiseTable):
        ArrangedRow(values, thresholds)
