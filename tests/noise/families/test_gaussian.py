from __future__ import annotations

import math

import pytest

from discreet.errors import InfeasibleDesign
from discreet.noise import gaussian
from discreet.noise.design import symmetric_delta
from discreet.noise.families.gaussian import ideal_gaussian, least_sigma2


def test_the_law_follows_the_formula():
    row = ideal_gaussian(V=4.0, m=6).last
    weights = [math.exp(-z * z / 8) for z in range(-6, 7)]
    assert row.probabilities == pytest.approx([w / sum(weights) for w in weights], rel=1e-14)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 1e-6), (0.5, 1e-4), (0.1, 1e-5), (3.0, 1e-3), (0.02, 1e-5)]
)
def test_the_least_sigma_keeps_delta_and_a_smaller_one_does_not(epsilon, delta):
    V = least_sigma2(epsilon, delta, m=4000)
    assert symmetric_delta(4000, 0.5 / V, epsilon) <= delta
    assert symmetric_delta(4000, 0.5 / (V * 0.999), epsilon) > delta


def test_the_cut_is_where_the_keys_end_and_is_said():
    ideal = ideal_gaussian(V=4.0, modulus=2**16)
    assert ideal.last.probabilities[0] * 2**16 >= 1
    assert f"±{ideal.last.values[-1]}" in ideal.notes[0]
    assert gaussian(V=4.0, modulus=2**64).largest > gaussian(V=4.0, modulus=2**16).largest


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ({}, "needs epsilon and delta, or V"),
        ({"epsilon": 1}, "needs epsilon and delta, or V"),
        ({"epsilon": 1, "delta": 0.1, "V": 3}, "delta follows"),
        ({"V": -1}, "above 0"),
        ({"V": 4, "m": 0}, "the cut must lie"),
        ({"epsilon": 1, "delta": 1e-9, "modulus": 256}, "about 1/modulus"),
    ],
)
def test_wishes_without_a_table_are_refused(wish, reason):
    with pytest.raises(InfeasibleDesign, match=reason):
        gaussian(**wish)
