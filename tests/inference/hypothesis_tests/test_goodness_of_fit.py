import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom, chisquare, power_divergence

from discreet.errors import BadRequest
from discreet.inference.hypothesis_tests.goodness_of_fit import (
    ProportionTest,
    distribution_test,
    proportion_test,
)
from discreet.noise import laplace

from ..conftest import chances

PEOPLE = 80


def noise_of(m, no_noise):
    return laplace(epsilon=0.5, m=m, modulus=2**64) if m else no_noise


@pytest.mark.parametrize("m", [0, 5, 10])
def test_size_power_and_critical_value_are_those_of_exact_enumeration(oracle, no_noise, m):
    expected = next(case for case in oracle["binomial"].values() if case["m"] == m)
    half, other = (ProportionTest(PEOPLE, noise_of(m, no_noise), p) for p in (0.5, 0.7))
    critical = half.critical_value(0.05)
    assert critical == pytest.approx(expected["exact_c95"], abs=1e-7)
    above = critical + 1e-6  # the oracle rejects what exceeds the critical value
    assert half.rejection(above) == pytest.approx(expected["size_at_c95"], abs=1e-9)
    assert other.rejection(above, 0.5) == pytest.approx(expected["power_at_c95"], abs=1e-9)
    assert half.rejection(3.84) == pytest.approx(expected["size_at_3_84"], abs=1e-9)
    assert other.rejection(3.84, 0.5) == pytest.approx(expected["power_at_3_84"], abs=1e-9)


@pytest.mark.slow
def test_the_statistic_is_that_of_a_direct_search(any_noise):
    test = ProportionTest(30, any_noise, 0.4)

    def likelihood(p, x):
        return sum(binom.pmf(n, 30, p) * chances(any_noise, n).get(x - n, 0) for n in range(31))

    for x in (0, 9, 25):
        best = minimize_scalar(
            lambda p, x=x: -likelihood(p, x), bounds=(0, 1), method="bounded", options={"xatol": 1e-12}
        )
        top = max(-best.fun, likelihood(0.0, x), likelihood(1.0, x))
        expected = 2 * np.log(top / likelihood(0.4, x))
        assert test.statistic([x])[0] == pytest.approx(expected, abs=1e-7)


def test_the_p_value_is_exact(no_noise):
    test = ProportionTest(12, no_noise, 0.5)
    assert test.p_value(2) == pytest.approx(2 * binom.cdf(2, 12, 0.5), abs=1e-12)
    assert test.p_value(6) == pytest.approx(1.0, abs=1e-12)


def test_the_naive_proportion_rejects_what_noise_explains():
    found = proportion_test(50, 80, 0.5, laplace(epsilon=0.2, m=15))
    assert found.naive.p_value < 0.05 < found.p_value
    assert (found.method, found.model, found.df) == ("exact", "binomial", 1)


@pytest.mark.parametrize(("people", "p"), [(0, 0.5), (10, 0.0), (10, 1.0), (10, float("nan"))])
def test_proportions_without_meaning_are_refused(people, p):
    with pytest.raises(BadRequest):
        ProportionTest(people, laplace(epsilon=1.0, m=5), p)


def test_a_number_that_so_few_people_cannot_give_is_refused():
    with pytest.raises(BadRequest, match="impossible for 10 people"):
        proportion_test(30, 10, 0.5, laplace(epsilon=1.0, m=5))


def test_without_noise_a_given_distribution_is_the_plain_test(no_noise):
    counts, chances = np.array([30, 45, 25, 60]), np.array([2.0, 3.0, 2.0, 3.0])
    found = distribution_test(counts, chances, no_noise)
    expected = counts.sum() * chances / chances.sum()
    plain = power_divergence(counts, expected, lambda_="log-likelihood")
    assert found.statistic == pytest.approx(plain.statistic, abs=1e-9)
    assert found.p_value == pytest.approx(plain.pvalue, abs=1e-9)
    assert chisquare(counts, expected).statistic != pytest.approx(found.statistic)


@pytest.mark.parametrize("chances", [[1, 1], [1, -1, 1], [0, 0, 0]])
def test_chances_that_do_not_fit_are_refused(chances):
    with pytest.raises(BadRequest, match="chances"):
        distribution_test([30, 45, 20], chances, laplace(epsilon=1.0, m=5))
