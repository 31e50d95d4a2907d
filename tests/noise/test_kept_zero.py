import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadNoiseTable
from discreet.noise.arranged_table import ArrangedRow, make_table
from discreet.noise.kept_zero import as_programs_use_it, with_kept_zero


@st.composite
def tables(draw):
    modulus = draw(st.sampled_from([4, 256, 2**32]))
    rows = []
    for _ in range(draw(st.integers(1, 5))):
        values = draw(st.lists(st.integers(-5, 5), min_size=1, max_size=3))
        rows.append(ArrangedRow(tuple(values), (*range(1, len(values)), modulus)))
    repeats = draw(st.integers(1, len(rows)))
    return make_table(modulus, rows, repeats=repeats, family="any", parameters={"D": 5})


@pytest.mark.slow
@given(tables(), st.lists(st.integers(1, 200), min_size=1, max_size=20), st.integers(0, 3))
def test_only_the_row_of_zero_changes(table, counts, key):
    kept = with_kept_zero(table)
    keys = np.full(len(counts), key, dtype=np.uint64)
    assert kept.noise(np.array(counts), keys).tolist() == table.noise(np.array(counts), keys).tolist()
    assert kept.keeps_zero
    assert kept.family == "any"


def test_a_table_that_keeps_zero_is_left_as_it_is():
    table = make_table(
        4, [ArrangedRow((0,), (4,)), ArrangedRow((1, -1), (2, 4))], repeats=1, family="x", parameters={}
    )
    assert with_kept_zero(table) is table


def test_one_row_is_written_with_a_zero_that_stays_and_noise_of_its_own_on_zero_is_not_written():
    noise = ArrangedRow((-1, 1), (2, 4))
    one = make_table(4, [noise], repeats=1, family="x", parameters={})
    assert [as_programs_use_it(one, "ONS").row(count).values for count in (0, 1, 9)] == [
        (0,),
        (-1, 1),
        (-1, 1),
    ]
    two = make_table(4, [ArrangedRow((0, 1), (2, 4)), noise], repeats=1, family="x", parameters={})
    with pytest.raises(BadNoiseTable, match="Count 0 has noise of its own; ONS never"):
        as_programs_use_it(two, "ONS")
