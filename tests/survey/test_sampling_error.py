from __future__ import annotations

import inspect
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from discreet.survey import sampling_error
from discreet.survey.design import SurveyDesign
from discreet.survey.sampling_error import (
    noise_share,
    noise_shares,
    relative_standard_errors,
    reliable_from,
    sampling_variance,
    unreliable,
)

DESIGN = SurveyDesign(1500, 10_000_000_000, 4, 30_000_000, Fraction(1, 5))
VARIANCE = Fraction(3)


def by_hand(count: int) -> float:
    """deff 1.2, sampling fraction 0.0015, simple random sampling of 1500, noise of variance 3."""
    sampling = 1.2 * (1 - 0.0015) * count * (1 - count / 1500)
    return sqrt(sampling + 3) / count


@pytest.mark.parametrize("count", [1, 7, 20, 100, 1499])
def test_the_relative_standard_error_by_hand_in_tenths_of_a_percent_rounded_up(count):
    found = int(relative_standard_errors(np.array([count]), DESIGN, VARIANCE)[0])
    assert 0 <= found - 1000 * by_hand(count) < 1


def test_equal_weights_and_no_noise_give_the_binomial_error():
    plain = SurveyDesign(1000, 10**9, 0, 10**6)
    assert float(sampling_variance(250, plain)) == pytest.approx(1000 * 0.25 * 0.75, rel=1e-5)


def test_a_census_has_no_sampling_error_and_all_error_is_noise():
    census = SurveyDesign(1000, 1000, 0, 1)
    assert sampling_variance(250, census) == 0
    assert noise_share(250, census, VARIANCE) == 1
    assert noise_share(250, census, Fraction(0)) == 0


def test_the_share_of_the_noise_falls_as_counts_grow():
    shares = [noise_share(count, DESIGN, VARIANCE) for count in (0, 1, 10, 100)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == 1
    assert float(shares[2]) == pytest.approx(3 / (3 + 1.2 * 0.9985 * 10 * (1 - 10 / 1500)))


@pytest.mark.parametrize("count", [1, 7, 20, 100, 1499])
def test_printed_shares_are_the_nearest_tenth_of_a_percent(count):
    printed = int(noise_shares(np.array([count]), DESIGN, VARIANCE)[0])
    assert abs(printed - 1000 * 3 / (by_hand(count) * count) ** 2) <= 0.5 + 1e-9


def test_no_share_is_told_where_there_is_no_error():
    assert noise_shares(np.array([[0, -3], [5, 5]]), DESIGN, VARIANCE)[0].tolist() == [-1, -1]


def test_one_number_decides_which_cells_are_unreliable():
    first = reliable_from(DESIGN, VARIANCE)
    assert by_hand(first - 1) > 0.25 >= by_hand(first)
    noisy = np.array([[-2, 0, 1], [first - 1, first, 900]])
    assert unreliable(noisy, DESIGN, VARIANCE).tolist() == [[True, True, True], [True, False, False]]


def test_a_cell_without_people_has_no_relative_error():
    assert relative_standard_errors(np.array([[0, -3]]), DESIGN, VARIANCE).tolist() == [[-1, -1]]


def test_nothing_here_can_be_given_an_exact_count():
    allowed = {"noisy", "count", "design", "noise_variance", "limit", "square", "figure"}
    for function in vars(sampling_error).values():
        if inspect.isfunction(function) and function.__module__ == sampling_error.__name__:
            assert set(inspect.signature(function).parameters) <= allowed
