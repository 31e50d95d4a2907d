"""Staircase noise: the formula of the paper, the best inner width, and less variance than any other noise nearby."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.errors import InfeasibleDesign
from discreet.noise import laplace, staircase
from discreet.noise.design_report import compare
from discreet.noise.families.staircase import centre, ideal_staircase, least_variance_inner, lost_mass
from discreet.privacy import delta


def printed(epsilon, width, inner, reach):
    """Geng & Viswanath's discrete staircase, as printed: a p.m.f. by periods of the width."""
    b = math.exp(-epsilon)
    a = (1 - b) / (2 * inner + 2 * b * (width - inner) - (1 - b))
    half = [a * b ** (z // width) * (1.0 if z % width < inner else b) for z in range(reach + 1)]
    return {z: half[abs(z)] for z in range(-reach, reach + 1)}


@pytest.mark.parametrize(("epsilon", "width", "inner"), [(1.0, 2, 1), (0.5, 3, 2), (2.0, 5, 1), (1.0, 1, 1)])
def test_the_distribution_is_the_papers(epsilon, width, inner):
    row = ideal_staircase(epsilon, width, inner, modulus=2**64).last
    known = printed(epsilon, width, inner, row.values[-1])
    assert row.probabilities == pytest.approx([known[z] for z in row.values], rel=1e-9)
    assert row.probabilities[row.values.index(0)] == pytest.approx(centre(epsilon, width, inner), rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("width", [2, 4, 7])
def test_the_inner_width_is_the_best_of_all(epsilon, width):
    variances = [
        ideal_staircase(epsilon, width, inner, modulus=2**64).last.variance() for inner in range(1, width + 1)
    ]
    assert least_variance_inner(epsilon, width) == 1 + int(np.argmin(variances))


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_change_by_the_width_keeps_epsilon_and_delta_and_a_larger_one_does_not(width):
    table = staircase(epsilon=1.0, width=width, delta=1e-3, modulus=2**64)
    exact = delta(table, epsilon=1.0, group=width)
    assert float(exact) == pytest.approx(
        lost_mass(1.0, width, table.parameters["inner"], table.largest), rel=1e-6
    )
    assert exact <= 1e-3
    assert lost_mass(1.0, width, table.parameters["inner"], table.largest - 1) > 1e-3
    assert delta(table, epsilon=1.0, group=width + 1) > 0.01


def test_width_1_is_laplace_noise():
    assert staircase(epsilon=1.0, m=9).rows == laplace(epsilon=1.0, m=9).rows


def test_laplace_noise_of_the_same_epsilon_per_unit_is_rejected_for_three_records():
    """The named wrong alternative: the epsilon of one record for a change by three."""
    wrong = laplace(epsilon=1.0, delta=1e-4)
    assert delta(wrong, epsilon=1.0, group=3) > 0.5
    _, (flat, steps) = compare(1.0, delta=1e-4, width=3)
    assert (flat.family, steps.family) == ("laplace", "staircase")
    assert steps.delta <= 1e-4
    assert flat.delta <= 1e-4
    assert steps.variance < 0.97 * flat.variance


def test_no_noise_of_the_same_support_has_much_less_variance():
    """A linear programme over all distributions on -m..m whose ratios at distances 1..width are within e^epsilon."""
    epsilon, width, m = 1.0, 2, 14
    z = np.arange(-m, m + 1)
    rows, limits = [], []
    for change in range(1, width + 1):
        for place in range(2 * m + 1 - change):
            for one, other in ((place, place + change), (place + change, place)):
                row = np.zeros(2 * m + 1)
                row[one], row[other] = 1.0, -math.exp(epsilon)
                rows.append(row)
                limits.append(0.0)
    found = linprog(z**2.0, np.array(rows), limits, np.ones((1, 2 * m + 1)), [1.0], (0, 1))
    ours = ideal_staircase(epsilon, width, m=m).last.variance()
    assert found.fun <= ours + 1e-9
    assert ours < 1.01 * found.fun


@pytest.mark.parametrize(
    "wish", [{"width": 0}, {"inner": 3, "width": 2}, {"m": 5, "delta": 0.1}, {"delta": 0.0}, {"m": 0}]
)
def test_what_cannot_be_a_staircase_is_refused(wish):
    with pytest.raises(InfeasibleDesign):
        ideal_staircase(1.0, **wish)
