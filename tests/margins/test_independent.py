from __future__ import annotations

import math

import pytest

from discreet.margins.closure import MarginSet
from discreet.margins.independent import independent
from discreet.privacy.gaussian import gaussian_delta

TWO = MarginSet(("A", "B", "C"), (3, 4, 5), ((0, 1), (1, 2)))


def test_laplace_noise_splits_epsilon_and_replacements_cost_twice():
    assert set(independent(TWO, 0.5).scales.values()) == {4.0}
    assert set(independent(TWO, 0.5, neighbours="replace-one").scales.values()) == {8.0}
    assert independent(TWO, 0.5, neighbours="replace-one").sensitivity == 4.0


@pytest.mark.parametrize(("neighbours", "changed"), [("add-remove", 2), ("replace-one", 4)])
def test_gaussian_noise_keeps_its_delta_by_exact_accounting(neighbours, changed):
    plan = independent(TWO, 1.0, 1e-6, neighbours=neighbours, law="gaussian")
    sigma = plan.scales[0, 1]
    delta = gaussian_delta(math.sqrt(changed) / sigma, 1.0)
    assert 0.998e-6 < delta <= 1e-6
    assert plan.sensitivity == pytest.approx(math.sqrt(changed))


def test_with_a_delta_few_margins_take_laplace_and_many_gaussian_noise():
    many = MarginSet(tuple("ABCDEFGH"), (3,) * 8, tuple((i, j) for i in range(8) for j in range(i + 1, 8)))
    assert independent(TWO, 1.0, 1e-6).law == "laplace"
    assert independent(many, 1.0, 1e-6).law == "gaussian"
    assert independent(many, 1.0).law == "laplace"
