"""The lookup is the definition: the first value whose threshold exceeds the key."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadNoiseTable
from discreet.noise.table import (
    ArrangedRow,
    ArrangedTable,
    NoiseRow,
    NoiseTable,
    keep_zero,
    make_table,
    mechanism_name,
    table_for_export,
)
from discreet.privacy import delta

MODULI = [1, 2, 7, 2**8, 10**8, 2**32, 2**63, 2**64]


def slow_noise(table: NoiseTable, count: int, key: int) -> int:
    """The definition, with Python integers."""
    row = table.row(count)
    return next(v for v, t in zip(row.values, row.thresholds, strict=True) if key < t)


@st.composite
def tables(draw, moduli=MODULI, largest=20):
    modulus = draw(st.sampled_from(moduli))
    rows = []
    for _ in range(draw(st.integers(1, 6))):
        values = sorted(draw(st.sets(st.integers(-largest, largest), min_size=1, max_size=min(6, modulus))))
        size = len(values) - 1
        cuts = draw(st.sets(st.integers(1, max(1, modulus - 1)), min_size=size, max_size=size))
        rows.append(NoiseRow(tuple(values), (*sorted(cuts), modulus)))
    return NoiseTable(modulus, tuple(rows), repeats=draw(st.integers(1, len(rows))))


@pytest.mark.slow
@given(tables(), st.data())
@settings(max_examples=300)
def test_the_lookup_is_exact_for_every_modulus(table, data):
    edges = [t + d for row in table.rows for t in (0, *row.thresholds) for d in (-1, 0, 1)]
    keys = [k for k in edges if 0 <= k < table.modulus]
    keys += data.draw(st.lists(st.integers(0, table.modulus - 1), max_size=10))
    counts = data.draw(st.lists(st.integers(0, 10**7), min_size=len(keys), max_size=len(keys)))
    found = table.noise(np.array(counts, dtype=np.int64), np.array(keys, dtype=np.uint64))
    assert found.tolist() == [slow_noise(table, c, k) for c, k in zip(counts, keys, strict=True)]


@given(tables(), st.integers(0, 10**6))
def test_larger_counts_repeat_the_last_rows(table, count):
    first = len(table.rows) - table.repeats
    slow = count
    while slow >= len(table.rows):
        slow -= table.repeats
    assert table.row_index(count) == slow
    assert slow >= 0
    assert count < len(table.rows) or slow >= first


@pytest.mark.parametrize("ends", [(1, 2), (2**32 - 2, 2**32 - 1), (2**31, 2**31 + 1)])
def test_values_of_one_key_are_found_wherever_they_stand(ends):
    """Both thresholds lie in one bucket of the guide: the first, the last, or one in the middle."""
    table = NoiseTable(2**32, (NoiseRow((-1, 0, 1), (*ends, 2**32)),))
    keys = sorted({0, *(max(0, end - 1) for end in ends), *ends, 2**32 - 1})
    expected = [-1 if key < ends[0] else 0 if key < ends[1] else 1 for key in keys]
    assert table.noise(np.ones(len(keys)), np.array(keys, dtype=np.uint64)).tolist() == expected


@pytest.mark.parametrize(
    ("values", "thresholds"),
    [
        ((), ()),
        ((0,), (4, 4)),
        ((0, 1), (4, 4)),
        ((0, 1), (0, 4)),
        ((1, 0), (2, 4)),
        ((0, 0), (2, 4)),
        ((0,), (4.0,)),
        ((2**63,), (4,)),
        ((0,), (-4,)),
    ],
)
def test_a_row_with_a_gap_or_an_overlap_is_refused(values, thresholds):
    with pytest.raises(BadNoiseTable):
        NoiseRow(values, thresholds)


@pytest.mark.parametrize(
    ("modulus", "rows", "repeats"),
    [
        (8, (NoiseRow((0,), (4,)),), 1),
        (4, (), 1),
        (4, (NoiseRow((0,), (4,)),), 0),
        (4, (NoiseRow((0,), (4,)),), 2),
        (2**65, (NoiseRow((0,), (2**65,)),), 1),
    ],
)
def test_a_table_that_does_not_cover_its_keys_is_refused(modulus, rows, repeats):
    with pytest.raises(BadNoiseTable):
        NoiseTable(modulus, rows, repeats)


def test_a_key_or_count_without_a_row_is_refused():
    table = NoiseTable(4, (NoiseRow((-1, 1), (2, 4)),))
    for counts, keys in (([1], [4]), ([-1], [0]), ([1, 1], [0])):
        with pytest.raises(BadNoiseTable):
            table.noise(np.array(counts), np.array(keys, dtype=np.uint64))


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
def test_the_order_of_keys_changes_no_distribution_and_no_audit(lists):
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


def test_an_arrangement_with_another_distribution_is_refused():
    with pytest.raises(BadNoiseTable, match="does not have the law"):
        ArrangedTable(4, (NoiseRow((0,), (4,)),), arranged=(ArrangedRow((1,), (4,)),))


@pytest.mark.parametrize(("values", "thresholds"), [((), ()), ((1,), (1, 2)), ((1, 0), (3, 3)), ((1,), (0,))])
def test_a_row_that_leaves_keys_undecided_is_refused(values, thresholds):
    with pytest.raises(BadNoiseTable):
        ArrangedRow(values, thresholds)


@st.composite
def tables_kept_zero(draw):
    modulus = draw(st.sampled_from([4, 256, 2**32]))
    rows = []
    for _ in range(draw(st.integers(1, 5))):
        values = draw(st.lists(st.integers(-5, 5), min_size=1, max_size=3))
        rows.append(ArrangedRow(tuple(values), (*range(1, len(values)), modulus)))
    repeats = draw(st.integers(1, len(rows)))
    return make_table(modulus, rows, repeats=repeats, family="any", parameters={"D": 5})


@pytest.mark.slow
@given(tables_kept_zero(), st.lists(st.integers(1, 200), min_size=1, max_size=20), st.integers(0, 3))
def test_only_the_row_of_zero_changes(table, counts, key):
    kept = keep_zero(table)
    keys = np.full(len(counts), key, dtype=np.uint64)
    assert kept.noise(np.array(counts), keys).tolist() == table.noise(np.array(counts), keys).tolist()
    assert kept.keeps_zero
    assert kept.family == "any"


def test_one_row_is_written_with_a_zero_that_stays_and_noise_of_its_own_on_zero_is_not_written():
    noise = ArrangedRow((-1, 1), (2, 4))
    one = make_table(4, [noise], repeats=1, family="x", parameters={})
    assert [table_for_export(one, "ONS").row(count).values for count in (0, 1, 9)] == [(0,), (-1, 1), (-1, 1)]
    two = make_table(4, [ArrangedRow((0, 1), (2, 4)), noise], repeats=1, family="x", parameters={})
    with pytest.raises(BadNoiseTable, match="Count 0 has noise of its own; ONS never"):
        table_for_export(two, "ONS")


def test_the_scale_is_in_the_mechanism_even_where_the_integers_agree():
    rows = (NoiseRow((-1, 1), (2, 4)),)
    one, two = (NoiseTable(4, rows, family="file", parameters={"epsilon": e}) for e in (1.0, 2.0))
    assert mechanism_name(one) != mechanism_name(two)
    assert mechanism_name(one) == mechanism_name(NoiseTable(4, rows, 1, "file", {"epsilon": 1.0}))
