"""`[survey]`: the design and the facts of a sample must be possible, and its numbers are the decimals that were written."""

import re
from fractions import Fraction

import pytest

from discreet.errors import BadDescription
from discreet.model.survey import SamplingDesign, parse_survey, replicate_columns, sampling_design


@pytest.mark.parametrize(
    ("lines", "coefficient"),
    [
        ({"method": "jackknife"}, Fraction(19, 20)),
        ({"method": "brr"}, Fraction(1, 20)),
        ({"method": "fay"}, Fraction(1, 5)),
        ({"method": "fay", "fay": 0.3}, 1 / (20 * Fraction(7, 10) ** 2)),
        ({"method": "bootstrap"}, Fraction(1, 19)),
        ({"method": "bootstrap", "scale": 0.2}, Fraction(1, 5)),
        ({"method": "jackknife", "coefficients": [0.5] * 20}, Fraction(1, 2)),
    ],
)
def test_each_method_has_its_coefficient(lines, coefficient):
    assert set(sampling_design({"replicates": "r1..r20", **lines}).coefficients) == {coefficient}


def test_replicates_are_a_row_of_numbers_or_a_list():
    assert replicate_columns("repwt1..repwt60")[::59] == ("repwt1", "repwt60")
    assert replicate_columns("w08..w11") == ("w08", "w09", "w10", "w11")
    assert replicate_columns("a2b1..a2b3") == ("a2b1", "a2b2", "a2b3")
    assert replicate_columns(["x", "y"]) == ("x", "y")


@pytest.mark.parametrize(
    "given", ["repwt", "a1..b9", "r9..r1", "r1..r1", 7, ["x", "x"], ["x", 2], "r1..r100000", "..", ""]
)
def test_other_replicates_are_refused(given):
    with pytest.raises(BadDescription, match="replicates"):
        replicate_columns(given)


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ({"method": "brr"}, "method"),
        ({"fay": 0.5}, "fay"),
        ({"replicates": "r1..r4"}, "method"),
        ({"replicates": "r1..r4", "method": "jackknive"}, "jackknive"),
        ({"replicates": "r1..r4", "method": "brr", "strata": "h"}, "strata"),
        ({"replicates": "r1..r4", "method": "brr", "fpc": 0.1}, "fpc"),
        ({"replicates": "r1..r4", "method": "brr", "fay": 0.5}, "fay"),
        ({"replicates": "r1..r4", "method": "fay", "fay": 1}, "fay"),
        ({"replicates": "r1..r4", "method": "brr", "coefficients": [1, 1, 1, 1]}, "coefficients"),
        ({"replicates": "r1..r4", "method": "jackknife", "coefficients": [1, 1]}, "coefficients"),
        ({"replicates": "r1..r4", "method": "jackknife", "coefficients": [1, 1, 1, -1]}, "coefficients"),
        ({"replicates": "r1..r4", "method": "jackknife", "coefficients": [1] * 4, "scale": 1}, "scale"),
        ({"replicates": "r1..r4", "method": "brr", "scale": 0}, "scale"),
        ({"replicates": "r1..r4", "method": "brr", "scale": "much"}, "scale"),
        ({"strata": 3}, "strata"),
        ({"clusters": ""}, "clusters"),
        ({"fpc": 1.5}, "fpc"),
        ({"fpc": True}, "fpc"),
        ({"fpc": {"A": 0.1}}, "strata"),
    ],
)
def test_lines_that_are_wrong_or_contradict_each_other_are_refused(lines, what):
    with pytest.raises(BadDescription, match=what) as caught:
        sampling_design(lines)
    assert caught.value.advice


def test_sampling_fractions_are_by_stratum_or_for_all():
    listed = sampling_design({"strata": "h", "fpc": {"A": 0.1, "B": 0.5}})
    assert [listed.fraction_of(h) for h in "AB"] == [Fraction(1, 10), Fraction(1, 2)]
    assert sampling_design({"fpc": 0.25}).fraction_of("") == Fraction(1, 4)
    assert SamplingDesign().fraction_of("") == 0


SURVEY = {"sample_size": 1500, "population_size": 900000, "largest_weight": 0.1}


def test_numbers_are_the_decimals_that_were_written():
    found = parse_survey(SURVEY)
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
        ({"sample_size": 0}, "not positive"),
        ({"population_size": 0}, "not positive"),
        ({"largest_weight": -1}, "not positive"),
        ({"relative_variance": -0.1}, "below zero"),
        ({"error_limit": 0}, "Give a number above 0"),
        ({"form": "public-strata"}, "needs `stratum`"),
        ({"form": "public-strata", "stratum": "state"}, "needs `stratum`"),
    ],
)
def test_a_wrong_section_is_refused_with_what_to_do(changed, message):
    with pytest.raises(BadDescription, match=re.escape(message)):
        parse_survey(SURVEY | changed)
