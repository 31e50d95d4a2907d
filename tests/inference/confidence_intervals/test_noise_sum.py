from itertools import product

import numpy as np
import pytest

from discreet.inference.channel import Distribution
from discreet.inference.confidence_intervals import noise_sum as noise_sum_module
from discreet.inference.confidence_intervals.noise_sum import CompositionTails, noise_sum
from discreet.inference.confidence_intervals.tail_bounds import (
    PossibleRows,
    chernoff_bound,
    compositions,
    log_generating,
    number_of_compositions,
    possible_rows,
    worst_case_tails,
)
from discreet.noise import laplace, maxent
from discreet.noise.table import keep_zero


def true_tail(counts, noise):
    """P(noise sum >= t) for the true counts, by convolution."""
    first, distribution = 0, np.ones(1)
    for n in counts:
        values, masses = noise.row(n).values, noise.row(n).masses()
        own = np.zeros(values[-1] - values[0] + 1)
        own[np.array(values) - values[0]] = np.array(masses) / noise.modulus
        first, distribution = first + values[0], np.convolve(distribution, own)
    return first + np.arange(distribution.size), distribution


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(0, 1), (5, 14, 9), (1, 1, 1, 1), (0, 3, 1, 2, 6, 1, 4, 9, 0, 2)])
def test_no_tail_of_the_true_noise_is_above_its_bound_whatever_is_released(any_noise, counts):
    if len(counts) > 4 and any_noise.family in {"hellinger", "exponential"}:
        pytest.skip("the bound takes seconds here, and is the same code")
    values, chances = true_tail(counts, any_noise)
    supports = [list(any_noise.row(n).values) for n in counts]
    rng = np.random.default_rng(0)
    draws = [tuple(rng.choice(s) for s in supports) for _ in range(3)]
    draws += [tuple(s[0] for s in supports), tuple(s[-1] for s in supports)]
    truth = np.array([sum(counts)])
    for draw in draws:
        found = noise_sum(np.add(counts, draw), any_noise)
        assert found.least <= sum(counts) <= found.most
        up = np.array([chances[values >= t].sum() for t in values])
        down = np.array([chances[values <= t].sum() for t in values])
        assert (found.up.at(truth, values) >= up - 1e-9).all()
        assert (found.down.at(truth, -values) >= down - 1e-9).all()


def test_one_row_for_all_counts_gives_the_exact_distribution():
    noise = laplace(epsilon=0.5, m=4)
    values, chances = true_tail((3, 8, 20), noise)
    found = noise_sum([3, 8, 20], noise)
    assert not found.by_sum
    assert not noise_sum([20, 40], NOISE).by_sum
    assert noise_sum([20, 3], NOISE).by_sum
    tails = np.cumsum(chances[::-1])[::-1]
    np.testing.assert_allclose(found.up.at(np.array([31]), values), tails, atol=1e-12)


def test_a_difference_is_a_sum_with_the_noise_of_the_others_turned_round():
    noise = maxent(D=5, V=3, js=2)
    one, other = noise_sum([4, 30], noise, minus=[7]), noise_sum([7], noise, minus=[4, 30])
    assert (one.released, one.least, one.most) == (27, -other.most, -other.least)
    sums, values = np.arange(one.least, one.most + 1)[:, None], np.arange(-9, 10)
    np.testing.assert_allclose(one.up.at(sums, values), other.down.at(-sums, values), atol=1e-12)


def test_noise_that_is_tied_to_the_sum_is_less_than_noise_that_is_not():
    """Four released zeros with a true sum of 1 hold one person: at most one cell of the four has noise."""
    found = noise_sum([0] * 4, maxent(D=5, V=3, js=2))
    one, many = (found.up.at(np.array([s]), np.array([6]))[0] for s in (1, 8))
    assert one == 0
    assert many > 0.01


def slow_sums_of_kept_zeros(noise, cells, alpha):
    """The sums s that some number k of cells with noise allows: P(T_k >= -s) and P(T_k <= -s) above alpha."""
    row = noise.row(1).probabilities()
    one = np.array([float(row[z]) for z in sorted(row)])
    reach, distribution, up, down = max(row), np.ones(1), {}, {}
    for k in range(cells + 1):
        for s in range(k, reach * k + 1):
            at = reach * k - s
            up[s] = max(up.get(s, 0.0), distribution[at:].sum())
            down[s] = max(down.get(s, 0.0), distribution[: at + 1].sum())
        distribution = np.convolve(distribution, one)
    return [s for s in up if up[s] > alpha and down[s] > alpha]


@pytest.mark.parametrize("cells", [4, 60, 200])
def test_many_zeros_that_may_be_kept_have_the_sums_of_the_slow_inversion(cells):
    """A bound that holds for all compositions at once gives three times the width for 400 zeros."""
    noise = keep_zero(laplace(epsilon=0.5, m=7))
    kept = noise_sum([0] * cells, noise).confidence_set(0.05)
    slow = slow_sums_of_kept_zeros(noise, min(cells, 60), 0.05)
    assert (kept[0], kept[-1]) == (slow[0], slow[-1])
    if cells == 200:
        up, _ = noise_sum_module._tails(
            [*possible_rows([0] * cells, noise)], Distribution(0, np.ones(1)), (0, 0), 0
        )
        assert isinstance(up, CompositionTails)


def test_tails_that_are_looked_up_are_those_of_the_table_of_all_sums():
    cells = [*possible_rows([0, 0, 4, 5], maxent(D=5, V=3, js=2))]
    given = cells, Distribution(-1, np.array([0.2, 0.5, 0.3])), (3, 9)
    sums, values = np.arange(3, 40)[:, None], np.arange(-25, 26)
    pairs = zip(
        noise_sum_module._tails_by_sum(*given), noise_sum_module._tails_by_composition(*given), strict=True
    )
    for table, looked_up in pairs:
        inside = (sums >= looked_up.least.min()) & (sums <= looked_up.most.max())
        np.testing.assert_array_equal(
            np.where(inside, table.at(sums, values), 0), np.where(inside, looked_up.at(sums, values), 0)
        )


def test_very_many_cells_get_a_bound_in_little_time():
    """The bound for 200,000 cells is not 200,000 times the worst bias, but a multiple of the deviation."""
    noise = maxent(D=5, V=3, js=2)
    found = noise_sum([0, 3, 4, 5] * 50_000, noise)
    kept = found.confidence_set(0.025)
    deviation = np.sqrt(3 * 200_000)
    assert 1.9 * deviation < found.released - kept[0] < 3 * deviation


NOISE = maxent(D=5, V=3, js=2)


def test_every_vector_of_possible_counts_has_its_distribution_among_the_compositions():
    cells = [*possible_rows([0, 0, 4], NOISE)]
    found = compositions(cells)
    known = {
        distribution.round(10).tobytes(): (low, high)
        for distribution, low, high in zip(found.distributions, found.least, found.most, strict=True)
    }
    assert len(known) == len(found.distributions) <= number_of_compositions(cells)
    values = range(cells[0].first, cells[0].last + 1)
    for counts in product((0, 1, 3), (0, 2), (1, 5, 8)):
        distribution = np.ones(1)
        for n in counts:
            distribution = np.convolve(
                distribution, [float(NOISE.row(n).probabilities().get(z, 0)) for z in values]
            )
        close = [
            r for r, other in enumerate(found.distributions) if np.allclose(distribution, other, atol=1e-12)
        ]
        assert len(close) == 1
        assert found.least[close[0]] <= sum(counts) <= found.most[close[0]]


def test_small_chances_are_right_in_themselves():
    """The least chance, of all cells at the rarest noise, is a product; a transform leaves rounding of 1e-17 there."""
    noise, cells = maxent(D=8, V=3, js=0), 8
    found = compositions([*possible_rows([8] * cells, noise)])
    row = noise.row(16).probabilities()
    one = np.array([float(row.get(z, 0)) for z in range(-8, 9)])
    exact = float(row[-8]) ** cells
    assert exact < 1e-20
    same = min(range(len(found.distributions)), key=lambda at: abs(found.distributions[at, 0] / exact - 1))
    assert np.isclose(found.distributions[same, 0], exact, rtol=1e-12, atol=0)
    transformed = np.fft.irfft(np.fft.rfft(one, 256) ** cells, 256)
    assert not np.isclose(transformed[0], exact, rtol=1e-2, atol=0)


def tail(distribution, t):
    if t > distribution.last:
        return 0.0
    return 1.0 if t <= distribution.first else float(distribution.at_least()[t - distribution.first])


def test_chernoff_is_above_every_mixture_of_rows():
    distributions = np.array([[0.25, 0.5, 0.25], [0.5, 0.0, 0.5]])
    bound = chernoff_bound([PossibleRows(-1, distributions, np.array([0, 1]), np.array([0, 1]), 4)])
    for rows in product((0, 1), repeat=4):
        distribution = np.array([1.0])
        for row in rows:
            distribution = np.convolve(distribution, distributions[row])
        for t in range(-4, 5):
            assert tail(bound, t) >= distribution[t + 4 :].sum() - 1e-12


def test_generating_functions_never_underflow_to_less():
    distributions = np.zeros((1, 4001))
    distributions[0, :2] = 0.5
    found = log_generating(distributions, -2000)
    assert np.isfinite(found).all()
    tilts = np.geomspace(1e-5, 20.0, 240)
    exact = -2000 * tilts + np.log(0.5 + 0.5 * np.exp(tilts))
    assert (found >= exact - 1e-6).all()


NONE = Distribution(0, np.ones(1))


def test_the_opponent_does_no_less_than_any_true_table():
    distributions = np.array([[0.25, 0.5, 0.25], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    cells = [PossibleRows(-1, distributions, np.array([1, 2, 0]), np.array([1, 3, 0]), 5)]
    found = worst_case_tails(cells, NONE, (0, 0), lambda sums: 6 - sums)
    values = np.arange(-5, 6)
    for counts in product((0, 1, 2, 3), repeat=5):
        distribution = np.ones(1)
        for n in counts:
            distribution = np.convolve(distribution, distributions[(2, 0, 1, 1)[n]])
        true = np.cumsum(distribution[::-1])[::-1]
        assert (found.at(np.array([sum(counts)]), values) >= true - 1e-12).all()


def test_tilts_tie_the_noise_to_the_sum():
    """Forty released zeros: a small sum leaves most of them empty, and empty cells have no noise."""
    cells = [*possible_rows([0] * 40, maxent(D=5, V=3, js=2))]
    reflected = [rows.mirror_noise() for rows in cells]
    found = worst_case_tails(reflected, NONE, (0, 0), lambda sums: sums)
    assert found.at(np.array([15]), np.array([15]))[0] < 0.01
    untied = found.tails[found.tilts == 0][0, 15 - found.first]
    assert untied > 0.1


def test_a_bound_that_would_take_too_long_is_not_made():
    cells = [*possible_rows([0, 3, 4, 5] * 50_000, maxent(D=5, V=3, js=2))]
    assert worst_case_tails(cells, NONE, (0, 0), lambda sums: sums) is None


def test_a_strong_tilt_says_nothing_of_sums_whose_weight_underflows():
    """A wrong alternative: 0 times a large weight would call every tail of a large sum impossible."""
    distributions = np.array([[0.25, 0.5, 0.25], [0.5, 0.0, 0.5]])
    cells = [PossibleRows(-1, distributions, np.array([0, 400]), np.array([0, 400]), 4)]
    found = worst_case_tails(cells, NONE, (0, 0), lambda sums: 0 * sums)
    assert found.at(np.array([1600]), np.array([4]))[0] >= 0.5**4
