"""Designs by (ε, δ): the optimum against a grid, the document of a design, and families side by side."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InfeasibleDesign
from discreet.noise import design, families
from discreet.noise.design_report import compare, design_document, within
from discreet.noise.families.abs import abs_guide, alternative
from discreet.noise.families.laplace import ideal_laplace
from discreet.noise.quantise import quantise


def equation_21(D, gamma, epsilon):
    """Proposition 2 as printed, with its floor and its two cases."""
    C = 1 / (2 * sum(math.exp(-gamma * z * z) for z in range(1, D + 1)) + 1)
    star = math.floor(0.5 - epsilon / (2 * gamma))
    extra = sum(
        math.exp(-gamma * z * z) - math.exp(epsilon) * math.exp(-gamma * (z - 1) ** 2)
        for z in range(-D + 1, star + 1)
    )
    return C * math.exp(-gamma * D * D) + C * extra


@settings(max_examples=100, deadline=None)
@given(D=st.integers(1, 25), gamma=st.floats(0.001, 1), epsilon=st.floats(0.01, 4))
def test_equation_21_is_the_hockey_stick_divergence(D, gamma, epsilon):
    assert design.symmetric_delta(D, gamma, epsilon) == pytest.approx(
        equation_21(D, gamma, epsilon), rel=1e-9
    )


@pytest.mark.parametrize("D", [11, 15])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_the_least_delta_is_not_above_the_papers_fine_grid(D, epsilon):
    grid = [design.symmetric_delta(D, gamma, epsilon) for gamma in np.arange(0.0001, 0.3, 0.0001)]
    assert design.least_delta(epsilon, D).delta <= min(grid) * (1 + 1e-12)
    assert design.least_delta(epsilon, D).delta == pytest.approx(min(grid), rel=1e-2)


def test_the_analytic_choice_is_up_to_half_above_the_least_delta():
    """Eq. 29 against the minimum over γ, for the two supports of Figure 2."""
    excess = [
        design.symmetric_delta(D, epsilon / (2 * D - 1), epsilon) / design.least_delta(epsilon, D).delta - 1
        for D in (11, 15)
        for epsilon in np.arange(0.1, 2.55, 0.1)
    ]
    assert min(excess) >= -1e-12
    assert max(excess) == pytest.approx(0.49, abs=0.02)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-4), (1.0, 1e-3), (2.0, 1e-6)])
def test_the_least_variance_keeps_delta_with_less_noise_than_the_guide(epsilon, delta):
    guide = abs_guide(epsilon, delta)
    frugal = design.least_variance(epsilon, delta, guide.D)
    assert frugal.delta <= delta
    assert frugal.V < guide.V
    assert design.symmetric_delta(guide.D, frugal.gamma * 1.001, epsilon) > delta
    assert pytest.approx(design.symmetric_moment(frugal.D, frugal.gamma)) == frugal.V


def test_a_delta_below_the_least_of_its_support_is_refused():
    with pytest.raises(InfeasibleDesign, match="its least"):
        design.least_variance(0.5, 1e-9, 5)


@given(least=st.integers(1, 500), limit=st.integers(500, 2000))
def test_the_search_finds_the_smallest_width(least, limit):
    assert design.smallest_width(lambda width: width >= least, limit=limit, wish="this") == least


def test_the_search_reaches_its_limit_and_says_where_it_gave_up():
    assert design.smallest_width(lambda width: width >= 100, limit=100, wish="this") == 100
    with pytest.raises(InfeasibleDesign, match="this needs changes beyond ±100"):
        design.smallest_width(lambda width: width > 100, limit=100, wish="this")


GIVEN = {
    "laplace": {"epsilon": 1.5, "m": 7},
    "staircase": {"epsilon": 1.0, "width": 2, "m": 9},
    "least-variance": {"epsilon": 1.0, "delta": 0.25, "D": 5, "js": 2},
    "normal": {"epsilon": 1.0, "m": 10},
    "hellinger": {"epsilon": 3.0, "largest": 5},
    "maxent": {"D": 5, "V": 3, "js": 2},
    "abs": {"epsilon": 0.5, "delta": 1e-4},
    "pram": {},
    "dropadd": {},
    "gaussian": {"epsilon": 1.0, "delta": 1e-3},
    "rounded-normal": {"V": 4.0},
    "exponential": {"epsilon": 3.0, "largest": 5},
}


@pytest.mark.parametrize("name", families.names())
@pytest.mark.parametrize("modulus", [2**16, 2**32, 2**64])
def test_the_document_holds_the_design_and_the_integers(name, modulus):
    ideal = families.ideal(name, GIVEN[name], modulus)
    table = families.build(name, GIVEN[name], modulus)
    document = json.loads(json.dumps(design_document(ideal, table), allow_nan=False))
    assert document["family"] == name
    assert document["modulus"] == modulus
    assert document["repeats"] == table.repeats
    assert set(GIVEN[name]) <= set(document["parameters"])
    for count, row in enumerate(document["rows"]):
        assert row["count"] == count
        assert row["values"] == sorted(row["values"])
        assert row["thresholds"][-1] == modulus
        assert row["thresholds"] == sorted(row["thresholds"])
        assert len(row["values"]) == len(row["thresholds"]) == len(row["probabilities"])
        assert math.fsum(row["probabilities"]) == pytest.approx(1)
    assert document["moments"]["variance"] == pytest.approx(float(table.rows[-1].variance()))


def test_a_lost_value_keeps_its_place_and_repeats_the_threshold():
    ideal = families.ideal("abs", GIVEN["abs"])
    document = design_document(ideal, quantise(ideal, 2**8, "ceiling"))
    assert document["rows"][0]["thresholds"][:3] == [1, 1, 1]
    assert [0, -24] in document["quantisation"]["lost"]
    assert document["quantisation"]["paper"]["epsilon"] is None


def test_the_alternative_of_abs_has_less_delta_or_less_variance():
    ideal = families.ideal("abs", GIVEN["abs"])
    other = alternative(ideal)
    assert other["D"] == 25
    assert other["delta"] < ideal.last.probabilities[0]
    assert other["least_variance"]["V"] < ideal.parameters["V"]
    assert other["least_variance"]["delta"] <= 1e-4
    assert math.fsum(other["probabilities"]) == pytest.approx(1)


def test_every_family_keeps_the_common_delta_when_the_smallest_m_is_asked():
    common, sides = compare(0.8, delta=1e-4, match="smallest")
    assert common == 1e-4
    for side in sides:
        assert side.delta <= common * (1 + 1e-9), side.family


def test_clipping_counts_negative_releases_as_zero():
    row = ideal_laplace(0.5, 7).last
    slow = sum(p for z, p in zip(row.values, row.probabilities, strict=True) if abs(max(0, 2 + z) - 2) <= 2)
    assert within(row, 2, 2) == pytest.approx(slow)


def test_a_comparison_needs_delta_or_m():
    with pytest.raises(InfeasibleDesign, match="not both"):
        compare(1.0)
