from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.margins.closure import MarginSet
from discreet.margins.transforms import EfronSteinTransform, FourierTransform

from .conftest import character, efron_stein_vectors, margin_sets, summing_matrix


def dense(transform):
    wanted = transform.wanted
    if isinstance(transform, FourierTransform):
        return np.array([character(wanted, part) for part in wanted.closure])
    return np.vstack([efron_stein_vectors(wanted, part) for part in wanted.closure])


@settings(max_examples=25, deadline=None)
@given(margin_sets(variables=(2, 4), categories=(2, 4), cells=60), st.booleans(), st.integers(0, 99))
def test_every_operation_is_that_of_the_matrix(wanted, fourier, seed):
    if fourier:
        wanted = MarginSet(wanted.names, (2,) * len(wanted.shape), wanted.margins)
    transform = (FourierTransform if fourier else EfronSteinTransform)(wanted)
    matrix, rng = dense(transform), np.random.default_rng(seed)
    table, coefficients = rng.normal(size=wanted.shape), rng.normal(size=len(matrix))
    weight = rng.random(wanted.shape)
    assert transform.forward(table) == pytest.approx(matrix @ table.ravel(), abs=1e-10)
    assert transform.backward(coefficients).ravel() == pytest.approx(matrix.T @ coefficients, abs=1e-10)
    assert transform.weighted_gram(weight) == pytest.approx((matrix * weight.ravel()) @ matrix.T, abs=1e-10)
    start = 0
    for part in wanted.closure:
        block = transform.from_margin(part)
        rows = matrix[start : start + block.shape[0]]
        assert block @ summing_matrix(wanted, part) == pytest.approx(rows, abs=1e-10)
        start += block.shape[0]


@settings(max_examples=25, deadline=None)
@given(margin_sets(variables=(2, 4), categories=(2, 4), cells=60), st.booleans())
def test_the_described_table_has_the_coefficients_and_nothing_else(wanted, fourier):
    if fourier:
        wanted = MarginSet(wanted.names, (2,) * len(wanted.shape), wanted.margins)
    transform = (FourierTransform if fourier else EfronSteinTransform)(wanted)
    possible = transform.forward(np.random.default_rng(1).random(wanted.shape))
    described = transform.described(possible)
    assert transform.forward(described) == pytest.approx(possible, abs=1e-10)
    matrix = dense(transform)
    shortest = np.linalg.pinv(matrix) @ possible
    assert described.ravel() == pytest.approx(shortest, abs=1e-9)
