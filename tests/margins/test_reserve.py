from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.errors import InfeasibleDesign
from discreet.margins.reserve import fine_grid, gaussian_reserve
from discreet.privacy.gaussian import gaussian_mu


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


def test_a_coarse_grid_without_reserve_would_break_it():
    mu = gaussian_mu(2.0, 1e-9)
    assert delta_of_grid(1 / mu, 1, 2.0) > 1.1e-9


def test_a_delta_below_the_cut_of_the_tables_is_refused():
    with pytest.raises(InfeasibleDesign, match="cut"):
        gaussian_reserve(1.0, 1e-14, 1_000)
