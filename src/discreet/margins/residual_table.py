"""Noisy residuals: measured once as integers; every table is a linear function of them.

    measured   y_S = g_S f_S + z_S, integers; stored as differences from the first of every block along every attribute
    part       r_S = y_S / g_S, centred within blocks
    table      f_T = Σ_{S ≤ T} r_S expanded in equal shares

Centring uses only the differences. What it removes is removed before anything is stored or becomes a float, whose last
digits could reveal it. Values are integers in steps of 2^-30: their sums are exact on every machine.

A box sums the cells of a table over a set B_j of categories of each attribute j, at a level L_j. Its variance and the
covariance of two boxes factorise:

    Cov = Σ_S v_S Π_j ⟨u_j, u'_j⟩,     u_j = the indicator of B_j at the level of S, centred within blocks,

where a category of the level of S has as weight the sum of the shares of its descendants in B_j. Parts finer than one of
the boxes add nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.margins.integer_noise import centring_loss
from discreet.margins.residual_space import Attribute, Levels, ResidualSpace

#: Values are whole multiples of 1/UNIT.
UNIT = 2**30


def part_tables(
    space: ResidualSpace, counted: Mapping[Levels, NDArray[np.int64]]
) -> Iterable[tuple[Levels, NDArray[np.int64]]]:
    """The exact table of every part, fine ones first: counted, or summed from the smallest table that contains it."""
    tables = dict(counted)
    for part in reversed(space.parts):
        if part not in tables:
            source = min((own for own in tables if is_within(part, own)), key=space.cells)
            tables[part] = coarsen(space, tables[source], source, part)
        yield part, tables[part]


def coarsen(
    space: ResidualSpace, table: NDArray[np.int64], source: Levels, part: Levels
) -> NDArray[np.int64]:
    """A table summed to coarser levels."""
    for axis, (attribute, fine, coarse) in enumerate(zip(space.attributes, source, part, strict=True)):
        for level in range(fine, coarse, -1):
            table = attribute.sum_up(table, axis, level)
    return table


def differences(space: ResidualSpace, table: NDArray[np.int64], part: Levels) -> NDArray[np.int64]:
    """The stored form of a measured table, without what centring removes."""
    for axis, (attribute, level) in enumerate(zip(space.attributes, part, strict=True)):
        table = attribute.from_first(table, axis, level)
    return table


def table_values(
    space: ResidualSpace, table: Levels, residual: Callable[[Levels], tuple[int, NDArray[np.int64]]]
) -> NDArray[np.int64]:
    """The values of a table in steps of 1/UNIT; `residual` returns the grid and the stored differences of a part."""
    total = np.zeros(space.shape(table))
    for part in space.parts:
        if is_within(part, table):
            grid, stored = residual(part)
            total += laid_out(space, stored / grid, part, table)
    return np.rint(total * UNIT).astype(np.int64)


def laid_out(
    space: ResidualSpace, measured: NDArray[np.float64], part: Levels, table: Levels
) -> NDArray[np.float64]:
    """A centred part in the cells of a table."""
    for axis, (attribute, level) in enumerate(zip(space.attributes, part, strict=True)):
        measured = attribute.centre(measured, axis, level)
    for axis, (attribute, level, fine) in enumerate(zip(space.attributes, part, table, strict=True)):
        measured = attribute.spread(measured, axis, level, fine)
    return measured


def lattice_loss(space: ResidualSpace, part: Levels, sigma: float) -> float:
    """The addition to ε by integers with noise of standard deviation `sigma` of which only the centred part is released."""
    cells = space.cells(part)
    return centring_loss(
        sigma,
        (
            (
                int(attribute.block_sizes(level).max()),
                cells // attribute.size(level) * attribute.size(level - 1),
            )
            for attribute, level in zip(space.attributes, part, strict=True)
            if level
        ),
    )


def is_within(part: Levels, table: Levels) -> bool:
    """Whether a residual is a part of a table."""
    return all(low <= high for low, high in zip(part, table, strict=True))


#: For one attribute: the level, and the categories of that level that are summed.
Side = tuple[int, NDArray[np.int64]]


def norms_squared(
    attribute: Attribute, level: int, kept: NDArray[np.int64], target: NDArray[np.int64], outputs: int
) -> list[NDArray[np.float64]]:
    """For each level above, the squared length of every output's indicator there, centred within blocks.

    `target` has the output of each of the categories `kept` of a level.
    """
    found = []
    for above in range(level + 1):
        seen = attribute.ancestors(level, above)[kept]
        output, at, weight = _gather(
            target, seen, attribute.shares(level, above)[kept], attribute.size(above)
        )
        squares = np.bincount(output, weight**2, minlength=outputs)
        if above:
            sizes, blocks = attribute.block_sizes(above), attribute.parents[above - 1][at]
            output, at, weight = _gather(output, blocks, weight, attribute.size(above - 1))
            squares -= np.bincount(output, weight**2 / sizes[at], minlength=outputs)
        found.append(np.maximum(squares, 0.0))
    return found


def _gather(
    output: NDArray[np.int64], at: NDArray[np.int64], weight: NDArray[np.float64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    key, place = np.unique(output * size + at, return_inverse=True)
    added = np.bincount(place, weight, minlength=key.size).astype(np.float64)
    return np.asarray(key // size), np.asarray(key % size), added


def covariances(
    space: ResidualSpace, variances: Sequence[float], boxes: Sequence[Sequence[Side]]
) -> NDArray[np.float64]:
    """The covariance matrix of boxes, each with one side per attribute, from the variance of each part."""
    gram = [
        _gram(attribute, [box[place] for box in boxes]) for place, attribute in enumerate(space.attributes)
    ]
    total = np.zeros((len(boxes), len(boxes)))
    for part, variance in zip(space.parts, variances, strict=True):
        product = np.full_like(total, variance)
        for own, level in zip(gram, part, strict=True):
            product *= own[level]
        total += product
    return total


def _gram(attribute: Attribute, sides: Sequence[Side]) -> list[NDArray[np.float64]]:
    """For each level the inner products of all sides there; zero for coarser sides."""
    found = []
    for above in range(attribute.levels + 1):
        seen = np.zeros((len(sides), attribute.size(above)))
        for row, (level, kept) in zip(seen, sides, strict=True):
            if above <= level:
                np.add.at(row, attribute.ancestors(level, above)[kept], attribute.shares(level, above)[kept])
        seen = attribute.centre(seen, 1, above)
        found.append(seen @ seen.T)
    return found
