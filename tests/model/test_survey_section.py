"""`[survey]`: its numbers are the decimals that were written, and forms that undo the noise are not served."""

from fractions import Fraction

import pytest

from discreet.errors import BadDescription
from discreet.model.survey_section import survey_of

SURVEY = {"sample_size": 1500, "population_size": 900000, "largest_weight": 0.1}


def test_numbers_are_the_decimals_that_were_written():
    found = survey_of(SURVEY)
    assert found.largest_weight == Fraction(1, 10) != Fraction(0.1)
    assert found.error_limit == Fraction(1, 4)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"form": "cell-average"}, "undo the noise"),
        ({"form": "public-stratum"}, 'Did you mean "public-strata"?'),
        ({"sample_size": "many"}, "no whole number"),
        ({"largest_weight": "much"}, "Give a number"),
        ({"weights": 1}, "unknown key"),
    ],
)
def test_a_wrong_section_is_refused_with_what_to_do(changed, message):
    with pytest.raises(BadDescription) as raised:
        survey_of(SURVEY | changed)
    assert message in str(raised.value)
