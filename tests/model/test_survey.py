"""The declared facts of a sample must be possible."""

from fractions import Fraction

import pytest

from discreet.errors import BadDescription
from discreet.model.survey import DP_FORMS, FORMS, Survey

FACTS = {
    "form": "average-weight",
    "sample_size": 10,
    "population_size": Fraction(40),
    "largest_weight": Fraction(9),
    "relative_variance": Fraction(0),
}


@pytest.mark.parametrize(
    "wrong",
    [
        {"sample_size": 0},
        {"population_size": Fraction(0)},
        {"largest_weight": Fraction(-1)},
        {"relative_variance": Fraction(-1, 10)},
        {"form": "public-strata"},
        {"form": "public-strata", "stratum": "state"},
    ],
)
def test_facts_that_cannot_be_are_refused(wrong):
    assert Survey(**FACTS)
    with pytest.raises(BadDescription):
        Survey(**FACTS | wrong)


def test_under_dp_there_are_only_forms_of_the_common_list():
    assert set(DP_FORMS) < set(FORMS)
    strata = {"form": "public-strata", "stratum": "state", "stratum_weights": (("A", Fraction(3)),)}
    assert Survey(**FACTS | strata).stratum == "state"
