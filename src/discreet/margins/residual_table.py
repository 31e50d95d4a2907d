"""Noisy residuals: measured once as whole numbers, and every table as their linear function.

    measured   y_S = g_S f_S + z_S, whole numbers; kept as differences from the first of every block along every chain
    part       r_S = y_S / g_S, centred within blocks
    table      f_T = Σ_{S ≤ T} r_S laid out in equal shares

Differences are all that centring looks at. What it removes is gone before anything is stored or becomes a float, whose
last digits could tell of it. Values are told in whole steps of 2^-30: sums of them are exact on every machine.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from discreet.margins.residual_space import Levels, ResidualSpace

#: Values are whole multiples of 1/UNIT.
UNIT = 2**30


def part_tables(
    space: ResidualSpace, counted: Mapping[Levels, NDArray[np.int64]]
) -> Iterable[tuple[Levels, NDArray[np.int64]]]:
    """The exact table of every part, fine ones first: counted, or added up from the smallest that holds it.

    Args:
        space: The parts.
        counted: Tables that hold all others, with an axis for every chain.
    """
    tables = dict(counted)
    for part in reversed(space.parts):
        if part not in tables:
            source = min((own for own in tables if is_within(part, own)), key=space.cells)
            tables[part] = added_up(space, tables[source], source, part)
        yield part, tables[part]


def added_up(
    space: ResidualSpace, table: NDArray[np.int64], source: Levels, part: Levels
) -> NDArray[np.int64]:
    """A table added up to coarser levels."""
    for axis, (chain, fine, coarse) in enumerate(zip(space.chains, source, part, strict=True)):
        for level in range(fine, coarse, -1):
            table = chain.summed(table, axis, level)
    return table


def differences(space: ResidualSpace, table: NDArray[np.int64], part: Levels) -> NDArray[np.int64]:
    """What is kept of a measured table: nothing that centring removes."""
    for axis, (chain, level) in enumerate(zip(space.chains, part, strict=True)):
        table = chain.from_first(table, axis, level)
    return table


def table_values(
    space: ResidualSpace, table: Levels, residual: Callable[[Levels], tuple[int, NDArray[np.int64]]]
) -> NDArray[np.int64]:
    """The values of a table in steps of 1/UNIT, with an axis for every chain.

    Args:
        space: The parts.
        table: A level of every chain.
        residual: The grid and the stored differences of a part.
    """
    total = np.zeros(space.shape(table))
    for part in space.parts:
        if is_within(part, table):
            grid, stored = residual(part)
            total += laid_out(space, stored / grid, part, table)
    return np.rint(total * UNIT).astype(np.int64)


def laid_out(
    space: ResidualSpace, measured: NDArray[np.float64], part: Levels, table: Levels
) -> NDArray[np.float64]:
    """A part, centred, in the cells of a table."""
    for axis, (chain, level) in enumerate(zip(space.chains, part, strict=True)):
        measured = chain.centred(measured, axis, level)
    for axis, (chain, level, fine) in enumerate(zip(space.chains, part, table, strict=True)):
        measured = chain.spread(measured, axis, level, fine)
    return measured


def lattice_loss(space: ResidualSpace, part: Levels, spread: float) -> float:
    """What whole numbers with noise of standard deviation `spread` may add to ε when only the centred part is kept.

    Centring a block of k categories forgets multiples of its all-ones line, a lattice of spacing √k. Seen through noise
    of spread s its cosets weigh the same up to a factor (1 ± e), where for N such lines

        e ≤ (1 + 2 Σ_{i≥1} e^(-2π² s² i²/k))^N - 1,

    with k the largest block. Each chain adds log((1+e)/(1-e)).
    """
    cells, loss = space.cells(part), 0.0
    for chain, level in zip(space.chains, part, strict=True):
        if not level:
            continue
        fall = math.exp(-2 * (math.pi * spread) ** 2 / int(chain.block_sizes(level).max()))
        lines = cells // chain.size(level) * chain.size(level - 1)
        uneven = math.expm1(min(lines * math.log1p(2 * fall / (1 - fall)), 1.0)) if fall < 1 else 1.0
        if uneven >= 1:
            return math.inf
        loss += 2 * math.atanh(uneven)
    return loss


def is_within(part: Levels, table: Levels) -> bool:
    """Whether a residual is a part of a table."""
    return all(low <= high for low, high in zip(part, table, strict=True))
