"""How far the cells of a joint universe are from the truth, from the variances of its residuals alone.

Source: docs/methods/dp-joint.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.protect.joint_chains import levels_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.margins.chain import Chain
    from discreet.margins.residual_space import Levels, ResidualSpace
    from discreet.model.universe import Margin


@dataclass(frozen=True, eq=False)
class JointErrors:
    """How far the cells of a joint universe are from the truth: known before any noise table is made.

    Args:
        names: For each chain the variable of every level, coarse to fine.
        space: The chains, the declared tables and their parts.
        variances: Of each part before centring, in counts, in the order of `space.parts`.
    """

    names: tuple[tuple[str, ...], ...]
    space: ResidualSpace
    variances: tuple[float, ...]

    def levels(self, margin: Margin) -> Levels:
        """A margin as a level of every chain."""
        return levels_of(self.names, margin)

    def of_cells(self, margin: Margin) -> list[tuple[float, int]]:
        """The variances that cells of a declared table have, each with the number of cells."""
        chains = zip(self.space.chains, self.levels(margin), strict=True)
        kinds = [_kinds(chain, level) for chain, level in chains]
        return list(_mixed(kinds, list(zip(self.space.parts, self.variances, strict=True))))

    def expected_error(self, margin: Margin) -> float:
        """The mean over its cells of E|value - true count|: √(2/π) sd."""
        found = self.of_cells(margin)
        cells = sum(number for _, number in found)
        return math.sqrt(2 / math.pi) * math.fsum(math.sqrt(v) * n for v, n in found) / cells

    def standard_deviation(self, margin: Margin) -> float:
        """The root of the mean variance of its cells."""
        found = self.of_cells(margin)
        return math.sqrt(math.fsum(v * n for v, n in found) / sum(number for _, number in found))

    def most_exact(self, margin: Margin) -> float:
        """The largest chance that a cell shows its true count: its noise is then below one half."""
        least = min(v for v, _ in self.of_cells(margin))
        return 1.0 if least == 0 else math.erf(0.5 / math.sqrt(2 * least))


#: For one chain at one level: what each level above adds to the variance of a category, and how many categories are so.
Kinds = list[tuple[tuple[float, ...], int]]


def _kinds(chain: Chain, level: int) -> Kinds:
    columns = []
    for above in range(level + 1):
        kept = 1 - 1 / chain.siblings(above) if above else np.ones(1)
        columns.append(chain.shares(level, above) ** 2 * kept[chain.ancestors(level, above)])
    found, numbers = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    return [(tuple(row), number) for row, number in zip(found.tolist(), numbers.tolist(), strict=True)]


def _mixed(kinds: list[Kinds], parts: list[tuple[Levels, float]]) -> Iterator[tuple[float, int]]:
    """Variances of cells by the kinds of their categories; chain by chain, parts that a table lacks left out."""
    if not kinds:
        yield math.fsum(v for _, v in parts), 1
        return
    for factors, number in kinds[0]:
        rest = [(part[1:], v * factors[part[0]]) for part, v in parts if part[0] < len(factors)]
        for variance, others in _mixed(kinds[1:], _together(rest)):
            yield variance, number * others


def _together(parts: list[tuple[Levels, float]]) -> list[tuple[Levels, float]]:
    found: dict[Levels, float] = {}
    for part, variance in parts:
        found[part] = found.get(part, 0.0) + variance
    return list(found.items())
