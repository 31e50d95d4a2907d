"""The best law within bounds, given its multipliers: isotonic left of zero, clipped from below.

For θ(v) = c + a v + b v² the maximiser of Σ p θ - Σ (p log p - p) under

    p ≥ 1e-8,   p(0) ≥ p_stay,   p nondecreasing in v for v ≤ 0

is exp(θ) with θ made isotonic by pooling adjacent violators (means of θ) and raised to its lower bounds.
Where p(0) is held at p_stay, the values left of it are isotonic among themselves and at most p_stay.

Source: Barlow & Brunk (1972), generalised isotonic regression.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from discreet.noise.row_problem import SMALLEST_PROBABILITY

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.noise.row_problem import RowProblem


class Block(NamedTuple):
    """Places start..stop-1 that share one log-probability; `free` if it follows the multipliers."""

    start: int
    stop: int
    level: float
    free: bool = True

    def at_least(self, floor: float) -> Block:
        """The block raised to a lower bound, which then holds it."""
        return self if self.level > floor else Block(self.start, self.stop, floor, free=False)

    def at_most(self, ceiling: float) -> Block:
        """The block lowered to an upper bound, which then holds it."""
        return self if self.level < ceiling else Block(self.start, self.stop, ceiling, free=False)


class BoundedLaw:
    """The bounds of a row, applied to any θ."""

    def __init__(self, problem: RowProblem) -> None:
        self.zero = problem.zero
        self.left = (problem.zero or 0) + 1 if problem.monotone and problem.zero is not None else 0
        self.floor = math.log(SMALLEST_PROBABILITY)
        self.stay = math.log(max(problem.p_stay, SMALLEST_PROBABILITY))

    def blocks(self, theta: NDArray[np.float64]) -> list[Block]:
        """The log-probabilities that belong to θ, as blocks from left to right."""
        levels = theta.tolist()
        chain = isotonic(levels[: self.left])
        if chain and chain[-1].level < self.stay:
            below = [block.at_most(self.stay) for block in isotonic(levels[: self.left - 1])]
            chain = [*below, Block(self.left - 1, self.left, self.stay, free=False)]
        rest = [Block(j, j + 1, levels[j]) for j in range(self.left, len(levels))]
        if not self.left and self.zero is not None:
            rest[self.zero] = rest[self.zero].at_least(self.stay)
        return [block.at_least(self.floor) for block in (*chain, *rest)]


def isotonic(levels: list[float]) -> list[Block]:
    """Pool adjacent violators: blocks of ascending means.

    >>> [(block.start, block.stop, block.level) for block in isotonic([1.0, 3.0, 2.0])]
    [(0, 1, 1.0), (1, 3, 2.5)]
    """
    blocks: list[Block] = []
    for place, level in enumerate(levels):
        block = Block(place, place + 1, level)
        while blocks and blocks[-1].level > block.level:
            block = _merged(blocks.pop(), block)
        blocks.append(block)
    return blocks


def _merged(left: Block, right: Block) -> Block:
    size, extra = left.stop - left.start, right.stop - right.start
    return Block(left.start, right.stop, (left.level * size + right.level * extra) / (size + extra))
