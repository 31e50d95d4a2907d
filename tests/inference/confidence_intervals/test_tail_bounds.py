from itertools import product

import numpy as np

from discreet.inference.confidence_intervals.tail_bounds import (
    PossibleRows,
    chernoff_bound,
    compositions,
    log_generating,
    number_of_compositions,
    possible_rows,
    worst_case_tails,
)
from discreet.inference.discrete_distribution import Distribution
from discreet.noise import laplace, maxent
from discreet.noise.table import keep_zero

NOISE = maxent(D=5, V=3, js=2)


def test_every_possible_count_is_served_by_one_of_the_laws():
    (rows,) = possible_rows([4], NOISE)
    counts = [n for n in range(20) if 4 - n in NOISE.row(n).values]
    assert (rows.least.min(), rows.most.max()) == (min(counts), max(counts))
    for n in counts:
        chances = [float(NOISE.row(n).probabilities().get(z, 0)) for z in range(rows.first, rows.last + 1)]
        served = (rows.least <= n) & (n <= rows.most)
        np.testing.assert_allclose(rows.laws[served], [chances], atol=1e-12)


def test_one_law_for_every_count_is_known_noise():
    (rows,) = possible_rows([4, 4], laplace(epsilon=1.0, m=5))
    assert rows.unique
    assert rows.times == 2
    assert (rows.law.first, rows.law.last) == (-5, 5)


def test_cells_that_are_taken_off_change_the_sign_of_noise_and_counts():
    (rows,) = possible_rows([4], NOISE)
    off, turned = rows.negative(), rows.mirror_noise()
    assert (off.first, off.last) == (-rows.last, -rows.first) == (turned.first, turned.last)
    assert (off.least == -rows.most).all()
    assert (turned.least == rows.least).all()
    np.testing.assert_allclose(off.moments()[0], -rows.moments()[0])
    np.testing.assert_allclose(off.moments()[1], rows.moments()[1])


def test_every_vector_of_possible_counts_has_its_law_among_the_compositions():
    cells = [*possible_rows([0, 0, 4], NOISE)]
    found = compositions(cells)
    known = {
        law.round(10).tobytes(): (low, high)
        for law, low, high in zip(found.laws, found.least, found.most, strict=True)
    }
    assert len(known) == len(found.laws) <= number_of_compositions(cells)
    values = range(cells[0].first, cells[0].last + 1)
    for counts in product((0, 1, 3), (0, 2), (1, 5, 8)):
        law = np.ones(1)
        for n in counts:
            law = np.convolve(law, [float(NOISE.row(n).probabilities().get(z, 0)) for z in values])
        close = [r for r, other in enumerate(found.laws) if np.allclose(law, other, atol=1e-12)]
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
    same = min(range(len(found.laws)), key=lambda at: abs(found.laws[at, 0] / exact - 1))
    assert np.isclose(found.laws[same, 0], exact, rtol=1e-12, atol=0)
    transformed = np.fft.irfft(np.fft.rfft(one, 256) ** cells, 256)
    assert not np.isclose(transformed[0], exact, rtol=1e-2, atol=0)


def test_zeros_that_may_be_kept_have_one_composition_for_each_number_of_others():
    """A law of a single value moves the others and does not widen them."""
    noise = keep_zero(laplace(epsilon=0.5, m=3))
    found = compositions([*possible_rows([0] * 5, noise)])
    row = [float(noise.row(1).probabilities()[z]) for z in range(-3, 4)]
    assert sorted(zip(found.least.tolist(), found.most.tolist(), strict=True)) == [
        (k, 3 * k) for k in range(6)
    ]
    for law, k in zip(found.laws, found.least.tolist(), strict=True):
        slow = np.ones(1)
        for _ in range(k):
            slow = np.convolve(slow, row)
        np.testing.assert_allclose(law[15 - 3 * k : 16 + 3 * k], slow, atol=1e-15)
        assert np.isclose(law.sum(), 1.0)


def tail(law, t):
    if t > law.last:
        return 0.0
    return 1.0 if t <= law.first else float(law.at_least()[t - law.first])


def test_chernoff_is_above_every_mixture_of_rows():
    laws = np.array([[0.25, 0.5, 0.25], [0.5, 0.0, 0.5]])
    bound = chernoff_bound([PossibleRows(-1, laws, np.array([0, 1]), np.array([0, 1]), 4)])
    for rows in product((0, 1), repeat=4):
        law = np.array([1.0])
        for row in rows:
            law = np.convolve(law, laws[row])
        for t in range(-4, 5):
            assert tail(bound, t) >= law[t + 4 :].sum() - 1e-12


def test_generating_functions_never_underflow_to_less():
    laws = np.zeros((1, 4001))
    laws[0, :2] = 0.5
    found = log_generating(laws, -2000)
    assert np.isfinite(found).all()
    tilts = np.geomspace(1e-5, 20.0, 240)
    exact = -2000 * tilts + np.log(0.5 + 0.5 * np.exp(tilts))
    assert (found >= exact - 1e-6).all()


NONE = Distribution(0, np.ones(1))


def test_the_opponent_does_no_less_than_any_true_table():
    laws = np.array([[0.25, 0.5, 0.25], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    cells = [PossibleRows(-1, laws, np.array([1, 2, 0]), np.array([1, 3, 0]), 5)]
    found = worst_case_tails(cells, NONE, (0, 0), lambda sums: 6 - sums)
    values = np.arange(-5, 6)
    for counts in product((0, 1, 2, 3), repeat=5):
        law = np.ones(1)
        for n in counts:
            law = np.convolve(law, laws[(2, 0, 1, 1)[n]])
        true = np.cumsum(law[::-1])[::-1]
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
    laws = np.array([[0.25, 0.5, 0.25], [0.5, 0.0, 0.5]])
    cells = [PossibleRows(-1, laws, np.array([0, 400]), np.array([0, 400]), 4)]
    found = worst_case_tails(cells, NONE, (0, 0), lambda sums: 0 * sums)
    assert found.at(np.array([1600]), np.array([4]))[0] >= 0.5**4
