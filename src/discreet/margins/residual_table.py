"""Noisy residuals: measured once as whole numbers, and every table as their linear function.

    measured   y_S = g_S f_S + z_S, whole numbers; kept as differences from the first of every block along every chain
    part       r_S = y_S / g_S, centred within blocks
    table      f_T = Σ_{S ≤ T} r_S laid out in equal shares

Differences are all that centring looks at. What it removes is gone before anything is stored or becomes a float, whose
last digits could tell of it. Values are told in whole steps of 2^-30: sums of them are exact on every machine.

Second moments of cells that are boxes: some categories of every chain, added up over a table's cells.

A box adds up the cells of a table over a set B_j of categories of each chain j, at a level L_j. It is a linear function of
the noisy residuals that factorises, and so do its variance and the covariance of two boxes:

    Cov = Σ_S v_S Π_j ⟨u_j, u'_j⟩,     u_j = the indicator of B_j seen at the level of S, centred within blocks,

a category of the level of S weighing the sum of the shares of its descendants in B_j. Parts finer than one of the boxes
add nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.margins.residual_space import Attribute, Levels, ResidualSpace

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
            tables[part] = coarsen(space, tables[source], source, part)
        yield part, tables[part]


def coarsen(
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


#: For one chain: the level, and the categories of that level that are added up.
Side = tuple[int, NDArray[np.int64]]


def norms_squared(
    chain: Attribute, level: int, kept: NDArray[np.int64], target: NDArray[np.int64], outputs: int
) -> list[NDArray[np.float64]]:
    """For each level above, the squared length of every output's indicator there, centred within blocks.

    Args:
        chain: The attribute.
        level: Of the categories.
        kept: The categories that count.
        target: The output that each of them is added to.
        outputs: How many outputs there are.
    """
    found = []
    for above in range(level + 1):
        seen = chain.ancestors(level, above)[kept]
        output, at, weight = _gather(target, seen, chain.shares(level, above)[kept], chain.size(above))
        squares = np.bincount(output, weight**2, minlength=outputs)
        if above:
            sizes, blocks = chain.block_sizes(above), chain.parents[above - 1][at]
            output, at, weight = _gather(output, blocks, weight, chain.size(above - 1))
            squares -= np.bincount(output, weight**2 / sizes[at], minlength=outputs)
        found.append(np.maximum(squares, 0.0))
    return found


def _gather(
    output: NDArray[np.int64], at: NDArray[np.int64], weight: NDArray[np.float64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Weights of the same output and place, added up."""
    key, place = np.unique(output * size + at, return_inverse=True)
    added = np.bincount(place, weight, minlength=key.size).astype(np.float64)
    return np.asarray(key // size), np.asarray(key % size), added


def covariances(
    space: ResidualSpace, variances: Sequence[float], boxes: Sequence[Sequence[Side]]
) -> NDArray[np.float64]:
    """The covariance matrix of boxes.

    Args:
        space: The parts.
        variances: Of each part, in the order of the parts.
        boxes: Each box as one side for every chain.
    """
    gram = [_gram(chain, [box[place] for box in boxes]) for place, chain in enumerate(space.chains)]
    total = np.zeros((len(boxes), len(boxes)))
    for part, variance in zip(space.parts, variances, strict=True):
        product = np.full_like(total, variance)
        for own, level in zip(gram, part, strict=True):
            product *= own[level]
        total += product
    return total


def _gram(chain: Attribute, sides: Sequence[Side]) -> list[NDArray[np.float64]]:
    """For each level the inner products of all sides there; zero for sides that are coarser."""
    found = []
    for above in range(chain.levels + 1):
        seen = np.zeros((len(sides), chain.size(above)))
        for row, (level, kept) in zip(seen, sides, strict=True):
            if above <= level:
                np.add.at(row, chain.ancestors(level, above)[kept], chain.shares(level, above)[kept])
        seen = chain.centred(seen, 1, above)
        found.append(seen @ seen.T)
    return found
