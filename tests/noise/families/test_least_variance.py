"""Least variance at (epsilon, delta): kept by the integers, below every other table, and above the dual's bound."""

import math

import numpy as np
import pytest

from discreet.errors import InfeasibleDesign
from discreet.noise import least_variance, maxent
from discreet.noise.families.least_variance import ideal_least_variance, least_delta
from discreet.privacy import audit, delta


@pytest.mark.parametrize(
    ("epsilon", "wish", "D", "js"),
    [(1.0, 0.2, 5, 2), (0.5, 0.3, 4, 1), (2.0, 0.15, 7, 0), (1.0, 0.5, 3, 2), (0.2, 0.4, 2, 0)],
)
def test_the_integers_keep_the_promise_without_bias_and_within_the_support(epsilon, wish, D, js):
    table = least_variance(epsilon=epsilon, delta=wish, D=D, js=js)
    found = audit(table, epsilon=epsilon)
    assert wish - 1e-4 < found.delta <= wish or table.variance == table.rows[-1].variance()
    assert found.delta <= wish
    assert all(row.bias == 0 for row in found.rows)
    assert table.keeps_zero
    released = {count + v for count, row in enumerate(table.rows) for v in row.values}
    assert min(released) == 0
    assert not released & set(range(1, js + 1))
    assert table.largest <= D
    assert table.rows[-1].values == tuple(-v for v in reversed(table.rows[-1].values))


def test_a_smaller_delta_costs_variance_and_the_least_one_is_named():
    variances = [
        least_variance(epsilon=1.0, delta=wish, D=5, js=2).variance for wish in (0.17, 0.2, 0.3, 0.5)
    ]
    assert variances == sorted(variances, reverse=True)
    with pytest.raises(InfeasibleDesign) as refused:
        ideal_least_variance(1.0, 0.16, D=5, js=2)
    assert "0.166667" in str(refused.value.advice)


@pytest.mark.parametrize("D", [3, 5, 8])
def test_unbiased_noise_that_keeps_zeros_has_a_delta_of_one_over_d_plus_1(D):
    assert least_delta(2.0, D) == pytest.approx(1 / (D + 1), abs=1e-5)
    assert least_delta(2.0, D, negative=True) < 0.1 / (D + 1)


def hockey(p, q, epsilon):
    return sum(max(0.0, x - math.exp(epsilon) * q.get(y, 0.0)) for y, x in p.items())


def released(row, count):
    return {count + v: x for v, x in zip(row.values, row.probabilities, strict=True)}


def test_no_random_change_of_the_optimum_keeps_delta_with_less_variance():
    """An independent slow search: moves within one row that keep its sum and mean, several rows at a time."""
    epsilon, wish = 1.0, 0.3
    table = ideal_least_variance(epsilon, wish, D=3, js=1)
    optimum = max(row.variance() for row in table.rows)
    assert optimum == pytest.approx(table.parameters["V"], rel=1e-5)
    rng = np.random.RandomState(32)
    better = 0
    for _ in range(4000):
        rows = [released(row, count) for count, row in enumerate(table.rows)]
        for count in rng.choice(len(rows) - 1, 3, replace=False):
            if len(rows[count]) < 3:
                continue
            a, b, c = sorted(rng.choice(list(rows[count]), 3, replace=False))
            size = rng.uniform(-0.01, 0.01)
            for y, share in ((a, (c - b) / (c - a)), (b, -1.0), (c, (b - a) / (c - a))):
                rows[count][y] += size * share
        if min(min(row.values()) for row in rows) < 0:
            continue
        shifted = {y + 1: x for y, x in rows[-1].items()}
        pairs = list(zip(rows, [*rows[1:], shifted], strict=True))
        worst = max(max(hockey(p, q, epsilon), hockey(q, p, epsilon)) for p, q in pairs)
        largest = max(sum((y - count) ** 2 * x for y, x in row.items()) for count, row in enumerate(rows))
        better += worst <= wish and largest < optimum * (1 - 1e-5)
    assert better == 0


def test_a_programme_of_one_direction_is_rejected():
    """The named wrong alternative: the delta of the smaller count against the larger alone, as eqs 45-46 of the paper."""
    office = maxent(D=5, V=3, js=2)
    forward = audit(office, epsilon=1.0).delta_forward
    assert forward < 0.04 < 1 / 6
    with pytest.raises(InfeasibleDesign):
        ideal_least_variance(1.0, float(forward), D=5, js=2)
    assert delta(office, epsilon=1.0) > 6 * forward


@pytest.mark.parametrize(
    "wish", [{"D": 31}, {"D": 3, "js": 3}, {"D": 3, "js": 1, "negative": True}, {"D": 0}]
)
def test_what_no_table_can_be_is_refused(wish):
    with pytest.raises(InfeasibleDesign):
        ideal_least_variance(1.0, 0.5, **wish)
