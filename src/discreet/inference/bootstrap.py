"""The parametric bootstrap: the p-value of a test when counts are too small for its chi-square law.

Tables are drawn from the fitted hypothesis, given noise from the noise table with fresh random keys, and
tested in the same way:

    p = (1 + number of drawn statistics that are at least the observed one) / (1 + number of draws).

The statistic is centred first (`centring`), since its size depends on the means when they are small.
The draws have a fixed seed: the same release gives the same p-value to everybody.

Comes from: a fit and its noise table. Goes to: `log_linear`, `goodness_of_fit`.
Source: Davison & Hinkley (1997), chapter 4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.inference.noise_by_cell import NoiseByCell

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.noise.table import NoiseTable

SEED = 2018
REPLICATES = 499


def with_noise(
    counts: NDArray[np.int64], noise: NoiseTable | NoiseByCell, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Counts with noise of fresh random keys; where laws differ by cell, one table or a batch of them.

    >>> from discreet.noise import laplace
    >>> with_noise(np.array([5]), laplace(epsilon=50.0, m=1), np.random.default_rng(0)).tolist()
    [5]
    """
    if isinstance(noise, NoiseByCell):
        return counts + noise.drawn(counts.size // noise.kind.size, rng).reshape(counts.shape)
    keys = rng.integers(0, noise.modulus, counts.shape, dtype=np.uint64)
    return counts + noise.noise(counts, keys)


def simulated(
    means: NDArray[np.float64],
    noise: NoiseTable | NoiseByCell,
    draws: int,
    seed: int,
    total: int | None = None,
) -> NDArray[np.int64]:
    """Released tables from fitted means: Poisson, or multinomial where the total is public."""
    rng = np.random.default_rng(seed)
    if total is None:
        counts = rng.poisson(means, (draws, *means.shape))
    else:
        shares = means.ravel() / means.sum()
        counts = rng.multinomial(total, shares, draws).reshape(draws, *means.shape)
    return with_noise(counts.astype(np.int64), noise, rng)


def bootstrap_p_value(observed: float, drawn: NDArray[np.float64]) -> float:
    """The share of statistics at least as large as the observed one, itself included.

    >>> bootstrap_p_value(2.0, np.array([1.0, 3.0, 2.0]))
    0.75
    """
    # Statistics that are equal up to rounding count as equal.
    return float((1 + (drawn >= observed - 1e-9).sum()) / (1 + len(drawn)))
