from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.errors import BadOption
from discreet.survey.design import SurveyDesign
from discreet.survey.forms import FORMS, cautions, weight_form


def design(variance: Fraction) -> SurveyDesign:
    return SurveyDesign(1500, 10_000_000_000, 4, 30_000_000, variance)


@pytest.mark.parametrize("name", ["overall-average", "cell-average"])
def test_the_forms_that_read_exact_weights_say_that_they_are_not_private(name):
    assert not weight_form(name).is_dp
    assert "not differentially private unless all weights are equal" in weight_form(name).promise


def test_the_other_forms_can_be_private_and_say_of_what():
    assert {name for name, form in FORMS.items() if form.is_dp} == {
        "largest-weight",
        "public-strata",
        "average-weight",
        "invariant",
    }
    assert "2N/n for a table" in weight_form("invariant").promise


def test_varying_weights_call_for_caution_where_the_overall_average_is_used():
    assert not cautions(weight_form("overall-average"), design(Fraction(1, 10)))
    warned = cautions(weight_form("overall-average"), design(Fraction(11, 100)))
    assert len(warned) == 1
    assert "11.0 %, above 10 %" in warned[0]
    assert cautions(weight_form("average-weight"), design(Fraction(1, 2)))
    assert not cautions(weight_form("cell-average"), design(Fraction(1, 2)))


def test_an_unknown_form_is_refused_with_the_nearest():
    with pytest.raises(BadOption, match='Did you mean "cell-average"'):
        weight_form("cell-averages")
