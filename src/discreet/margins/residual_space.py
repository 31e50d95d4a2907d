"""The residual space of declared tables: its parts, the sensitivity of each, and the least noise at a budget.

An attribute is a list of nested partitions, each finer than the one before (`Attribute`). A part S takes a level of every
attribute (0: no distinction). The declared tables need every part that is nowhere finer than one of them, the downward
closure. Each is measured as r_S, centred within the blocks of every attribute, with noise of variance v_S per cell
before centring. A person in a cell moves r_S by a vector of squared length Π_j (1 - 1/k_j), the k_j being the sizes of
their blocks. All parts together cost, for the worst-case person,

    μ² = max over paths p of  Σ_S C_S(p) / v_S,     C_S(p) = Π_j (1 - 1/k_j(p)),

and the variance of a cell is Σ_S v_S × its share of S. For add-remove this is exact. A replaced person leaves one cell and
enters another: ‖a - b‖² = ‖a‖² + ‖b‖² - 2ab. That is exact if blocks below the level at which the two part have one size,
and an upper bound otherwise. If totals of a level are invariant (`held`), both cells are in one category of that level,
and no part without a finer level moves.

    minimise Σ A_S v_S  subject to  cost ≤ 1:    v_S = √(c_S/A_S) · Σ √(A_S c_S),   c the worst mix of persons

The mean absolute error is Σ weight · √variance; iterating with weights over 2 sd descends to its least value.

Source: Xiao, He, Zhang & Kifer (2023, ResidualPlanner) for the basis of tables without levels; docs/methods/dp-joint.md.

Noisy residuals: measured once as integers; every table is a linear function of them.

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

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.margins.integer_noise import centring_loss

#: A level of every attribute; 0 is everyone.
Levels = tuple[int, ...]

#: The most paths that are compared; beyond, attributes count with their worst block at every level.
MOST_PATHS = 512
_ROUNDS = 80
_ADVERSARY_ROUNDS = 25
_ENOUGH = 1e-7


@dataclass(frozen=True, eq=False)
class ResidualSpace:
    """Attributes and the declared tables.

    Args:
        tables: For each declared table a level of every attribute.
        held: For each attribute the level whose category a replaced record keeps; 0 for none. Empty: none of any attribute.
    """

    attributes: tuple[Attribute, ...]
    tables: tuple[Levels, ...]
    neighbours: str = "add-remove"
    held: Levels = ()

    @cached_property
    def parts(self) -> tuple[Levels, ...]:
        """The downward closure, coarse parts first.

        >>> from discreet.margins.residual_space import flat_attribute
        >>> ResidualSpace((flat_attribute(2), flat_attribute(3)), ((1, 0), (0, 1))).parts
        ((0, 0), (0, 1), (1, 0))
        """
        found = {part for table in self.tables for part in product(*(range(level + 1) for level in table))}
        return tuple(sorted(found, key=lambda part: (sum(part), part)))

    def cells(self, part: Levels) -> int:
        return math.prod(self.shape(part))

    def shape(self, part: Levels) -> tuple[int, ...]:
        return tuple(attribute.size(level) for attribute, level in zip(self.attributes, part, strict=True))

    def block_cells(self, part: Levels) -> int:
        """The number of cells in the blocks of one person, at most; other cells are equal for all neighbours."""
        return math.prod(
            int(attribute.block_sizes(level).max()) if level else 1
            for attribute, level in zip(self.attributes, part, strict=True)
        )

    @cached_property
    def costs(self) -> tuple[tuple[Fraction, ...], ...]:
        """For each kind of change by one record, its squared length in every part; exact or an upper bound."""
        held = self.held or (0,) * len(self.attributes)
        pairs = zip(self.attributes, held, strict=True)
        kinds = [_changes(attribute, self.neighbours, own) for attribute, own in pairs]
        while math.prod(map(len, kinds)) > MOST_PATHS:
            widest = max(range(len(kinds)), key=lambda place: len(kinds[place]))
            kinds[widest] = _fewer(kinds[widest])
        rows = [[_square_length(change, part) for part in self.parts] for change in product(*kinds)]
        return tuple(dict.fromkeys(map(tuple, rows)))

    def cost(self, variances: Sequence[Fraction]) -> Fraction:
        """μ² of all parts together for the worst-case record, exactly; invariant parts have variance 0."""
        return max(
            sum((c / v for c, v in zip(row, variances, strict=True) if v), Fraction(0)) for row in self.costs
        )

    @cached_property
    def free(self) -> NDArray[np.bool_]:
        """Parts that no change moves: the total under replace-one, and invariant levels."""
        return np.array([not any(column) for column in zip(*self.costs, strict=True)])

    def shares(self) -> NDArray[np.float64]:
        """Row table, column part: the share of a part's variance in the mean variance of the table's cells."""
        found = np.zeros((len(self.tables), len(self.parts)))
        means = [_mean_shares(attribute) for attribute in self.attributes]
        place = {part: column for column, part in enumerate(self.parts)}
        for row, table in enumerate(self.tables):
            for part in product(*(range(level + 1) for level in table)):
                levels = zip(means, part, table, strict=True)
                found[row, place[part]] = math.prod(mean[high][low] for mean, low, high in levels)
        return found

    def optimum(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variances of the parts at cost 1 with the least weighted mean absolute error; 0 for invariant parts."""
        shares = self.shares()
        solver = _Solver(np.array([[float(c) for c in row] for row in self.costs]), ~self.free)
        current, best, before = weights, np.zeros(len(self.parts)), math.inf
        for _ in range(_ROUNDS):
            variances = solver.solve(current @ shares)
            sd = np.sqrt(shares @ variances)
            now = float(weights @ sd)
            if now < before:
                best = variances
            if now > before * (1 - _ENOUGH):
                break
            before, current = now, weights / (2 * np.where(sd > 0, sd, 1.0))
        return best


@dataclass(slots=True)
class _Solver:
    """The least Σ gain · v at cost 1 against every row of costs; multiplicative weights on the rows find the worst mix."""

    rows: NDArray[np.float64]
    used: NDArray[np.bool_]
    mix: NDArray[np.float64] | None = None

    def solve(self, gain: NDArray[np.float64]) -> NDArray[np.float64]:
        rows, gain_used = self.rows[:, self.used], gain[self.used]
        mix = np.full(len(rows), 1 / len(rows)) if self.mix is None else self.mix
        variance = np.sqrt(mix @ rows / gain_used)
        for _ in range(_ADVERSARY_ROUNDS if len(rows) > 1 else 0):
            mix = mix * (rows @ (1 / variance))
            mix /= mix.sum()
            variance = np.sqrt(mix @ rows / gain_used)
        self.mix = mix
        found = np.zeros(len(gain))
        found[self.used] = variance * float((rows @ (1 / variance)).max())
        return found


@dataclass(frozen=True, slots=True)
class _Change:
    """A change along one attribute, level by level: squared lengths, and bounds of the inner product.

    Args:
        here: Of the cell that is left or entered, the larger.
        inner: Least and largest inner product of the two cells; None if only one cell changes.
        apart: The first level at which the two may differ.
    """

    here: tuple[Fraction, ...]
    inner: tuple[tuple[Fraction, Fraction], ...] | None = None
    apart: int = 0


def _changes(attribute: Attribute, neighbours: str, held: int) -> list[_Change]:
    """Every kind of change along an attribute; two replaced cells share their categories down to a held level."""
    if neighbours == "add-remove":
        return [_Change(path) for path in attribute.paths]
    return [
        change
        for apart in range(held + 1, attribute.levels + 2)
        for change in _replacements(attribute, apart)
    ]


def _replacements(attribute: Attribute, apart: int) -> list[_Change]:
    """Two cells that part at a level: siblings there, in the same blocks above, unrelated below.

    There is one change for each list of sizes of the shared blocks. Below, the larger squared length of the two
    is at most the largest of the attribute.
    """
    last = min(apart, attribute.levels)
    columns = [attribute.siblings(level)[attribute.ancestors(last, level)] for level in range(1, last + 1)]
    found = np.unique(np.stack(columns, axis=1), axis=0) if last else np.zeros((1, 0), dtype=np.int64)
    below = [
        1 - Fraction(1, int(attribute.block_sizes(level).max()))
        for level in range(last + 1, attribute.levels + 1)
    ]
    changes = []
    for sizes in found.tolist():
        if apart <= attribute.levels and sizes[-1] == 1:
            continue  # an only child has no sibling
        lengths = (Fraction(1), *(1 - Fraction(1, size) for size in sizes))
        inner = [*lengths, *(Fraction(0) for _ in below)]
        if apart <= attribute.levels:
            inner[apart] = -Fraction(1, sizes[-1])
        changes.append(_Change((*lengths, *below), tuple((each, each) for each in inner), apart))
    return changes


def _fewer(changes: list[_Change]) -> list[_Change]:
    """Fewer changes that are nowhere cheaper: one for each level at which cells part, and then one for all."""
    levels = dict.fromkeys(change.apart for change in changes)
    groups = [[change for change in changes if change.apart == level] for level in levels]
    return [_dearest(each) for each in (groups if len(groups) < len(changes) else [changes])]


def _dearest(changes: list[_Change]) -> _Change:
    here = tuple(max(column) for column in zip(*(each.here for each in changes), strict=True))
    if changes[0].inner is None:
        return _Change(here)
    levels = zip(*(each.inner for each in changes if each.inner), strict=True)
    inner = tuple((min(low for low, _ in level), max(high for _, high in level)) for level in levels)
    return _Change(here, inner, min(each.apart for each in changes))


def _square_length(change: tuple[_Change, ...], part: Levels) -> Fraction:
    """The squared length of a change in a part; 0 if both cells are the same in it."""
    length = math.prod(
        (each.here[level] for each, level in zip(change, part, strict=True)), start=Fraction(1)
    )
    if not change or change[0].inner is None:
        return length
    if all(level < each.apart for each, level in zip(change, part, strict=True)):
        return Fraction(0)
    ends = [{*each.inner[level]} for each, level in zip(change, part, strict=True) if level and each.inner]
    low = min(math.prod(mix, start=Fraction(1)) for mix in product(*ends))
    return 2 * (length - low) if length > low else Fraction(0)


def _mean_shares(attribute: Attribute) -> list[list[float]]:
    """Row level, column level above: the share of a variance there in a category here, averaged over categories."""
    return [
        [float(np.mean(own_share(attribute, level, above))) for above in range(level + 1)]
        for level in range(attribute.levels + 1)
    ]


def own_share(attribute: Attribute, level: int, above: int) -> NDArray[np.float64]:
    """For each category of a level the share of a variance at a level above, before centring, in its own."""
    kept = 1 - 1 / attribute.siblings(above) if above else np.ones(1)
    return np.asarray(attribute.shares(level, above) ** 2 * kept[attribute.ancestors(level, above)])


@dataclass(frozen=True, eq=False)
class Attribute:
    """One attribute as nested partitions; a variable without hierarchy has one level.

        level 0   everyone           level 1   regions          level 2   districts, each in one region

    The counts of a level are its own part and a share of the level above. With k(c) the number of children of c's parent,

        f_l(c) = r_l(c) + f_(l-1)(parent of c) / k(c),      r_l = f_l less the mean of its block of siblings.

    So level l adds the contrasts within blocks: the levels are nested subspaces, and the parts r_l are orthogonal.

    Args:
        parents: For each level from 1 on, the parent of each of its categories in the level above.

    >>> attribute = Attribute((np.zeros(2, np.int64), np.array([0, 0, 0, 1, 1])))
    >>> attribute.size(2), attribute.block_sizes(2).tolist(), attribute.siblings(2).tolist()
    (5, [3, 2], [3, 3, 3, 2, 2])
    """

    parents: tuple[NDArray[np.int64], ...]

    @property
    def levels(self) -> int:
        return len(self.parents)

    def size(self, level: int) -> int:
        return self.parents[level - 1].size if level else 1

    def block_sizes(self, level: int) -> NDArray[np.int64]:
        """The number of children of each category of the level above."""
        return np.bincount(self.parents[level - 1], minlength=self.size(level - 1)).astype(np.int64)

    def siblings(self, level: int) -> NDArray[np.int64]:
        return self.block_sizes(level)[self.parents[level - 1]]

    def first_siblings(self, level: int) -> NDArray[np.int64]:
        _, first, block = np.unique(self.parents[level - 1], return_index=True, return_inverse=True)
        return np.asarray(first[block])

    def ancestors(self, level: int, above: int) -> NDArray[np.int64]:
        """For each category of a level its ancestor at a level above."""
        found = np.arange(self.size(level))
        for each in range(level, above, -1):
            found = self.parents[each - 1][found]
        return found

    def shares(self, level: int, above: int) -> NDArray[np.float64]:
        """The part of a count above that each category of a level gets, before contrasts: 1 over all block sizes between."""
        share = np.ones(self.size(level))
        for each in range(level, above, -1):
            share = share / self.siblings(each)[self.ancestors(level, each)]
        return share

    @cached_property
    def paths(self) -> tuple[tuple[Fraction, ...], ...]:
        """The squared sensitivity 1 - 1/k at each level; only the paths that no other path dominates.

        >>> Attribute((np.zeros(2, np.int64), np.array([0, 0, 0, 1, 1]))).paths
        ((Fraction(1, 1), Fraction(1, 2), Fraction(2, 3)),)
        """
        finest = self.levels
        columns = [self.siblings(level)[self.ancestors(finest, level)] for level in range(1, finest + 1)]
        found = np.unique(np.stack(columns, axis=1), axis=0) if finest else np.zeros((1, 0), np.int64)
        top = [
            row for row in found if not any((other >= row).all() and (other > row).any() for other in found)
        ]
        return tuple((Fraction(1), *(1 - Fraction(1, int(k)) for k in row)) for row in top)

    def sum_up(self, table: NDArray[Any], axis: int, level: int) -> NDArray[Any]:
        """Sum a table along an axis, from a level to the one above."""
        front = np.moveaxis(table, axis, 0)
        total = np.zeros((self.size(level - 1), *front.shape[1:]), dtype=table.dtype)
        np.add.at(total, self.parents[level - 1], front)  # in order: the same floats on every machine
        return np.moveaxis(total, 0, axis)

    def centre(self, table: NDArray[np.float64], axis: int, level: int) -> NDArray[np.float64]:
        """Subtract the mean of its block from every category along an axis."""
        if not level:
            return table
        sizes = np.maximum(self.block_sizes(level), 1)
        means = self.sum_up(table, axis, level) / along(sizes, axis, table.ndim)
        return np.asarray(table - np.take(means, self.parents[level - 1], axis=axis))

    def from_first(self, table: NDArray[np.int64], axis: int, level: int) -> NDArray[np.int64]:
        """Integers as differences from the first of their block: this removes what centring removes, before any float."""
        if not level:
            return table
        return np.asarray(table - np.take(table, self.first_siblings(level), axis=axis))

    def spread(self, table: NDArray[np.float64], axis: int, above: int, level: int) -> NDArray[np.float64]:
        """Expand a table along an axis from a level to a finer one, in equal shares."""
        if above == level:
            return table
        wide = np.take(table, self.ancestors(level, above), axis=axis)
        return np.asarray(wide * along(self.shares(level, above), axis, table.ndim))


def flat_attribute(categories: int) -> Attribute:
    """The attribute of a variable without levels.

    >>> flat_attribute(4).paths
    ((Fraction(1, 1), Fraction(3, 4)),)
    """
    return Attribute((np.zeros(categories, dtype=np.int64),))


def along(values: NDArray[Any], axis: int, dimensions: int) -> NDArray[Any]:
    """Values reshaped to broadcast along one axis of a table."""
    return values.reshape([-1 if each == axis else 1 for each in range(dimensions)])


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
    blocks = (
        (int(attribute.block_sizes(level).max()), cells // attribute.size(level) * attribute.size(level - 1))
        for attribute, level in zip(space.attributes, part, strict=True)
        if level
    )
    return centring_loss(sigma, blocks)


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
