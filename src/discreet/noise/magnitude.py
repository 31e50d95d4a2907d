"""Cell key noise for sums of a numeric variable: tables of multipliers, and the three definitions that apply them.

The largest contributions x_1 >= x_2 >= ... >= x_k to a sum x are perturbed one after the other,

    x <- x + sign(x) |d_j| sign(v) (mu + |v|),    d_j = x_j m(x_j) e_j,    v looked up at a = |x / d_j| by the key u_j,

with e_j the factor of rank j and the multiplier m, `large` for large contributions and `small` near `point`:

    m(x) = large (1 + (small x - large point) / (large point) (2 point / (point + x))^power)    for x >= point, else small.

If |x| < |d_j|, then d_j = x. With a table for small contributions (separation), contributions below z take d = 1 and that
table, z = sqrt(V_small) / (small sqrt(sum of e_j^2)). Between the rows of a table v is interpolated under the same key.

    definition    e_j                  mu added to           below z                         sums never pass zero
    discreet-1    always               j = 1                 j = 1: small table; else none   at every j
    cellkey-1     not below `point`    every j               small table; rescaled: none     at every j
    tau-argus-4   always for j >= 2    j = 1 above z         j = 1: small table; else none   at j = 1

`cellkey-1` gives the sums of the R package cellKey 1.0.3 without its defects, `tau-argus-4` those of tau-Argus. The
arithmetic is +, -, *, / and sqrt of IEEE doubles, which are the same on all machines, if `power` is a whole number.

Source: Gussenbauer & de Wolf, R package cellKey 1.0.3; tau-Argus manual 4.2; SDC Handbook, 5.7.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadNoiseTable
from discreet.model.dataset import Dataset
from discreet.model.magnitude import DEFINITIONS, MagnitudeProtection, Multipliers, NumericMeasure, Rows
from discreet.noise.families.maxent import maxent

Floats = NDArray[np.float64]
DISCREET, CELLKEY, TAU_ARGUS = DEFINITIONS


@dataclass(frozen=True, slots=True, eq=False)
class MagnitudeTable:
    """Rows of multipliers v for some values of a = |x / d|, each with its cumulated probabilities.

    Args:
        sizes: The a of each row, ascending from 0.
        values: The multipliers, one row each, filled up with the last.
        ends: The cumulated probabilities; a key u selects the first value whose end exceeds it.
    """

    sizes: Floats
    values: Floats
    ends: Floats

    def __post_init__(self) -> None:
        if self.sizes.size < 2 or self.sizes[0] != 0 or (np.diff(self.sizes) <= 0).any():
            raise BadNoiseTable("A table for magnitudes needs rows from 0 on, in ascending order.")

    def look_up(self, sizes: Floats, keys: Floats) -> Floats:
        """The multipliers at these a, by keys from 0 to 1; the last row serves all larger a."""
        sizes = np.minimum(sizes, self.sizes[-1])
        low = np.searchsorted(self.sizes, sizes, side="right") - 1
        high = np.minimum(low + 1, self.sizes.size - 1)
        below = self._at(low, keys)
        on_row = self.sizes[low] == sizes
        width = np.where(on_row, 1.0, self.sizes[high] - self.sizes[low])
        share = (sizes - self.sizes[low]) / width
        found: Floats = np.where(on_row, below, (1 - share) * below + share * self._at(high, keys))
        return found

    def _at(self, rows: NDArray[np.intp], keys: Floats) -> Floats:
        found = (self.ends[rows] <= keys[:, None]).sum(axis=1)
        at: Floats = self.values[rows, np.minimum(found, self.values.shape[1] - 1)]
        return at

    @property
    def variance(self) -> float:
        """The variance of the last row."""
        masses = np.diff(self.ends[-1], prepend=0.0)
        return math.fsum(masses * self.values[-1] ** 2)

    @property
    def largest(self) -> float:
        """The largest multiplier."""
        return float(np.abs(self.values).max())


def table_of(rows: dict[float, list[tuple[float, float]]]) -> MagnitudeTable:
    """A table from its rows: for each a the pairs of a multiplier and its cumulated probability."""
    width = max(map(len, rows.values()))
    filled = [own + [own[-1]] * (width - len(own)) for _, own in sorted(rows.items())]
    cells = np.array(filled, dtype=np.float64)
    return MagnitudeTable(np.array(sorted(rows), dtype=np.float64), cells[..., 0], cells[..., 1])


def magnitude_table(D: int, V: float, step: int = 1) -> MagnitudeTable:
    """The maximum-entropy table of multipliers in steps of 1 / step up to D, with variance V and a row for every step.

    It is the table for counts of width D * step and variance V * step^2, divided by `step`: each row has mean zero and
    never takes more than all of the sum.

    >>> table = magnitude_table(5, 1, step=2)
    >>> table.sizes[:3].tolist(), round(table.variance, 6)
    ([0.0, 0.5, 1.0], 1.0)
    """
    return _scaled(_design(Multipliers(D, V, step)), step)


def _design(own: Multipliers) -> Rows:
    table = maxent(D=own.D * own.step, V=own.V * own.step**2)
    return tuple((row.values, row.thresholds) for row in table.rows)


def _scaled(rows: Rows, step: int) -> MagnitudeTable:
    """The table of some rows of counts, with rows and values divided by `step`."""
    return table_of(
        {
            place / step: [(value / step, end / ends[-1]) for value, end in zip(values, ends, strict=True)]
            for place, (values, ends) in enumerate(rows)
        }
    )


def _declared(protection: MagnitudeProtection) -> list[Multipliers]:
    return [protection.noise, *([protection.small] if protection.small is not None else [])]


def _rows(protection: MagnitudeProtection, stored: tuple[Rows, ...]) -> tuple[Rows, ...]:
    return stored or tuple(map(_design, _declared(protection)))


def tables_text(dataset: Dataset) -> str:
    """The integers of the tables of all measures, as a version stores them; empty without measures.

    Designs are made with floats, which differ between machines in their last bits: a version keeps its integers.
    """
    if not dataset.measures:
        return ""
    return json.dumps(
        {each.name: _rows(each.protection, each.protection.tables) for each in dataset.measures},
        separators=(",", ":"),
    )


def with_tables(dataset: Dataset, text: str) -> Dataset:
    """A dataset whose measures have these integers."""
    if not text:
        return dataset
    stored = json.loads(text)

    def of(measure: NumericMeasure) -> NumericMeasure:
        tables = tuple(tuple((tuple(v), tuple(ends)) for v, ends in rows) for rows in stored[measure.name])
        return replace(measure, protection=replace(measure.protection, tables=tables))

    return replace(dataset, measures=tuple(map(of, dataset.measures)))


def noise_of(measure: NumericMeasure) -> MagnitudeNoise:
    """The declared noise of a measure, for values in units of its last decimal."""
    return _noise_of(measure.protection, measure.protection.tables, measure.scale)


@lru_cache(maxsize=64)
def _noise_of(declared: MagnitudeProtection, stored: tuple[Rows, ...], scale: int) -> MagnitudeNoise:
    """From declared noise and the integers of a version, which equality of `declared` does not compare."""
    flex, small = declared.flex, declared.small
    tables = [
        _scaled(rows, own.step)
        for rows, own in zip(_rows(declared, stored), _declared(declared), strict=True)
    ]
    return MagnitudeNoise(
        declared.definition,
        tables[0],
        declared.factors,
        flex.small if flex is not None else declared.simple or 0.0,
        None if flex is None else flex.point * scale,
        0.0 if flex is None else flex.large,
        1 if flex is None else flex.power,
        None if small is None else tables[1],
        float(scale),
        0.0 if declared.sensitive is None else declared.sensitive.extra,
    )


@dataclass(frozen=True, slots=True, eq=False)
class MagnitudeNoise:
    """The declared noise of a measure.

    Args:
        definition: One of `DEFINITIONS`.
        factors: The factor of each rank; their number is the number of contributions that are perturbed.
        small: The multiplier of small contributions; of all contributions without `point`.
        point: Where the multiplier starts to fall (flexible noise), or None (simple noise).
        large: The multiplier of very large contributions.
        power: How fast the multiplier falls.
        small_table: The table for small contributions (separation), or None.
        unit: The step of that table, in the unit of the contributions.
        extra: Added to |v| of sensitive cells.
    """

    definition: str
    table: MagnitudeTable
    factors: tuple[float, ...]
    small: float
    point: float | None = None
    large: float = 0.0
    power: float = 1
    small_table: MagnitudeTable | None = None
    unit: float = 1.0
    extra: float = 0.0

    @property
    def separation(self) -> float:
        """Below this a contribution takes the table for small ones."""
        if self.small_table is None:
            return 0.0
        squares = math.fsum(factor * factor for factor in self.factors)
        return self.unit * math.sqrt(self.small_table.variance) / (self.small * math.sqrt(squares))

    def multiplier(self, sizes: Floats) -> Floats:
        """m(x) of contributions without their sign."""
        if self.point is None:
            return np.full(sizes.shape, self.small)
        base = 2 * self.point / (self.point + sizes)
        falling = self.large * (
            1
            + (self.small * sizes - self.large * self.point)
            / (self.large * self.point)
            * _power(base, self.power)
        )
        return np.where(sizes < self.point, self.small, falling)

    def perturb(
        self, sums: Floats, contributions: Floats, keys: Keys, sensitive: NDArray[np.bool_]
    ) -> Floats:
        """The perturbed sums, one per cell.

        `contributions` has the largest of each cell in a row, largest first, and NaN where there are fewer.
        """
        x = np.array(sums, dtype=np.float64)
        if not contributions.shape[1]:
            return x
        first, done = _STEPS[self.definition], (keys.numbers[:, 0] == 0) & (self.definition == CELLKEY)
        for rank in range(min(len(self.factors), contributions.shape[1])):
            step = self._step(rank, x, contributions[:, rank], first)
            with np.errstate(divide="ignore", invalid="ignore"):
                sizes = np.abs(x / step.width)
            sizes = np.where(np.isnan(sizes), 0.0, sizes)
            number = keys.numbers[:, rank]
            v = self.table.look_up(sizes, number)
            if self.small_table is not None:
                v = np.where(step.small, self.small_table.look_up(sizes, number), v)
            boosted = sensitive & ((rank == 0) | first.extra_everywhere)
            boosted &= ~step.small | (not first.extra_above_only)
            sign = np.where(v != 0, np.sign(v), keys.signs[:, rank])
            noise = np.where(x < 0, -1.0, 1.0) * np.abs(step.width) * sign
            noise *= np.where(boosted, self.extra, 0.0) + np.abs(v)
            moved = x + noise
            if rank == 0 or first.stops_at_zero:
                moved = np.where((sign < 0) & (np.abs(noise) > np.abs(x)), 0.0, moved)
            x = np.where(step.none | (x == 0), x, moved)
        return np.where(done, 0.0, x)

    def _step(self, rank: int, x: Floats, contribution: Floats, rules: _Rules) -> _Step:
        """The width of the noise of one rank, and which cells take the small table or no noise."""
        factor, size = self.factors[rank], np.abs(contribution)
        z = self.separation
        small = size < z if self.definition != TAU_ARGUS else (size <= z) & (z > 0)
        width = contribution * self.multiplier(size)
        if self.point is not None and not rules.factor_below_point:
            width *= np.where(size < self.point, 1.0, factor)
        else:
            width *= factor
        width = np.where(small, self.unit, width)
        rescaled = np.abs(x) < np.abs(width)
        shrunk = np.abs(x) / (self.small * factor) if factor else np.full_like(x, np.inf)
        again = rescaled & ((shrunk < z) if self.definition != TAU_ARGUS else (shrunk <= z) & (z > 0))
        width = np.where(again, self.unit, np.where(rescaled, x, width))
        later = np.full(x.shape, rank > 0)
        none = again & (later | (self.point is None)) if rules.small_ranks else (small | again) & later
        none |= np.isnan(contribution) if rules.small_ranks else np.nan_to_num(contribution) == 0
        return _Step(width, small | again, none)


class Keys(NamedTuple):
    """The keys of the components, from 0 to 1, and the signs that replace that of v = 0; a row for each cell."""

    numbers: Floats
    signs: Floats


class _Step(NamedTuple):
    """One rank: the width of its noise, the cells of the small table, and those without noise."""

    width: Floats
    small: NDArray[np.bool_]
    none: NDArray[np.bool_]


class _Rules(NamedTuple):
    """Where definitions differ."""

    factor_below_point: bool
    extra_everywhere: bool
    extra_above_only: bool
    small_ranks: bool
    stops_at_zero: bool


_STEPS = {
    DISCREET: _Rules(True, False, False, False, True),
    CELLKEY: _Rules(False, True, False, True, True),
    TAU_ARGUS: _Rules(True, False, True, False, False),
}


def _power(base: Floats, power: float) -> Floats:
    """A power by repeated multiplication where it is a whole number, so that it is the same on all machines."""
    if power != int(power):
        return np.asarray(base**power)
    result = np.ones_like(base)
    for _ in range(int(power)):
        result = result * base
    return result


def rotated(keys: list[str], components: int, *, same_key: bool, trim: bool) -> Floats:
    """The keys of the components from the digits of cell keys: each moves the first decimal of the last to the end.

    `same_key` lets the first component keep the cell key; `trim` drops trailing zeros first, as the R package does.

    >>> rotated(["0719"], 3, same_key=True, trim=False).tolist()
    [[0.0719, 0.719, 0.1907]]
    """
    found = np.empty((len(keys), components))
    for row, own in enumerate(keys):
        digits = (own.rstrip("0") if trim else own) or "0"
        for rank in range(components):
            if rank or not same_key:
                digits = digits[1:] + digits[0]
            found[row, rank] = float(f"0.{digits}")
    return found


def round_half_away(values: Floats) -> NDArray[np.int64]:
    """Whole numbers, halves away from zero.

    >>> round_half_away(np.array([0.5, -1.5, 2.4])).tolist()
    [1, -2, 2]
    """
    return np.where(values < 0, np.ceil(values - 0.5), np.floor(values + 0.5)).astype(np.int64)


def lone_exposure(noise: MagnitudeNoise, largest: float, percent: float, *, extra: bool) -> float:
    """The largest probability that the sum of one contributor is released within some percent of their value.

    Over all values above the separation point up to `largest`: the multiplier m rises, then falls, so it is least at an
    end. All keys are enumerated, rounded up to two digits. With `extra` such cells count as sensitive.
    """
    sizes = np.array([min(largest, noise.point or largest), largest])
    return math.ceil(100 * max(exposure(noise, size, percent, extra=extra) for size in sizes)) / 100


def exposure(noise: MagnitudeNoise, size: float, percent: float, *, extra: bool) -> float:
    """The exact probability that one contribution of this size is released within some percent of it."""
    ends = np.unique(np.concatenate([noise.table.ends.ravel(), [0.0]]))
    ends = ends[ends <= 1]
    keys, masses = (ends[:-1] + ends[1:]) / 2, np.diff(ends)
    sums, found = np.full(keys.size, float(size)), 0.0
    ones, sensitive = np.ones((keys.size, 1)), np.full(keys.size, extra)
    first = MagnitudeNoise(
        noise.definition,
        noise.table,
        noise.factors[:1],
        noise.small,
        noise.point,
        noise.large,
        noise.power,
        extra=noise.extra,
    )
    for sign in (1.0, -1.0):
        shown = first.perturb(sums, sums[:, None], Keys(keys[:, None], sign * ones), sensitive)
        near = np.abs(shown - size) <= percent / 100 * size * (1 + 1e-12)
        found += float(masses[near].sum()) / 2
    return found
