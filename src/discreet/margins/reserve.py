"""What of δ is set aside, because integers ship where the accounting speaks of the Gaussian law.

Two things differ: a table of 2^64 keys is cut and rounded (total variation below `CUT` for each noise), and
integers are a grid (the δ of a grid oscillates about the Gaussian's, relatively by less than `GRID`).

Comes from: a budget. Goes to: `independent`, `residual_basis`, before μ is computed.
Source: the bound δ + (1 + e^ε)·TV for laws at total variation TV from private ones; docs/methods.
"""

from __future__ import annotations

import math

from discreet.errors import InfeasibleDesign
from discreet.margins.integer_noise import KEYS, WIDEST_GAUSSIAN

#: Total variation of one table from its ideal law, at most: see `IntegerNoise.cut` for the widest table.
CUT = (2 * WIDEST_GAUSSIAN + 3) / KEYS
#: The relative change of δ by the integer grid, at most, when a noise spans `STEPS` steps for each unit of
#: t = ε/μ + μ/2, the place in standard deviations where the hockey-stick begins: (t/s)²/12 with s ≥ 10 t.
GRID = 1e-3
STEPS = 10


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


def fine_grid(sigma: float, epsilon: float, mu: float) -> int:
    """How many integer steps a count is worth, so that noise of `sigma` counts is a fine grid.

    >>> fine_grid(4.2, 1.0, 0.24), fine_grid(100.0, 1.0, 0.24)
    (11, 1)
    """
    return max(1, math.ceil(STEPS * (epsilon / mu + mu / 2) / sigma))
