"""The law of a sum: whole numbers against plain convolution, the transform against whole numbers.

The rounded normal law of a joint cell, beside the law of a noise that lies on a grid.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.noise import laplace
from discreet.noise.cell_distribution import RoundedNormalDistribution, SumDistribution, _sum_distribution
from discreet.noise.families.rounded_normal import rounded_normal
from discreet.noise.table import NoiseRow


def convolved(row, terms):
    """The definition, one term at a time."""
    law = {0: Fraction(1)}
    for _ in range(terms):
        longer = {}
        for s, p in law.items():
            for v, q in row.probabilities().items():
                longer[s + v] = longer.get(s + v, Fraction(0)) + p * q
        law = longer
    return law


rows = st.dictionaries(st.integers(-9, 9), st.integers(1, 50), min_size=1, max_size=8).map(
    lambda masses: NoiseRow(
        tuple(sorted(masses)), tuple(int(t) for t in np.cumsum([masses[v] for v in sorted(masses)]))
    )
)


@pytest.mark.slow
@given(rows, st.integers(1, 6))
def test_the_exact_law_is_the_convolution(row, terms):
    law = SumDistribution(row, terms)
    assert law.exact
    assert law.exact_distribution() == convolved(row, terms)
    assert sum(v * p for v, p in law.exact_distribution().items()) == law.mean
    assert sum(v * v * p for v, p in law.exact_distribution().items()) - law.mean**2 == law.variance


@given(rows, st.integers(2, 20))
def test_the_transform_is_within_its_stated_error_of_the_exact_law(row, terms):
    exact = {v: float(p) for v, p in SumDistribution(row, terms).exact_distribution().items()}
    first, approximate, error = _sum_distribution(row, terms, exact=False)
    found = dict(enumerate(approximate.tolist(), first))
    distance = sum(abs(exact.get(v, 0.0) - found.get(v, 0.0)) for v in set(exact) | set(found)) / 2
    assert distance <= error < 1e-9


def test_a_wrong_number_of_terms_is_outside_the_stated_error():
    row = laplace(epsilon=1.0, modulus=2**64).rows[0]
    first, right, error = _sum_distribution(row, 30, exact=False)
    other_first, wrong, _ = _sum_distribution(row, 31, exact=False)
    reach = min(-first, -other_first)
    difference = np.abs(
        right[-first - reach : -first + reach] - wrong[-other_first - reach : -other_first + reach]
    )
    assert difference.sum() / 2 > 1e3 * error


def test_half_widths_cover_what_they_say_and_no_less_would():
    law = SumDistribution(laplace(epsilon=0.5, modulus=2**64).rows[0], 3)
    exact = law.exact_distribution()
    for level in (0.5, 0.9, 0.95, 0.999):
        h = law.half_width(level)
        inside = sum(p for v, p in exact.items() if abs(v) <= h)
        less = sum(p for v, p in exact.items() if abs(v) < h)
        assert inside >= level > less


def test_many_terms_have_the_moments_that_they_must_have():
    row = laplace(epsilon=0.2, modulus=2**64).rows[0]
    law = SumDistribution(row, 500)
    first, p = law.law()
    values = np.arange(first, first + p.size)
    assert p.sum() == pytest.approx(1, abs=law.error)
    assert values**2 @ p == pytest.approx(float(law.variance), rel=1e-9)
    assert np.abs(values) @ p == pytest.approx(float(law.variance * 2) ** 0.5 / np.pi**0.5, rel=1e-2)
    with pytest.raises(BadRequest, match="too large"):
        law.exact_distribution()


@pytest.mark.parametrize("level", [0, 1, -0.5])
def test_a_level_that_is_no_probability_is_refused(level):
    with pytest.raises(BadRequest, match="level"):
        SumDistribution(NoiseRow((0,), (1,)), 1).half_width(level)


def test_no_terms_have_no_law():
    with pytest.raises(BadRequest, match="at least one"):
        SumDistribution(NoiseRow((0,), (1,)), 0)


def on_grid(variance, grid):
    """The law of a discrete Gaussian on multiples of 1/grid, rounded to whole numbers, summed up."""
    reach = math.ceil(9 * math.sqrt(variance) * grid)
    z = np.arange(-reach, reach + 1)
    weights = np.exp(-(z**2) / (2 * variance * grid**2))
    shown = np.rint(z / grid).astype(int)
    return {k: float(weights[shown == k].sum() / weights.sum()) for k in range(shown.min(), shown.max() + 1)}


@pytest.mark.parametrize(("variance", "grid"), [(4.0, 5), (30.0, 3), (100.0, 1)])
def test_the_error_bounds_the_distance_to_a_noise_on_an_odd_grid(variance, grid):
    """Wrong alternative: an even grid, on which halves occur and go to even numbers."""
    law = RoundedNormalDistribution(variance, math.sqrt(variance) * grid)
    first, chances = law.law()

    def distance(true):
        return sum(abs(true.get(first + at, 0.0) - p) for at, p in enumerate(chances.tolist())) / 2

    assert distance(on_grid(variance, grid)) <= law.error
    assert distance(on_grid(variance, grid + 1)) > law.error


def test_it_is_the_family_rounded_normal():
    law, table = RoundedNormalDistribution(9.0, 100.0), rounded_normal(9.0)
    first, chances = law.law()
    shipped = table.rows[0].probabilities()
    assert all(abs(float(shipped.get(first + at, 0)) - p) < 1e-14 for at, p in enumerate(chances.tolist()))
    assert float(law.variance) == pytest.approx(float(table.rows[0].variance()), rel=1e-9)


def test_half_widths_cover_and_are_not_wider_than_needed():
    law = RoundedNormalDistribution(50.0, 90.0)
    first, chances = law.law()
    for level in (0.5, 0.9, 0.95, 0.999):
        half = law.half_width(level)
        inside = chances[-half - first : half - first + 1].sum()
        assert inside >= level
        assert chances[-(half - 1) - first : half - first].sum() < level + law.error
    with pytest.raises(BadRequest, match="level"):
        law.half_width(1.0)
