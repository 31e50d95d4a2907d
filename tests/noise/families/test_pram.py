from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import BadRequest, InfeasibleDesign
from discreet.noise import pram
from discreet.noise.families.pram import (
    ideal_pram,
    invariant_matrix,
    large_matrix,
    small_matrix,
    unbiased_estimate,
)

FREQUENCIES = np.array([40.0, 25, 12, 8, 6, 5, 4])


@pytest.mark.parametrize(
    "matrix", [small_matrix(), large_matrix(), small_matrix(0.7, 4), large_matrix(1.1, 3)]
)
def test_the_rows_of_a_matrix_add_up_to_one(matrix):
    assert np.allclose(matrix.sum(axis=1), 1, atol=1e-15)


def test_the_two_stage_form_keeps_the_frequencies():
    invariant = invariant_matrix(small_matrix(), FREQUENCIES)
    assert np.allclose(FREQUENCIES @ invariant, FREQUENCIES, atol=1e-12)
    assert np.allclose(invariant.sum(axis=1), 1)
    assert not np.allclose(FREQUENCIES @ small_matrix(), FREQUENCIES, atol=0.1)


def test_the_two_stage_form_allows_values_that_no_cell_has():
    empty = np.array([40.0, 0, 0, 0, 0, 0, 0])
    assert np.allclose(empty @ invariant_matrix(small_matrix(), empty), empty)


def test_the_unbiased_estimate_undoes_the_expectation():
    assert np.allclose(unbiased_estimate(FREQUENCIES @ small_matrix(), small_matrix()), FREQUENCIES)


def test_a_matrix_without_inverse_and_wrong_frequencies_are_refused():
    with pytest.raises(BadRequest, match="no usable inverse"):
        unbiased_estimate(np.ones(2), np.full((2, 2), 0.5))
    with pytest.raises(BadRequest, match="7 numbers"):
        invariant_matrix(small_matrix(), np.ones(3))


def test_small_counts_follow_the_small_matrix_and_large_ones_their_residual():
    ideal, small, large = ideal_pram(), small_matrix(), large_matrix()
    assert len(ideal.rows) == 7 + 15
    assert ideal.rows[0].values == (0,)
    row = ideal.rows[2]
    assert row.probabilities == pytest.approx([small[2, 2 + v] for v in row.values])
    for count in (7, 14, 15, 21):
        row, residual = ideal.rows[count], count % 15
        assert row.probabilities == pytest.approx([large[residual, residual - v] for v in row.values])
    invariant = ideal_pram(sign="invariant").rows[15]
    assert invariant.probabilities == pytest.approx([large[0, v] for v in invariant.values])


def test_rows_repeat_every_fifteen_counts_and_no_count_becomes_negative():
    table = pram()
    assert table.row(22) is table.row(7)
    assert table.row(31) is table.row(16)
    assert all(count + table.row(count).values[0] >= 0 for count in range(60))


@pytest.mark.parametrize(
    ("wish", "error", "reason"),
    [
        ({"sign": "print"}, BadRequest, "printed"),
        ({"m": 1}, InfeasibleDesign, "between 2"),
        ({"epsilon": 0}, InfeasibleDesign, "above 0"),
    ],
)
def test_wishes_without_a_table_are_refused(wish, error, reason):
    with pytest.raises(error, match=reason):
        pram(**wish)
