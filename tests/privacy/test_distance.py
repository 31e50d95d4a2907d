"""How far a shipped table is from the law that it stands for."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.noise import gaussian, laplace
from discreet.noise.families import build
from discreet.noise.families.rounded_normal import rounded_normal
from discreet.privacy.distance import distance_to_ideal


def test_the_distance_to_the_ideal_law_is_the_mass_that_is_missing():
    """Truncated Laplace: the ideal mass beyond m, and what the table gives too much within."""
    m, epsilon = 3, 1.0
    table = laplace(epsilon=epsilon, m=m, modulus=2**64)
    a = math.exp(-epsilon)
    beyond = 2 * a ** (m + 1) / (1 + a)
    assert float(distance_to_ideal(table)) == pytest.approx(beyond, rel=1e-12)
    law = np.array([math.exp(-z * z / 8) for z in range(-200, 201)])
    law /= law.sum()
    cut = gaussian(V=4.0, m=5, modulus=2**64)
    assert float(distance_to_ideal(cut)) == pytest.approx(
        law[np.abs(np.arange(-200, 201)) > 5].sum(), rel=1e-9
    )
    coarse = gaussian(V=4.0, modulus=2**10)
    shipped = {v: float(p) for v, p in coarse.rows[0].probabilities().items()}
    gap = sum(abs(law[z + 200] - shipped.get(z, 0.0)) for z in range(-200, 201)) / 2
    assert float(distance_to_ideal(coarse)) == pytest.approx(gap, rel=1e-9)
    rounded = {z: stats.norm.cdf((z + 0.5) / 2) - stats.norm.cdf((z - 0.5) / 2) for z in range(-40, 41)}
    table = rounded_normal(4.0, 2**10)
    shipped = {v: float(p) for v, p in table.rows[0].probabilities().items()}
    gap = sum(abs(rounded[z] - shipped.get(z, 0.0)) for z in rounded) / 2
    assert float(distance_to_ideal(table)) == pytest.approx(gap, rel=1e-6)
    assert distance_to_ideal(build("maxent", {"D": 5, "V": 3.0, "symmetric": True})) is None
    assert distance_to_ideal(build("maxent", {"D": 5, "V": 3.0})) is None


def test_a_full_modulus_is_as_good_as_the_ideal():
    for table in (laplace(epsilon=0.3, modulus=2**64), gaussian(V=50.0, modulus=2**64)):
        assert 0 < distance_to_ideal(table) < Fraction(1, 10**16)
    assert distance_to_ideal(rounded_normal(50.0)) < Fraction(1, 10**13)
