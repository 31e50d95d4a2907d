from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from discreet.margins.covariance import Covariance, variance_shares

from .conftest import efron_stein_vectors, margin_sets, summing_matrix


@settings(max_examples=20, deadline=None)
@given(margin_sets(variables=(2, 3), categories=(2, 4), cells=40))
def test_covariances_are_those_of_independent_centred_parts(wanted):
    """Dense: part S is a table of variance σ² of centred white noise; margins add the parts up."""
    sigma2 = {part: 1.0 + i for i, part in enumerate(wanted.closure)}
    dense = np.zeros((wanted.table_cells, wanted.table_cells))
    for part in wanted.closure:
        rows = efron_stein_vectors(wanted, part)
        projection = summing_matrix(wanted, part).T @ rows  # the component f^S of a table, as a table
        dense += sigma2[part] * projection @ projection.T / (wanted.table_cells / wanted.cells(part))
    covariance = Covariance(wanted, sigma2)
    for row, margin in enumerate(wanted.margins):
        adding = summing_matrix(wanted, margin)
        expected = adding @ dense @ adding.T
        assert covariance.of_cell(margin) == pytest.approx(expected[0, 0], rel=1e-9)
        assert variance_shares(wanted)[row] @ list(sigma2.values()) == pytest.approx(expected[0, 0], rel=1e-9)
        last = tuple(k - 1 for k in wanted.margin_shape(margin))
        first = (0,) * len(margin)
        assert covariance.between(margin, first, margin, last) == pytest.approx(expected[0, -1], abs=1e-9)
