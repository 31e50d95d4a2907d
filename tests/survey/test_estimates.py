"""Totals, ratios and differences of a small sample by hand; R survey checks them in tests/answer/test_design_errors.py."""

from math import sqrt

import numpy as np
import pytest

from discreet.model.sampling_design import SamplingDesign, sampling_design
from discreet.model.shape import Dimension, Output, TableShape
from discreet.records.sampled_rows import SampledRows
from discreet.survey.estimates import Sample

#: Six people in three clusters; the first variable has a and b.
WEIGHTS = np.array([3, 5, 2, 4, 6, 1])
CODES = np.array([0, 1, 0, 0, 1, 1])
CLUSTERS = np.array([0, 0, 1, 1, 2, 2])


def sample(design, clusters=None, replicates=()):
    outputs = (Output("a", "", (0,)), Output("b", "", (1,)))
    shape = TableShape((Dimension("x", "x", outputs, (0, 1), ("a", "b"), total=True),), ())
    none = np.zeros(6, dtype=np.int64)
    unit = none if clusters is None else clusters
    squares = None if clusters is not None else WEIGHTS.astype(float) ** 2
    units = np.array([6 if clusters is None else 3])
    return Sample(SampledRows(shape, (CODES,), none, unit, WEIGHTS, squares, replicates, units, 1), design)


def spread(scores):
    return sqrt(len(scores) / (len(scores) - 1) * sum((z - sum(scores) / len(scores)) ** 2 for z in scores))


def test_people_drawn_by_themselves():
    drawn = sample(SamplingDesign())
    total = drawn.total(0)
    assert total.value == 9
    assert drawn.standard_error(total) == pytest.approx(spread([3, 0, 2, 4, 0, 0]))


def test_a_ratio_is_linearised():
    drawn = sample(SamplingDesign(None, "c"), CLUSTERS)
    share = drawn.total(0) / drawn.total(2)
    ratio = 9 / 21
    scores = [(3 - ratio * 8) / 21, (6 - ratio * 6) / 21, (0 - ratio * 7) / 21]
    assert share.value == pytest.approx(ratio)
    assert drawn.standard_error(share) == pytest.approx(spread(scores))


def test_a_difference_is_not_the_difference_of_two_strangers():
    """The wrong alternative adds the variances as if both totals came from two samples."""
    drawn = sample(SamplingDesign(None, "c"), CLUSTERS)
    first, second = drawn.total(0), drawn.total(1)
    error = drawn.standard_error(first - second)
    assert error == pytest.approx(spread([3 - 5, 6, -7]))
    assert error > 1.1 * sqrt(drawn.standard_error(first) ** 2 + drawn.standard_error(second) ** 2)


def test_ratios_by_replicates_are_made_again_with_each_weight():
    design = sampling_design({"replicates": "r1..r2", "method": "brr"})
    columns = (2 * WEIGHTS * (CLUSTERS < 2), 2 * WEIGHTS * (CLUSTERS > 0))
    drawn = sample(design, replicates=columns)
    share = drawn.total(0) / drawn.total(2)
    by_hand = [18 / 28, 12 / 26]
    assert share.replicates.tolist() == pytest.approx(by_hand)
    assert drawn.standard_error(share) == pytest.approx(sqrt(sum((r - 9 / 21) ** 2 for r in by_hand) / 2))


def test_estimates_are_not_shown():
    assert "9" not in repr(sample(SamplingDesign()).total(0))
