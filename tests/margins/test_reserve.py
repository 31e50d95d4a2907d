from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.errors import InfeasibleDesign
from discreet.margins.closure import MarginSet
from discreet.margins.independent import independent
from discreet.margins.reserve import GRID, fine_grid, gaussian_reserve, grid_steps
from discreet.privacy.audit import delta as audited
from discreet.privacy.gaussian import gaussian_delta, gaussian_mu


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
