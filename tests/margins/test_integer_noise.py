from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InfeasibleDesign
from discreet.margins.integer_noise import (
    GRID,
    KEYS,
    WIDEST_TABLE,
    LaplaceSum,
    SeededNoise,
    fine_grid,
    gaussian_noise,
    gaussian_reserve,
    grid_steps,
    laplace_noise,
    look_up,
)
from discreet.margins.least_squares import independent
from discreet.margins.margin_set import MarginSet
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy.audit import delta as audited
from discreet.privacy.composition import gaussian_delta, gaussian_mu

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
    noisy = gaussian_noise(2.0, 4).add_to(np.array([[10, 0]]), source, "AB")
    assert noisy.tolist() == [[10.75, 0.75]]
    laplace_noise(25.0).draw(source, "CD", 1)
    assert source.names == ["AB", "CD/31", "CD"]


def delta_of_grid(sigma, grid, epsilon):
    """The exact δ of one count with discrete Gaussian noise on multiples of 1/grid, by summation."""
    spread = sigma * grid
    z = np.arange(-int(14 * spread) - grid, int(14 * spread) + grid + 1)
    law = np.exp(-(z**2) / (2 * spread**2))
    law /= law.sum()
    moved = np.zeros_like(law)
    moved[grid:] = law[:-grid]
    return float(np.maximum(0, law - math.exp(epsilon) * moved).sum())


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 5.0, 10.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_with_the_reserve_the_integer_grid_keeps_the_delta_asked_for(epsilon, delta):
    mu = gaussian_mu(epsilon, gaussian_reserve(epsilon, delta, 1))
    assert delta_of_grid(1 / mu, fine_grid(1 / mu, epsilon, mu), epsilon) <= delta


@pytest.mark.parametrize("epsilon", [1e-3, 0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [0.4, 0.1, 1e-2, 1e-5, 1e-11])
def test_the_bound_of_the_grid_holds_at_every_epsilon_and_delta(epsilon, delta):
    mu = gaussian_mu(epsilon, delta)
    found = delta_of_grid(1 / mu, fine_grid(1 / mu, epsilon, mu), epsilon)
    assert abs(found / gaussian_delta(mu, epsilon) - 1) <= GRID


def test_steps_that_follow_the_kink_alone_would_break_it_at_a_small_epsilon_and_a_large_delta():
    """Ten steps for each unit of t = epsilon/mu + mu/2 are too few where t is small."""
    epsilon, delta = 0.01, 0.1
    mu = gaussian_mu(epsilon, delta)
    coarse = max(1, math.ceil(10 * (epsilon / mu + mu / 2) * mu))
    assert abs(delta_of_grid(1 / mu, coarse, epsilon) / gaussian_delta(mu, epsilon) - 1) > 2 * GRID


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.6, 0.8)])
def test_two_parts_with_noise_of_their_own_keep_it_together(shares):
    """The joint delta of two counts by brute force over both grids."""
    epsilon, delta = 0.01, 0.1
    mu = gaussian_mu(epsilon, delta)
    laws = []
    for share in np.array(shares) / np.linalg.norm(shares):
        sigma = 1 / (mu * share)
        grid = fine_grid(sigma, epsilon, mu)
        z = np.arange(-int(9 * sigma * grid), int(9 * sigma * grid) + 1)
        law, moved = (np.exp(-((z - by) ** 2) / (2 * (sigma * grid) ** 2)) for by in (0, grid))
        laws.append((law / law.sum(), moved / law.sum()))
    joint, shifted = (np.multiply.outer(laws[0][side], laws[1][side]) for side in (0, 1))
    found = float(np.maximum(0, joint - math.exp(epsilon) * shifted).sum())
    assert abs(found / gaussian_delta(mu, epsilon) - 1) <= GRID


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 0.1), (0.5, 0.2), (2.0, 1e-9)])
def test_what_ships_keeps_the_delta_asked_for_by_the_exact_audit(epsilon, delta):
    plan = independent(MarginSet(("A",), (3,), ((0,),)), epsilon, delta, law="gaussian")
    (noise,) = set(plan.noise.values())
    ((_, table),) = noise.parts
    assert audited(table, epsilon=epsilon, group=noise.grid) <= delta


def test_large_noise_needs_no_finer_grid_and_a_few_steps_are_the_least():
    assert fine_grid(1e4, 1.0, 0.2) == 1
    assert min(grid_steps(e, m) for e in (0.01, 1.0) for m in (0.1, 1.0, 5.0)) >= 8


def test_a_coarse_grid_without_reserve_would_break_it():
    mu = gaussian_mu(2.0, 1e-9)
    assert delta_of_grid(1 / mu, 1, 2.0) > 1.1e-9


def test_a_delta_below_the_cut_of_the_tables_is_refused():
    with pytest.raises(InfeasibleDesign, match="cut"):
        gaussian_reserve(1.0, 1e-14, 1_000)


DRAWS = 200_000


def drawn(terms, seed):
    source = SeededNoise(seed)
    total = np.zeros(DRAWS)
    for weight, times, scale in terms:
        for _ in range(times):
            total += weight * laplace_noise(scale).draw(source, "x", DRAWS)
    return total


@pytest.mark.parametrize(
    "terms",
    [
        [(1.0, 1, 6.0)],
        [(0.8, 1, 20.0), (0.1, 6, 15.0)],
        [(0.25, 4, 9.0)],
        [(0.9, 1, 0.6), (0.2, 3, 0.8)],
        [(0.7, 1, 2.0), (0.3, 2, 30.0)],
    ],
)
def test_mean_absolute_is_that_of_drawn_noise(terms):
    sample = np.abs(drawn(terms, 11))
    spread = sample.std() / math.sqrt(DRAWS)
    expected = LaplaceSum.of(terms).mean_absolute()
    assert abs(sample.mean() - expected) < Z * spread + 0.002 * expected
    assert abs(sample.mean() - 1.05 * expected) > Z * spread


@pytest.mark.parametrize("scale", [0.3, 1.0, 3.0, 8.0])
def test_a_single_noise_has_its_closed_form(scale):
    assert LaplaceSum.of([(1.0, 1, scale)]).mean_absolute() == pytest.approx(
        1 / math.sinh(1 / scale), rel=3e-3
    )


def test_equal_noises_have_the_closed_form_of_their_sum():
    # the sum of two Laplace noises of scale b has mean absolute value 3b/2
    assert LaplaceSum.of([(1.0, 2, 500.0)]).mean_absolute() == pytest.approx(750, rel=1e-5)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_half_widths_hold_their_share_of_drawn_noise(level):
    terms = [(0.8, 1, 20.0), (0.1, 6, 15.0)]
    inside = (np.abs(drawn(terms, 5)) <= LaplaceSum.of(terms).half_width(level)).mean()
    spread = math.sqrt(level * (1 - level) / DRAWS)
    assert abs(inside - level) < Z * spread
    narrow = (np.abs(drawn(terms, 5)) <= 0.95 * LaplaceSum.of(terms).half_width(level)).mean()
    assert abs(narrow - level) > Z * spread
