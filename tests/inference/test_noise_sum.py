from itertools import product

import numpy as np
import pytest

from discreet.inference.noise_sum import _chernoff, _log_generating, noise_sum
from discreet.noise import laplace, maxent


def true_tail(counts, noise):
    """P(noise sum >= t) for the true counts, by convolution."""
    law = {0: 1.0}
    for n in counts:
        fresh: dict[int, float] = {}
        for at, chance in law.items():
            for value, part in noise.row(n).probabilities().items():
                fresh[at + value] = fresh.get(at + value, 0.0) + chance * float(part)
        law = fresh
    values = np.array(sorted(law))
    chances = np.array([law[v] for v in values.tolist()])
    return values, chances


def tail(law, t):
    if t > law.last:
        return 0.0
    return 1.0 if t <= law.first else float(law.at_least()[t - law.first])


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(0, 1), (2, 3), (5, 14, 9), (1, 1, 1, 1)])
def test_the_true_noise_lies_between_the_two_laws_whatever_is_released(any_noise, counts):
    values, chances = true_tail(counts, any_noise)
    supports = [list(any_noise.row(n).values) for n in counts]
    rng = np.random.default_rng(0)
    draws = [tuple(rng.choice(s) for s in supports) for _ in range(6)]
    draws += [tuple(s[0] for s in supports), tuple(s[-1] for s in supports)]
    for draw in draws:
        found = noise_sum(np.add(counts, draw), any_noise)
        assert found.least <= sum(counts) <= found.most
        for t in values:
            assert tail(found.high, t) >= chances[values >= t].sum() - 1e-9
            assert tail(found.low.reflected(), -t) >= chances[values <= t].sum() - 1e-9


def test_one_row_for_all_counts_gives_the_exact_law():
    noise = laplace(epsilon=0.5, m=4)
    values, chances = true_tail((3, 8, 20), noise)
    found = noise_sum([3, 8, 20], noise)
    assert found.exact
    assert found.high.values.tolist() == values.tolist()
    np.testing.assert_allclose(found.high.chances, chances, atol=1e-12)


def test_large_counts_are_exact_though_small_ones_have_rows_of_their_own():
    noise = maxent(D=5, V=3, js=2)
    assert noise_sum([20, 40], noise).exact
    assert not noise_sum([20, 3], noise).exact


def test_many_small_cells_cost_little_where_rows_are_unbiased():
    """The bound for 10,000 cells is not 10,000 times the worst bias, but a multiple of the deviation."""
    noise = maxent(D=5, V=3, js=2)
    found = noise_sum([0, 3, 4, 5] * 2500, noise)
    deviation = np.sqrt(3 * 10_000)
    assert found.high.highest_not_rare(0.025) < 3 * deviation
    assert found.high.highest_not_rare(0.025) > 1.9 * deviation


def test_chernoff_is_above_every_mixture_of_rows():
    laws = np.array([[0.25, 0.5, 0.25], [0.5, 0.0, 0.5]])
    bound = _chernoff(laws, -1, [np.array([0, 1])], np.array([4]))
    for rows in product((0, 1), repeat=4):
        law = np.array([1.0])
        for row in rows:
            law = np.convolve(law, laws[row])
        for t in range(-4, 5):
            assert tail(bound, t) >= law[t + 4 :].sum() - 1e-12


def test_generating_functions_never_underflow_to_less():
    laws = np.zeros((1, 4001))
    laws[0, :2] = 0.5
    found = _log_generating(laws, -2000)
    assert np.isfinite(found).all()
    tilts = np.geomspace(1e-5, 20.0, 240)
    exact = -2000 * tilts + np.log(0.5 + 0.5 * np.exp(tilts))
    assert (found >= exact - 1e-6).all()
