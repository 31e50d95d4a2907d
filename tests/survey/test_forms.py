from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.errors import BadOption
from discreet.model.survey import FORMS as DECLARED
from discreet.model.survey import OPEN_FORMS
from discreet.survey.design import SurveyDesign
from discreet.survey.forms import FORMS, cautions, weight_form


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
