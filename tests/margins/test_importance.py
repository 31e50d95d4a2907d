from __future__ import annotations

import pytest

from discreet.errors import BadRequest
from discreet.margins.closure import MarginSet
from discreet.margins.importance import margin_weights, overall_error
from discreet.margins.independent import independent

WANTED = MarginSet(("A", "B", "C"), (2, 3, 5), ((0, 1), (1, 2)))


def test_cells_tables_and_own_numbers_give_weights_that_add_up_to_one():
    assert margin_weights(WANTED, "cells").tolist() == [6 / 21, 15 / 21]
    assert margin_weights(WANTED, "tables").tolist() == [0.5, 0.5]
    assert margin_weights(WANTED, {(0, 1): 1, (1, 2): 4}).tolist() == [0.2, 0.8]


@pytest.mark.parametrize(
    "weights", ["rows", {(0, 1): 1.0}, {(0, 1): 1.0, (1, 2): 0.0}, {(0, 1): 1.0, (1, 2): -1.0}]
)
def test_weights_that_mean_nothing_are_refused(weights):
    with pytest.raises(BadRequest):
        margin_weights(WANTED, weights)


def test_equal_errors_have_that_error_overall():
    plan = independent(WANTED, 1.0)
    assert overall_error(plan, "tables") == pytest.approx(plan.expected_error((0, 1)))
