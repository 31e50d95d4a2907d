"""The choice of cubes to build: those that save most rows per byte, within a limit.

The **tables** that should be fast: every set of up to n variables, alone and at each level of a geography; under `dp` the
declared ones. A table costs as many rows as the smallest source that answers it has: a cube, or all n records.

    rows of a margin   at most K (1 - (1 - 1/K)^n) on average, with K cells and n people who fall into them independently
    with
                       any probabilities: x -> 1 - (1 - x)^n is concave (Jensen)
    gain of a cube     the sum, over the tables that it covers, of max(rows before, FEW) - max(its rows, FEW)

Below FEW rows a table takes milliseconds, and nothing more is gained. The cube with the largest gain per byte of max(its
rows, FEW) rows is chosen, costs are updated, and so on, until fewer than FEW rows are gained or nothing fits.

Source: Harinarayan, Rajaraman & Ullman (1996), "Implementing data cubes efficiently", sections 3 and 4 (space).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.hierarchy import ancestors
from discreet.model.universe import dp_terms
from discreet.records.cubes import derivable_variables, row_bytes

Margin = tuple[str, ...]

#: This many rows are added up in milliseconds.
FEW = 100_000
#: A useful cube has at most one row per this many records.
GAIN = 4
#: Candidate margins, at most: larger ones are left out first.
MOST = 4_000


@dataclass(frozen=True, slots=True)
class PlannedCube:
    """A cube worth building: expected rows, bytes, the tables that it makes faster, and the rows that these read now."""

    variables: Margin
    rows: int
    bytes: int
    tables: int
    before: int

    @property
    def why(self) -> str:
        """Its benefit, in a sentence."""
        times = self.before / max(self.rows, 1)
        tables = "1 table reads" if self.tables == 1 else f"{self.tables:,} tables read"
        return f"{tables} {self.rows:,} rows instead of {self.before:,} on average ({times:,.0f} times fewer)"


def rollup_variables(dataset: Dataset) -> Margin:
    """The margin that every load tries: all variables except the finer levels of a geography."""
    finer = {level for h in dataset.hierarchies if h.geography for level in h.levels[1:]}
    return reduce_margin(dataset, (v.name for v in dataset.variables if v.name not in finer))


def reduce_margin(dataset: Dataset, names: Iterable[str]) -> Margin:
    """A margin without levels that finer ones determine, in the order of the description."""
    given = set(names)
    spare = {n for n in given for m in given if ancestors(dataset, m, n) is not None}
    return tuple(v.name for v in dataset.variables if v.name in given - spare)


def tables_of(dataset: Dataset, up_to: int) -> tuple[Margin, ...]:
    """The tables that should be fast."""
    if dataset.protection.is_dp:
        declared = dp_terms(dataset)[1].declared
        return tuple(dict.fromkeys(reduce_margin(dataset, margin) for margin in declared if margin))
    return _cross_with_geography(dataset, up_to)


def rows_at_most(dataset: Dataset, variables: Margin, records: int) -> int:
    """The number of rows of a margin, at most, on average.

    >>> from types import SimpleNamespace
    >>> rows_at_most(SimpleNamespace(variable=lambda _name: range(10)), ("a", "b"), 100)
    64
    """
    cells = math.prod(len(dataset.variable(name)) for name in variables)
    if cells == 1:
        return 1
    return min(cells, records, math.ceil(-cells * math.expm1(records * math.log1p(-1 / cells))))


def plan_cubes(
    dataset: Dataset, records: int, up_to: int, within: int, there: Sequence[tuple[Margin, int]] = ()
) -> tuple[PlannedCube, ...]:
    """The cubes to build, best first.

    Args:
        dataset: The description.
        records: Their number.
        up_to: Variables of a table in addition to geography, at most.
        within: Bytes that may be added.
        there: The existing cubes, with their rows.
    """
    tables, margins = tables_of(dataset, up_to), _candidates(dataset, up_to, records)
    rows = np.array([rows_at_most(dataset, margin, records) for margin in margins], dtype=np.int64)
    widths = np.array([row_bytes(dataset, margin) for margin in margins], dtype=np.int64)
    weights = widths * rows
    covered = _coverage(dataset, margins, tables)
    costs = np.full(len(tables), max(records, FEW), dtype=np.int64)
    for variables, size in there:
        costs = np.where(_coverage(dataset, [variables], tables)[0], np.minimum(costs, max(size, FEW)), costs)
    found: list[PlannedCube] = []
    usable = rows * GAIN <= records
    while True:
        gains = np.array(
            [_rows_saved(costs, few, size).sum() for few, size in zip(covered, rows, strict=True)]
        )
        worth = np.where(usable & (weights <= within), gains / (np.maximum(rows, FEW) * widths), 0)
        best = int(worth.argmax()) if worth.size else 0
        if not worth.size or worth[best] <= 0 or gains[best] < FEW:
            return tuple(found)
        gained = _rows_saved(costs, covered[best], rows[best]) > 0
        size, bytes_used = int(rows[best]), int(weights[best])
        before = int(costs[gained].mean())
        found.append(PlannedCube(margins[best], size, bytes_used, int(gained.sum()), before))
        within -= bytes_used
        costs = np.where(gained, max(size, FEW), costs)


def _rows_saved(costs: NDArray[np.int64], covered: NDArray[np.bool_], rows: int) -> NDArray[np.int64]:
    """The rows that a cube saves each table."""
    return np.where(covered, np.maximum(costs - max(int(rows), FEW), 0), 0)


def _candidates(dataset: Dataset, up_to: int, records: int) -> list[Margin]:
    """The tables themselves, and margins of a few more variables, each of which serves many tables."""
    found = set(tables_of(dataset, up_to))
    for more in (1, 2, 3):
        larger = _cross_with_geography(dataset, up_to + more) if len(found) <= MOST else ()
        found |= set(larger) if len(larger) <= MOST else set()
    return sorted(found, key=lambda margin: (rows_at_most(dataset, margin, records), margin))[:MOST]


def _cross_with_geography(dataset: Dataset, up_to: int) -> tuple[Margin, ...]:
    """Every set of up to this many variables, alone and at each level of a geography."""
    others = [variable.name for variable in dataset.variables if variable.name not in dataset.geography]
    areas = [(), *((name,) for name in dataset.geography)]
    few = [each for size in range(min(up_to, len(others)) + 1) for each in combinations(others, size)]
    found = (reduce_margin(dataset, (*area, *each)) for area in areas for each in few)
    return tuple(dict.fromkeys(margin for margin in found if margin))


def _coverage(dataset: Dataset, margins: Sequence[Margin], tables: Sequence[Margin]) -> NDArray[np.bool_]:
    """For each margin the tables that its cube answers."""
    names = [variable.name for variable in dataset.variables]
    single = {name: derivable_variables(dataset, (name,)) for name in names}
    known = [frozenset[str]().union(*(single[name] for name in margin)) for margin in margins]
    lacks = np.array([[name not in each for name in names] for each in known], dtype=np.float32)
    needs = np.array([[name in table for name in names] for table in tables], dtype=np.float32)
    return np.asarray(lacks @ needs.T == 0)
