"""The law of a sum: whole numbers against plain convolution, the transform against whole numbers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.noise import laplace
from discreet.noise.sum_law import SumLaw, _law
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
    law = SumLaw(row, terms)
    assert law.exact
    assert law.exact_law() == convolved(row, terms)
    assert sum(v * p for v, p in law.exact_law().items()) == law.mean
    assert sum(v * v * p for v, p in law.exact_law().items()) - law.mean**2 == law.variance


@given(rows, st.integers(2, 20))
def test_the_transform_is_within_its_stated_error_of_the_exact_law(row, terms):
    exact = {v: float(p) for v, p in SumLaw(row, terms).exact_law().items()}
    first, approximate, error = _law(row, terms, exact=False)
    found = dict(enumerate(approximate.tolist(), first))
    distance = sum(abs(exact.get(v, 0.0) - found.get(v, 0.0)) for v in set(exact) | set(found)) / 2
    assert distance <= error < 1e-9


def test_a_wrong_number_of_terms_is_outside_the_stated_error():
    row = laplace(epsilon=1.0, modulus=2**64).rows[0]
    first, right, error = _law(row, 30, exact=False)
    other_first, wrong, _ = _law(row, 31, exact=False)
    reach = min(-first, -other_first)
    difference = np.abs(
        right[-first - reach : -first + reach] - wrong[-other_first - reach : -other_first + reach]
    )
    assert difference.sum() / 2 > 1e3 * error


def test_half_widths_cover_what_they_say_and_no_less_would():
    law = SumLaw(laplace(epsilon=0.5, modulus=2**64).rows[0], 3)
    exact = law.exact_law()
    for level in (0.5, 0.9, 0.95, 0.999):
        h = law.half_width(level)
        inside = sum(p for v, p in exact.items() if abs(v) <= h)
        less = sum(p for v, p in exact.items() if abs(v) < h)
        assert inside >= level > less


def test_many_terms_have_the_moments_that_they_must_have():
    row = laplace(epsilon=0.2, modulus=2**64).rows[0]
    law = SumLaw(row, 500)
    first, p = law.law()
    values = np.arange(first, first + p.size)
    assert p.sum() == pytest.approx(1, abs=law.error)
    assert values**2 @ p == pytest.approx(float(law.variance), rel=1e-9)
    assert np.abs(values) @ p == pytest.approx(float(law.variance * 2) ** 0.5 / np.pi**0.5, rel=1e-2)
    with pytest.raises(BadRequest, match="too large"):
        law.exact_law()


@pytest.mark.parametrize("level", [0, 1, -0.5])
def test_a_level_that_is_no_probability_is_refused(level):
    with pytest.raises(BadRequest, match="level"):
        SumLaw(NoiseRow((0,), (1,)), 1).half_width(level)


def test_no_terms_have_no_law():
    with pytest.raises(BadRequest, match="at least one"):
        SumLaw(NoiseRow((0,), (1,)), 0)
