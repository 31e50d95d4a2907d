"""Errors of cells from the variances of residuals: those of a table of one variable, by hand."""

import math

import numpy as np
import pytest

from discreet.margins.chain import Chain
from discreet.margins.residual_space import ResidualSpace
from discreet.protect.joint_errors import JointErrors


def test_one_variable_of_four_categories():
    """A cell is a quarter of the total plus its residual, which is centred: v0 / 16 + v1 (1 - 1/4)."""
    space = ResidualSpace((Chain((np.zeros(4, dtype=np.int64),)),), ((0,), (1,)), "add-remove")
    errors = JointErrors((("a",),), space, (16.0, 4.0))
    assert errors.of_cells(("a",)) == [(pytest.approx(16 / 16 + 4 * 3 / 4), 4)]
    assert errors.of_cells(()) == [(16.0, 1)]
    assert errors.expected_error(()) == pytest.approx(math.sqrt(2 / math.pi) * 4)
    assert errors.standard_deviation(("a",)) == pytest.approx(2)
    assert errors.most_exact(()) == pytest.approx(math.erf(0.5 / math.sqrt(32)))
