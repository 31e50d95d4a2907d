import math

import numpy as np
import pytest

from discreet.errors import InfeasibleDesign
from discreet.margins import integer_noise
from discreet.margins.least_squares import independent
from discreet.margins.margin_set import MarginSet
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy.audit import delta as audited
from discreet.privacy.composition import gaussian_delta, gaussian_mu

from .conftest import Z


def distribution_of(noise):
    """The exact distribution of a sum of steps times tables, by convolution."""
    distribution = {0: 1.0}
    for step, table in noise.parts:
        masses = [
            (step * v, m / integer_noise.KEYS)
            for v, m in zip(table.rows[0].values, table.rows[0].masses(), strict=True)
        ]
        joint: dict[int, float] = {}
        for value, p in distribution.items():
            for other, q in masses:
                joint[value + other] = joint.get(value + other, 0.0) + p * q
        distribution = joint
    return distribution


@pytest.mark.parametrize("scale", [0.2, 1.0, 11.0, 13.0, 60.0])
def test_laplace_noise_has_its_distribution_whether_or_not_it_is_taken_apart(scale):
    noise = integer_noise.laplace_noise(scale)
    assert (len(noise.parts) == 2) == (scale > 11.5)
    distribution = distribution_of(noise)
    for value in (0, 1, -1, 7, 50, -200):
        ideal = math.tanh(0.5 / scale) * math.exp(-abs(value) / scale)
        assert distribution.get(value, 0.0) == pytest.approx(ideal, rel=1e-9, abs=1e-17)
    assert sum(p * v * v for v, p in distribution.items()) == pytest.approx(noise.variance, rel=1e-9)
    assert sum(p * abs(v) for v, p in distribution.items()) == pytest.approx(noise.mean_absolute, rel=1e-9)


@pytest.mark.parametrize(("sigma", "grid"), [(0.7, 1), (3.0, 1), (3.0, 7), (40.0, 1)])
def test_gaussian_noise_has_its_distribution_on_its_grid(sigma, grid):
    noise = integer_noise.gaussian_noise(sigma, grid)
    distribution = distribution_of(noise)
    total = sum(math.exp(-z * z / (2 * (sigma * grid) ** 2)) for z in range(-2000, 2001))
    for value in (0, 1, -5, 20):
        ideal = math.exp(-value * value / (2 * (sigma * grid) ** 2)) / total
        assert distribution.get(value, 0.0) == pytest.approx(ideal, rel=1e-9, abs=1e-17)
    assert sum(p * v * v for v, p in distribution.items()) / grid**2 == pytest.approx(
        noise.variance, rel=1e-9
    )
    assert sum(p * abs(v) for v, p in distribution.items()) / grid == pytest.approx(
        noise.mean_absolute, rel=1e-9
    )


def test_the_cut_of_a_table_bounds_its_distance_from_the_ideal_distribution():
    for scale in (2.0, 9.0):
        noise = integer_noise.laplace_noise(scale)
        distribution = distribution_of(noise)
        inside = {v: math.tanh(0.5 / scale) * math.exp(-abs(v) / scale) for v in distribution}
        distance = 0.5 * (sum(abs(distribution[v] - p) for v, p in inside.items()) + 1 - sum(inside.values()))
        assert distance <= noise.cut + 1e-15


def test_seeded_noise_repeats_and_its_moments_are_those_of_the_distribution():
    noise = integer_noise.laplace_noise(25.0)
    drawn = noise.draw(integer_noise.SeededNoise(7), "A", 100_000)
    assert np.array_equal(drawn, noise.draw(integer_noise.SeededNoise(7), "A", 100_000))
    spread = math.sqrt((distribution_fourth(25.0) - noise.variance**2) / drawn.size)
    assert abs(drawn.var() - noise.variance) < Z * spread
    wrong = integer_noise.laplace_noise(25.0 * 1.05)
    assert abs(drawn.var() - wrong.variance) > Z * spread


def distribution_fourth(scale):
    """E z⁴ of discrete Laplace noise, by summation."""
    z = np.arange(-60 * int(scale), 60 * int(scale) + 1)
    return float((math.tanh(0.5 / scale) * np.exp(-np.abs(z) / scale)) @ z.astype(float) ** 4)


def test_noise_that_depends_on_the_count_is_refused():
    two_rows = NoiseTable(4, (NoiseRow((0,), (4,)), NoiseRow((-1, 1), (2, 4))))
    with pytest.raises(InfeasibleDesign, match="one row"):
        integer_noise.look_up(two_rows, np.array([1], dtype=np.uint64))


def test_gaussian_noise_too_wide_for_a_table_is_refused_with_advice():
    with pytest.raises(InfeasibleDesign, match="larger epsilon"):
        integer_noise.gaussian_noise(5000.0)


def test_noise_is_added_to_the_grid_and_divided_after():
    names = []

    def source(_table, name, size):
        names.append(name)
        return np.full(size, 3, dtype=np.int64)

    noisy = integer_noise.gaussian_noise(2.0, 4).add_to(np.array([[10, 0]]), source, "AB")
    assert noisy.tolist() == [[10.75, 0.75]]
    integer_noise.laplace_noise(25.0).draw(source, "CD", 1)
    assert names == ["AB", "CD/31", "CD"]


def delta_of_grid(sigma, grid, epsilon):
    """The exact δ of one count with discrete Gaussian noise on multiples of 1/grid, by summation."""
    spread = sigma * grid
    z = np.arange(-int(14 * spread) - grid, int(14 * spread) + grid + 1)
    distribution = np.exp(-(z**2) / (2 * spread**2))
    distribution /= distribution.sum()
    moved = np.zeros_like(distribution)
    moved[grid:] = distribution[:-grid]
    return float(np.maximum(0, distribution - math.exp(epsilon) * moved).sum())


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 5.0, 10.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_with_the_reserve_the_integer_grid_keeps_the_delta_asked_for(epsilon, delta):
    mu = gaussian_mu(epsilon, integer_noise.gaussian_reserve(epsilon, delta, 1))
    assert delta_of_grid(1 / mu, integer_noise.fine_grid(1 / mu, epsilon, mu), epsilon) <= delta


@pytest.mark.parametrize("epsilon", [1e-3, 0.01, 0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [0.4, 0.1, 1e-2, 1e-5, 1e-11])
def test_the_bound_of_the_grid_holds_at_every_epsilon_and_delta(epsilon, delta):
    mu = gaussian_mu(epsilon, delta)
    found = delta_of_grid(1 / mu, integer_noise.fine_grid(1 / mu, epsilon, mu), epsilon)
    assert abs(found / gaussian_delta(mu, epsilon) - 1) <= integer_noise.GRID


def test_steps_that_follow_the_kink_alone_would_break_it_at_a_small_epsilon_and_a_large_delta():
    """Ten steps for each unit of t = epsilon/mu + mu/2 are too few where t is small."""
    epsilon, delta = 0.01, 0.1
    mu = gaussian_mu(epsilon, delta)
    coarse = max(1, math.ceil(10 * (epsilon / mu + mu / 2) * mu))
    assert (
        abs(delta_of_grid(1 / mu, coarse, epsilon) / gaussian_delta(mu, epsilon) - 1) > 2 * integer_noise.GRID
    )


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.6, 0.8)])
def test_two_parts_with_noise_of_their_own_keep_it_together(shares):
    """The joint delta of two counts by brute force over both grids."""
    epsilon, delta = 0.01, 0.1
    mu = gaussian_mu(epsilon, delta)
    distributions = []
    for share in np.array(shares) / np.linalg.norm(shares):
        sigma = 1 / (mu * share)
        grid = integer_noise.fine_grid(sigma, epsilon, mu)
        z = np.arange(-int(9 * sigma * grid), int(9 * sigma * grid) + 1)
        distribution, moved = (np.exp(-((z - by) ** 2) / (2 * (sigma * grid) ** 2)) for by in (0, grid))
        distributions.append((distribution / distribution.sum(), moved / distribution.sum()))
    joint, shifted = (np.multiply.outer(distributions[0][side], distributions[1][side]) for side in (0, 1))
    found = float(np.maximum(0, joint - math.exp(epsilon) * shifted).sum())
    assert abs(found / gaussian_delta(mu, epsilon) - 1) <= integer_noise.GRID


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 0.1), (0.5, 0.2), (2.0, 1e-9)])
def test_what_ships_keeps_the_delta_asked_for_by_the_exact_audit(epsilon, delta):
    plan = independent(MarginSet(("A",), (3,), ((0,),)), epsilon, delta, distribution="gaussian")
    (noise,) = set(plan.noise.values())
    ((_, table),) = noise.parts
    assert audited(table, epsilon=epsilon, group=noise.grid) <= delta


def test_a_coarse_grid_without_reserve_would_break_it():
    mu = gaussian_mu(2.0, 1e-9)
    assert delta_of_grid(1 / mu, 1, 2.0) > 1.1e-9


def test_a_delta_below_the_cut_of_the_tables_is_refused():
    with pytest.raises(InfeasibleDesign, match="cut"):
        integer_noise.gaussian_reserve(1.0, 1e-14, 1_000)


DRAWS = 200_000


def drawn(terms, seed):
    source = integer_noise.SeededNoise(seed)
    total = np.zeros(DRAWS)
    for weight, times, scale in terms:
        for _ in range(times):
            total += weight * integer_noise.laplace_noise(scale).draw(source, "x", DRAWS)
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
    expected = integer_noise.LaplaceSum.of(terms).mean_absolute()
    assert abs(sample.mean() - expected) < Z * spread + 0.002 * expected
    assert abs(sample.mean() - 1.05 * expected) > Z * spread


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_half_widths_hold_their_share_of_drawn_noise(level):
    terms = [(0.8, 1, 20.0), (0.1, 6, 15.0)]
    inside = (np.abs(drawn(terms, 5)) <= integer_noise.LaplaceSum.of(terms).half_width(level)).mean()
    spread = math.sqrt(level * (1 - level) / DRAWS)
    assert abs(inside - level) < Z * spread
    narrow = (np.abs(drawn(terms, 5)) <= 0.95 * integer_noise.LaplaceSum.of(terms).half_width(level)).mean()
    assert abs(narrow - level) > Z * spread
