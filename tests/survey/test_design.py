from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BadDescription
from discreet.survey.design import SurveyDesign, relative_variance


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
