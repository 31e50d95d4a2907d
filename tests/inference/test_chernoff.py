from itertools import product

import numpy as np

from discreet.inference.chernoff import chernoff, log_generating
from discreet.inference.possible_rows import PossibleRows


def tail(law, t):
    if t > law.last:
        return 0.0
    return 1.0 if t <= law.first else float(law.at_least()[t - law.first])


def test_chernoff_is_above_every_mixture_of_rows():
    laws = np.array([[0.25, 0.5, 0.25], [0.5, 0.0, 0.5]])
    bound = chernoff([PossibleRows(-1, laws, np.array([0, 1]), np.array([0, 1]), 4)])
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
