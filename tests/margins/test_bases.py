import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.margins import bases
from discreet.margins.margin_set import MarginSet, margin_table, margin_tables

from .conftest import character, efron_stein_vectors, margin_sets, random_counts, summing_matrix, transform_of


def dense(transform):
    wanted = transform.wanted
    if isinstance(transform, bases.FourierTransform):
        return np.array([character(wanted, part) for part in wanted.closure])
    return np.vstack([efron_stein_vectors(wanted, part) for part in wanted.closure])


@settings(max_examples=25, deadline=None)
@given(margin_sets(variables=(2, 4), categories=(2, 4), cells=60), st.booleans(), st.integers(0, 99))
def test_every_operation_is_that_of_the_matrix(wanted, fourier, seed):
    transform = transform_of(wanted, fourier)
    wanted = transform.wanted
    matrix, rng = dense(transform), np.random.default_rng(seed)
    table, coefficients = rng.normal(size=wanted.shape), rng.normal(size=len(matrix))
    weight = rng.random(wanted.shape)
    assert transform.forward(table) == pytest.approx(matrix @ table.ravel(), abs=1e-10)
    assert transform.backward(coefficients).ravel() == pytest.approx(matrix.T @ coefficients, abs=1e-10)
    assert transform.gram_matrix(weight) == pytest.approx((matrix * weight.ravel()) @ matrix.T, abs=1e-10)
    start = 0
    for part in wanted.closure:
        block = transform.from_margin(part)
        rows = matrix[start : start + block.shape[0]]
        assert block @ summing_matrix(wanted, part) == pytest.approx(rows, abs=1e-10)
        start += block.shape[0]


@settings(max_examples=25, deadline=None)
@given(margin_sets(variables=(2, 4), categories=(2, 4), cells=60), st.booleans())
def test_the_described_table_has_the_coefficients_and_nothing_else(wanted, fourier):
    transform = transform_of(wanted, fourier)
    possible = transform.forward(np.random.default_rng(1).random(transform.wanted.shape))
    described = transform.table_of(possible)
    assert transform.forward(described) == pytest.approx(possible, abs=1e-10)
    matrix = dense(transform)
    shortest = np.linalg.pinv(matrix) @ possible
    assert described.ravel() == pytest.approx(shortest, abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(margin_sets(variables=(2, 5), categories=(2, 5), cells=60))
def test_coefficients_are_the_conditional_expectations_of_equation_five_and_give_margins_back(wanted):
    counts = random_counts(wanted)
    fast = bases.efron_stein_coefficients(margin_tables(counts, wanted), wanted)
    for margin in wanted.margins:
        back = bases.margin_from_efron_stein(fast, wanted, margin)
        assert back == pytest.approx(margin_table(counts, margin).astype(float), abs=1e-9)
    for part in wanted.closure:
        slow = efron_stein_vectors(wanted, part) @ counts.ravel()
        assert fast[part].ravel() / wanted.table_cells == pytest.approx(slow, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(margin_sets(variables=(2, 5), categories=(2, 2)))
def test_coefficients_are_scalar_products_with_the_characters_and_give_margins_back(wanted):
    counts = random_counts(wanted)
    fast = bases.fourier_coefficients(margin_tables(counts, wanted), wanted)
    for margin in wanted.margins:
        assert np.array_equal(bases.margin_from_fourier(fast, margin), margin_table(counts, margin))
    for part in wanted.closure:
        slow = character(wanted, part) @ counts.ravel()
        assert fast[part] / math.sqrt(wanted.table_cells) == pytest.approx(slow, abs=1e-9)


def test_a_table_with_three_categories_has_no_fourier_basis():
    wanted = MarginSet(("A", "B"), (2, 3), ((0, 1),))
    with pytest.raises(BadRequest, match="efron-stein"):
        bases.fourier_coefficients({(0, 1): np.ones((2, 3), dtype=np.int64)}, wanted)
