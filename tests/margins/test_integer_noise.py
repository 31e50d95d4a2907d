from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InfeasibleDesign
from discreet.margins.integer_noise import (
    KEYS,
    WIDEST_TABLE,
    SeededNoise,
    gaussian_noise,
    laplace_noise,
    look_up,
)
from discreet.noise.table import NoiseRow, NoiseTable

#: Chance that a test of a right sampler fails, for each fixed seed.
FALSE_ALARM = 1e-6
Z = 4.9


def law_of(noise):
    """The exact law of a sum of steps times tables, by convolution."""
    law = {0: 1.0}
    for step, table in noise.parts:
        masses = [
            (step * v, m / KEYS) for v, m in zip(table.rows[0].values, table.rows[0].masses(), strict=True)
        ]
        joint: dict[int, float] = {}
        for value, p in law.items():
            for other, q in masses:
                joint[value + other] = joint.get(value + other, 0.0) + p * q
        law = joint
    return law


@pytest.mark.parametrize("scale", [0.2, 1.0, 11.0, 13.0, 60.0])
def test_laplace_noise_has_its_law_whether_or_not_it_is_taken_apart(scale):
    noise = laplace_noise(scale)
    assert (len(noise.parts) == 2) == (scale > 11.5)
    law = law_of(noise)
    for value in (0, 1, -1, 7, 50, -200):
        ideal = math.tanh(0.5 / scale) * math.exp(-abs(value) / scale)
        assert law.get(value, 0.0) == pytest.approx(ideal, rel=1e-9, abs=1e-17)
    assert sum(p * v * v for v, p in law.items()) == pytest.approx(noise.variance, rel=1e-9)
    assert sum(p * abs(v) for v, p in law.items()) == pytest.approx(noise.mean_absolute, rel=1e-9)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.floats(0.1, 1e6))
def test_no_table_of_laplace_noise_is_large(scale):
    for _, table in laplace_noise(scale).parts:
        assert table.largest <= max(WIDEST_TABLE, 8 * math.sqrt(45 * scale))


@pytest.mark.parametrize(("sigma", "grid"), [(0.7, 1), (3.0, 1), (3.0, 7), (40.0, 1)])
def test_gaussian_noise_has_its_law_on_its_grid(sigma, grid):
    noise = gaussian_noise(sigma, grid)
    law = law_of(noise)
    total = sum(math.exp(-z * z / (2 * (sigma * grid) ** 2)) for z in range(-2000, 2001))
    for value in (0, 1, -5, 20):
        ideal = math.exp(-value * value / (2 * (sigma * grid) ** 2)) / total
        assert law.get(value, 0.0) == pytest.approx(ideal, rel=1e-9, abs=1e-17)
    assert sum(p * v * v for v, p in law.items()) / grid**2 == pytest.approx(noise.variance, rel=1e-9)
    assert sum(p * abs(v) for v, p in law.items()) / grid == pytest.approx(noise.mean_absolute, rel=1e-9)


def test_the_cut_of_a_table_bounds_its_distance_from_the_ideal_law():
    for scale in (2.0, 9.0):
        noise = laplace_noise(scale)
        law = law_of(noise)
        inside = {v: math.tanh(0.5 / scale) * math.exp(-abs(v) / scale) for v in law}
        distance = 0.5 * (sum(abs(law[v] - p) for v, p in inside.items()) + 1 - sum(inside.values()))
        assert distance <= noise.cut + 1e-15


def test_seeded_noise_repeats_and_its_moments_are_those_of_the_law():
    noise = laplace_noise(25.0)
    drawn = noise.draw(SeededNoise(7), "A", 100_000)
    assert np.array_equal(drawn, noise.draw(SeededNoise(7), "A", 100_000))
    spread = math.sqrt((law_fourth(25.0) - noise.variance**2) / drawn.size)
    assert abs(drawn.var() - noise.variance) < Z * spread
    wrong = laplace_noise(25.0 * 1.05)
    assert abs(drawn.var() - wrong.variance) > Z * spread


def law_fourth(scale):
    """E z⁴ of discrete Laplace noise, by summation."""
    z = np.arange(-60 * int(scale), 60 * int(scale) + 1)
    return float((math.tanh(0.5 / scale) * np.exp(-np.abs(z) / scale)) @ z.astype(float) ** 4)


def test_noise_that_depends_on_the_count_is_refused():
    two_rows = NoiseTable(4, (NoiseRow((0,), (4,)), NoiseRow((-1, 1), (2, 4))))
    with pytest.raises(InfeasibleDesign, match="one row"):
        look_up(two_rows, np.array([1], dtype=np.uint64))


def test_gaussian_noise_too_wide_for_a_table_is_refused_with_advice():
    with pytest.raises(InfeasibleDesign, match="larger epsilon"):
        gaussian_noise(5000.0)


def test_noise_is_added_to_the_grid_and_divided_after():
    class Counter:
        """A source that returns a fixed integer and remembers names."""

        def __init__(self):
            self.names = []

        def __call__(self, table, name, size):
            self.names.append(name)
            return np.full(size, 3, dtype=np.int64)

    source = Counter()
    noisy = gaussian_noise(2.0, 4).added_to(np.array([[10, 0]]), source, "AB")
    assert noisy.tolist() == [[10.75, 0.75]]
    laplace_noise(25.0).draw(source, "CD", 1)
    assert source.names == ["AB", "CD/31", "CD"]
