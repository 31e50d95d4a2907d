"""Printed errors are rounded up to public steps and need no exact count."""

import inspect
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from discreet.model.release import ERROR_STEPS, SHARE_STEPS
from discreet.survey import sampling_error
from discreet.survey.sampling_error import kish_effects, relative_errors, unreliable
from discreet.survey.weight_forms import SurveyDesign

DESIGN = SurveyDesign(1500, 10_000_000_000, 4, 30_000_000, Fraction(1, 5))


def printed(noisy, values, effect=1.2, variance=3 * 667.0**2):
    noisy, values = np.array(noisy), np.array(values)
    return relative_errors(noisy, values, np.full(noisy.shape, effect), np.full(noisy.shape, variance))


@pytest.mark.parametrize("count", [1, 7, 20, 100, 1499, 10**6])
def test_errors_are_rounded_up_to_the_next_rung_of_the_public_ladder(count):
    exact, share = 1000 * sqrt(1.2 / count + 3 / count**2), 3000 / count**2 / (1.2 / count + 3 / count**2)
    found = printed([count], [667 * count])
    assert found.errors[0] == min(rung for rung in ERROR_STEPS if rung >= exact)
    assert found.noise_shares[0] == min(rung for rung in SHARE_STEPS if rung >= share)


def test_a_value_on_a_rung_stays_on_it_and_none_has_an_error_beyond_the_ladder_or_at_zero():
    """1/16 is 25 % exactly; a hair more is 30 %."""
    assert printed([16, 16], [100, 100], effect=1.0, variance=0.0).errors.tolist() == [250, 250]
    assert printed([16], [100], effect=1.0001, variance=0.0).errors.tolist() == [300]
    assert printed([50], [50], variance=0.0).noise_shares.tolist() == [0]
    assert printed([50], [50], effect=0.0, variance=3.0).noise_shares.tolist() == [1000]
    found = printed([[0, -3], [5, 1]], [[10, 10], [-4, 1]])
    assert found.errors.tolist() == found.noise_shares.tolist() == [[-1, -1], [-1, -1]]


def test_printed_errors_decide_which_cells_are_unreliable():
    errors = np.array([[-1, 250], [300, 10]])
    assert unreliable(errors, Fraction(1, 4)).tolist() == [[True, False], [True, False]]
    assert unreliable(errors, Fraction(1, 200)).all()


def test_declared_constants_give_kishs_effect_of_a_proportion():
    found = kish_effects(np.array([0, 750, 1500, 9999]), DESIGN)
    assert found == pytest.approx([1.2 * 0.9985, 0.6 * 0.9985, 0, 0])


def test_nothing_here_can_be_given_an_exact_count():
    allowed = {"noisy", "values", "effects", "noise_variance", "design", "limit", "errors", "ladder"}
    for function in vars(sampling_error).values():
        if inspect.isfunction(function) and function.__module__ == sampling_error.__name__:
            assert set(inspect.signature(function).parameters) <= allowed
