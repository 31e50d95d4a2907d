"""Evidence: how much more likely the released numbers are if Bob is in the first cell than if he is not.

Two cells a, b with the same people but, perhaps, Bob; n is the unknown number of the others, with a flat prior:

    Bob out:  P(a, b) = sum over n of P_n(a) [a = b]         noise keyed by participants: one number
              P(a, b) = sum over n of P_n(a) P_n(b)          noise keyed by participants and description
    Bob in:   P(a, b) = sum over n of P_(n+1)(a) P_n(b)      other people, other noise

The logarithm of their ratio is the evidence. It is infinite where one of them is zero: that is a proof.

Source: Rinott et al. (2018), sections 2.2 and 4.1 (the set S = {b1 != b2} has probability zero without Bob).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.noise.table import NoiseRow, NoiseTable


@lru_cache(maxsize=4096)
def chance(noise: NoiseTable, count: int, released: int) -> float:
    """The probability that a count is released as a number."""
    return _masses(noise.row(count)).get(released - count, 0.0)


@lru_cache(maxsize=4096)
def _masses(row: NoiseRow) -> dict[int, float]:
    return {value: mass / row.modulus for value, mass in zip(row.values, row.masses(), strict=True)}


@lru_cache(maxsize=65536)
def pair_evidence(noise: NoiseTable, first: int, second: int, *, shared: bool) -> float:
    """The evidence of two released numbers that the first cell holds one person more.

    Args:
        noise: The law of the noise.
        first: The number of the cell that Bob may be in.
        second: The number of the same cell without him.
        shared: Whether the same people have the same number (noise keyed by participants alone).

    >>> from discreet.noise import maxent
    >>> noise = maxent(D=5, V=3, js=2)
    >>> pair_evidence(noise, 21, 20, shared=True), pair_evidence(noise, 20, 20, shared=True) < 0
    (inf, True)
    """
    counts = range(max(0, min(first, second) - noise.largest - 1), max(first, second) + noise.largest + 1)
    joined = sum(chance(noise, n + 1, first) * chance(noise, n, second) for n in counts)
    if shared:
        alone = sum(chance(noise, n, first) for n in counts) if first == second else 0.0
    else:
        alone = sum(chance(noise, n, first) * chance(noise, n, second) for n in counts)
    return log_ratio(joined, alone)


def cell_evidence(row: NoiseRow, released: int) -> float:
    """The evidence of one released number that its cell holds Bob, where it can hold nobody else: 1 against 0.

    >>> from discreet.noise import laplace
    >>> row = laplace(epsilon=0.5).rows[0]
    >>> round(cell_evidence(row, 3), 6), round(cell_evidence(row, 0), 6)
    (0.5, -0.5)
    """
    masses = _masses(row)
    return log_ratio(masses.get(released - 1, 0.0), masses.get(released, 0.0))


def log_ratio(yes: float, no: float) -> float:
    """log(yes / no), infinite where one is impossible; nothing is learnt from what neither explains."""
    if yes == 0 and no == 0:
        return 0.0
    return math.inf if no == 0 else -math.inf if yes == 0 else math.log(yes / no)


def apply_to_pairs(
    evidence: Callable[[int, int], float], first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.float64]:
    """A function of two numbers on two arrays; equal pairs are worked out once."""
    pairs, place = np.unique(np.stack([first.ravel(), second.ravel()]), axis=1, return_inverse=True)
    found = np.array([evidence(int(a), int(b)) for a, b in pairs.T])
    return found[place.reshape(first.shape)]


def add_evidence(for_him: NDArray[np.float64], against: NDArray[np.float64]) -> NDArray[np.float64]:
    """Evidence for minus evidence against; two proofs that contradict each other cancel."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(for_him - against, nan=0.0, posinf=np.inf, neginf=-np.inf)
