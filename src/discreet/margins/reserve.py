"""What of δ is set aside, because integers ship where the accounting speaks of the Gaussian law.

Two things differ: a table of 2^64 keys is cut and rounded (total variation below `CUT` for each noise), and
integers are a grid (the δ of a grid oscillates about the Gaussian's, relatively by at most `GRID`).

Source: the bound δ + (1 + e^ε)·TV for laws at total variation TV from private ones; docs/methods.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.errors import InfeasibleDesign
from discreet.margins.integer_noise import KEYS, WIDEST_GAUSSIAN
from discreet.privacy.gaussian import gaussian_delta

#: Total variation of one table from its ideal law, at most: see `IntegerNoise.cut` for the widest table.
CUT = (2 * WIDEST_GAUSSIAN + 3) / KEYS
#: The relative change of δ by the integer grid, at most; `grid_steps` makes it hold at every (ε, δ).
GRID = 1e-3
#: A noise spans at least so many steps: all but one line of the dual grid is then negligible (below 1e-30).
FEWEST_STEPS = 8
#: What whole numbers may tell beyond the Gaussian law once they are centred, in ε, for everything released together.
LATTICE_LOSS = 1e-12
_POINTS = 20_001


def gaussian_reserve(epsilon: float, delta: float, noises: int) -> float:
    """The δ that is left for the Gaussian law when `noises` tables of integers ship.

    >>> gaussian_reserve(1.0, 1e-6, 2000) > 0.998e-6
    True
    """
    left = (delta - (1 + math.exp(epsilon)) * noises * CUT) * (1 - GRID)
    if left <= 0:
        raise InfeasibleDesign(
            f"delta = {delta:g} is less than the cut of the noise tables costs for {noises:,} cells.",
            "Take a larger delta, or pure Laplace noise (delta 0).",
        )
    return left


def grid_steps(epsilon: float, mu: float) -> float:
    """How many integer steps a standard deviation must span, so that the grid changes δ by at most `GRID` of itself.

    δ is the sum over a grid of H(u) = max(0, φ(u) - e^ε φ(u + μ)), which has one kink, at t = ε/μ - μ/2. By Poisson
    summation the sum differs from the integral by the Fourier transform of H at the dual grid, whose vectors are at
    least s long. It is at most V / (2π y)² at y, with V the total variation of H', and dual vectors beside the line
    of the shift are damped by e^(-2π² distance²). Those near the line are at least s √(3/4) apart, hence

        |sum - integral| ≤ 2 Σ_j V / (2π j)² / (3 s²/4) = V / (9 s²).

    >>> round(grid_steps(1.0, 0.24), 1), round(grid_steps(0.01, 0.26), 1)
    (72.0, 18.3)
    """
    kink = epsilon / mu - mu / 2
    beyond = np.linspace(0.0, math.sqrt(kink**2 + 120) - kink, _POINTS)
    at = kink + beyond
    # H' in units of φ(t).
    slope = np.exp(-beyond * (kink + beyond / 2)) * ((at + mu) * np.exp(-mu * beyond) - at)
    variation = 1.01 * float(slope[0] + np.abs(np.diff(slope)).sum())
    density = math.exp(-(kink**2) / 2) / math.sqrt(2 * math.pi)
    return max(FEWEST_STEPS, math.sqrt(variation * density / (9 * GRID * gaussian_delta(mu, epsilon))))


def fine_grid(sigma: float, epsilon: float, mu: float) -> int:
    """How many integer steps a count is worth, so that noise of `sigma` counts is a fine grid.

    >>> fine_grid(4.2, 1.0, 0.24), fine_grid(100.0, 1.0, 0.24)
    (18, 1)
    """
    return max(1, math.ceil(grid_steps(epsilon, mu) / sigma))
