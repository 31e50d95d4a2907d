from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.margins.closure import MarginSet, margin_table, margin_tables
from discreet.margins.fourier import fourier_coefficients, margin_from_fourier, walsh_hadamard

from .conftest import character, margin_sets, random_counts

binary_sets = margin_sets(variables=(2, 5), categories=(2, 2))


@settings(max_examples=40, deadline=None)
@given(binary_sets)
def test_coefficients_are_scalar_products_with_the_characters(wanted):
    counts = random_counts(wanted)
    fast = fourier_coefficients(margin_tables(counts, wanted), wanted)
    for part in wanted.closure:
        slow = character(wanted, part) @ counts.ravel()
        assert fast[part] / math.sqrt(wanted.table_cells) == pytest.approx(slow, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(binary_sets)
def test_margins_come_back_from_their_coefficients(wanted):
    counts = random_counts(wanted)
    coefficients = fourier_coefficients(margin_tables(counts, wanted), wanted)
    for margin in wanted.margins:
        assert np.array_equal(margin_from_fourier(coefficients, margin), margin_table(counts, margin))


@given(st.integers(1, 6))
def test_transforming_twice_gives_the_size_times_the_table(variables):
    table = np.random.default_rng(variables).integers(0, 100, (2,) * variables)
    assert np.array_equal(walsh_hadamard(walsh_hadamard(table)), 2**variables * table)


def test_two_to_the_sixteen_cells_are_transformed_without_a_matrix():
    table = np.random.default_rng(0).poisson(1.0, (2,) * 16)
    spectrum = walsh_hadamard(table)
    assert spectrum[(0,) * 16] == table.sum()
    first = (1, *(0,) * 15)
    assert spectrum[first] == table[0].sum() - table[1].sum()


def test_a_table_with_three_categories_has_no_fourier_basis():
    wanted = MarginSet(("A", "B"), (2, 3), ((0, 1),))
    with pytest.raises(BadRequest, match="efron-stein"):
        fourier_coefficients({(0, 1): np.ones((2, 3), dtype=np.int64)}, wanted)
