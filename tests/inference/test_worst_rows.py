from itertools import product

import numpy as np

from discreet.inference.law import Law
from discreet.inference.possible_rows import PossibleRows, possible_rows
from discreet.inference.worst_rows import worst_rows
from discreet.noise import maxent

NONE = Law(0, np.ones(1))


def test_the_opponent_does_no_less_than_any_true_table():
    laws = np.array([[0.25, 0.5, 0.25], [0.5, 0.0, 0.5], [0.0, 1.0, 0.0]])
    cells = [PossibleRows(-1, laws, np.array([1, 2, 0]), np.array([1, 3, 0]), 5)]
    found = worst_rows(cells, NONE, (0, 0), lambda sums: 6 - sums)
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
    reflected = [rows.noise_reflected() for rows in cells]
    found = worst_rows(reflected, NONE, (0, 0), lambda sums: sums)
    assert found.at(np.array([15]), np.array([15]))[0] < 0.01
    untied = found.tails[found.tilts == 0][0, 15 - found.first]
    assert untied > 0.1


def test_a_bound_that_would_take_too_long_is_not_made():
    cells = [*possible_rows([0, 3, 4, 5] * 50_000, maxent(D=5, V=3, js=2))]
    assert worst_rows(cells, NONE, (0, 0), lambda sums: sums) is None


def test_a_strong_tilt_says_nothing_of_sums_whose_weight_underflows():
    """A wrong alternative: 0 times a large weight would call every tail of a large sum impossible."""
    laws = np.array([[0.25, 0.5, 0.25], [0.5, 0.0, 0.5]])
    cells = [PossibleRows(-1, laws, np.array([0, 400]), np.array([0, 400]), 4)]
    found = worst_rows(cells, NONE, (0, 0), lambda sums: 0 * sums)
    assert found.at(np.array([1600]), np.array([4]))[0] >= 0.5**4
