from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BadDescription, BadOption
from discreet.model.survey import FORMS as DECLARED
from discreet.model.survey import OPEN_FORMS
from discreet.survey.weight_forms import FORMS, SurveyDesign, cautions, relative_variance, weight_form


def test_kish_design_effect_is_one_plus_the_relative_variance():
    # Weights 1, 1, 4: mean 2, variance 2, relative variance 1/2.
    variance = relative_variance(np.array([1, 1, 4]))
    assert variance == Fraction(1, 2)
    assert SurveyDesign(3, 6, 0, 4, variance).design_effect == Fraction(3, 2)


def test_equal_weights_do_not_vary():
    assert relative_variance(np.full(7, 12_345)) == 0


def test_the_sampling_fraction_is_never_above_one():
    assert SurveyDesign(10, 5, 0, 1).sampling_fraction == 1
    assert SurveyDesign(10, 40, 0, 9).sampling_fraction == Fraction(1, 4)


@pytest.mark.parametrize(
    "wrong", [(0, 1, 0, 1), (1, 1, 10, 1), (10, 101, 0, 10), (10, 0, 0, 10), (10, 40, 0, 9, Fraction(-1))]
)
def test_a_design_that_contradicts_itself_is_refused(wrong):
    with pytest.raises(BadDescription):
        SurveyDesign(*wrong)


def design(variance: Fraction) -> SurveyDesign:
    return SurveyDesign(1500, 10_000_000_000, 4, 30_000_000, variance)


def test_every_form_that_can_be_declared_says_what_it_promises_and_no_other_does():
    assert tuple(FORMS) == DECLARED
    assert not set(FORMS) & set(OPEN_FORMS)


@pytest.mark.parametrize("name", ["average-weight", "public-strata"])
def test_forms_of_noisy_counts_say_that_they_promise_what_these_do(name):
    assert "post-processing of noisy counts, with the promise of these" in weight_form(name).promise


def test_the_other_forms_say_what_one_person_changes():
    assert "2N/n for a table" in weight_form("invariant").promise
    assert "one step at most" in weight_form("largest-weight").promise
    assert "tells no counts of records" in weight_form("largest-weight").promise


def test_varying_weights_call_for_caution_where_the_overall_average_is_used():
    assert not cautions(weight_form("average-weight"), design(Fraction(1, 10)))
    warned = cautions(weight_form("average-weight"), design(Fraction(11, 100)))
    assert len(warned) == 1
    assert "11.0 %, above 10 %" in warned[0]
    assert cautions(weight_form("invariant"), design(Fraction(1, 2)))
    assert not cautions(weight_form("public-strata"), design(Fraction(1, 2)))


def test_an_unknown_form_is_refused_with_the_nearest():
    with pytest.raises(BadOption, match='Did you mean "average-weight"'):
        weight_form("average-weights")
