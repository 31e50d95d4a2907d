"""Additivity `fitted`: cells and totals are changed as little as possible so that every total is the sum of its parts.

    minimise Σ |x - noisy| over all cells, totals included,   subject to:  x adds up, x >= 0 if required

One-way tables, and two-way tables of which at most one axis is a hierarchy, are networks: the optimum is found and proven
(`network_flow`, which also has the rule for ties). For others integers near the optimum are found by exact moves
of two-way slabs (`multiway`), and the report bounds the distance from the optimum (`least_possible`). The result depends
on no solver, float or time limit. Published cells (`fit_to`) keep their value if possible.

Fitting is post-processing: it reads noisy cells and public structure only, so the privacy claim is unchanged. Fitted values
are for display: inference uses the noisy cells, whose distribution is known.

Source: Shlomo, Krenzke & Li (2019), section 2, option 3; Cox & Dandekar (2004).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from math import ceil, prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.additivity.axis_tree import Additive
from discreet.additivity.multiway import move_slabs, top_down
from discreet.additivity.network_flow import Objective, least_cost_table, objective, table_network

if TYPE_CHECKING:
    from scipy.sparse import csr_array


#: The most cells for which the linear programme is solved: about a second.
MOST_CELLS = 2_000
#: The error of HiGHS per unit of change.
TOLERANCE = 1e-6


def least_possible(structure: Additive, goal: Objective) -> int:
    """A lower bound on the change of all cells without published values: the larger of two relaxations.

        slices      every two-way slice must add up; the sum of their exact least changes
        programme   the linear programme of the whole table over real numbers (HiGHS, up to `MOST_CELLS`)

    It is used in the sentence on a table, never for its numbers.
    """
    slices = _by_slices(structure, goal)
    if goal.wish.size > MOST_CELLS or not any(tree.height for tree in structure.axes):
        return slices
    return max(slices, _by_programme(structure, goal))


def _by_slices(structure: Additive, goal: Objective) -> int:
    """The least changes of all two-way slices along the two longest axes that are a network."""
    lengths = goal.wish.shape
    networks = {
        (first, second): network
        for (first, one), (second, other) in combinations(enumerate(structure.axes), 2)
        if (network := table_network(Additive((one, other)))) is not None
    }
    if not networks:
        return 0
    longest = max(networks, key=lambda pair: lengths[pair[0]] * lengths[pair[1]])
    others: list[list[int | slice]] = [
        [slice(None)] if axis in longest else [*range(n)] for axis, n in enumerate(lengths)
    ]
    slices = (goal.at(place) for place in product(*others))
    return sum(each.change(least_cost_table(each, networks[longest])[0]) for each in slices)


def _by_programme(structure: Additive, goal: Objective) -> int:
    """The least change over real numbers, rounded up: x = wish + up - down."""
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to import, and only for tables that are no network
    from scipy.sparse import hstack  # noqa: PLC0415

    sums = _sums(structure)
    wish, free = goal.wish.ravel(), goal.free.ravel()
    lowest, highest = goal.lowest.ravel() - wish, goal.highest.ravel() - wish
    up = np.stack([np.maximum(0, lowest), np.maximum(0, highest)])
    down = np.stack([np.maximum(0, -highest), np.maximum(0, -lowest)])
    bounds = np.concatenate([np.where(free, up, 0), np.where(free, down, 0)], axis=1).T
    found = linprog(
        np.ones(2 * wish.size),
        A_eq=hstack([sums, -sums]),
        b_eq=-(sums @ wish),
        bounds=bounds.astype(np.float64),
    )
    return ceil(found.fun - TOLERANCE * (1 + found.fun)) if found.success else 0


def _sums(structure: Additive) -> csr_array:
    """One row per sum along every axis: its parts with 1, its whole with -1."""
    from scipy.sparse import eye_array, kron, vstack  # noqa: PLC0415

    lines = []
    for axis, tree in enumerate(structure.axes):
        before, after = prod(structure.shape[:axis]), prod(structure.shape[axis + 1 :])
        wholes = sorted({parent for parent in tree.parents if parent >= 0})
        parts = np.array([[parent == whole for parent in tree.parents] for whole in wholes], dtype=np.float64)
        if wholes:
            parts[np.arange(len(wholes)), wholes] = -1
            lines.append(kron(kron(eye_array(before), parts), eye_array(after)))
    return vstack(lines, format="csr")


@dataclass(frozen=True, slots=True, eq=False)
class PublishedCells:
    """Cells that keep a published value (`values` is meaningless elsewhere), and the published tables, for people."""

    where: NDArray[np.bool_]
    values: NDArray[np.int64]
    tables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FitReport:
    """The changes of a table by fitting; it depends on released values only.

    Args:
        method: `network`, or `slabs` if the table is no network.
        gap: An upper bound on the relative distance of the sum of changes from the least possible; 0 proves the optimum,
            None says that published cells were missed and nothing is known.
        largest_change: The largest absolute change of a cell, totals included.
        mean_change: The mean absolute change of a cell.
        share_changed: The share of changed cells.
        totals_changed: The share of changed totals; 0 without totals.
        kept: The number of cells with a published value.
        missed: How many of them could not keep it.
        tables: The published tables.
    """

    method: str
    gap: float | None
    largest_change: int
    mean_change: float
    share_changed: float
    totals_changed: float
    kept: int = 0
    missed: int = 0
    tables: tuple[str, ...] = ()

    @property
    def optimal(self) -> bool:
        """Whether it is proven that no additive table changes less."""
        return self.gap == 0

    def sentence(self) -> str:
        """The report for a reader."""
        tables = " and ".join(self.tables)
        anchors = ""
        if self.missed:
            anchors = f" Totals were missed: {self.missed:,} of {self.kept:,} cells differ from the tables by {tables}."
        elif self.kept:
            anchors = f" {self.kept:,} cells equal those of the tables by {tables}."
        changes = "The sum of all changes" + (" of the other cells" if self.kept else "")
        proof = f"{changes} is the least possible."
        if self.gap is None:
            proof = "How far that is above the least possible is not known."
        elif not self.optimal:
            proof = f"{changes} is at most {self.gap:.1%} above the least possible."
        return (
            f"After the noise, {self.share_changed:.0%} of the cells ({self.totals_changed:.0%} of the totals) were "
            f"changed so that all totals add up, by {self.mean_change:.2f} on average over all cells and at most "
            f"{self.largest_change}.{anchors} {proof}"
        )


def fit_totals(
    noisy: NDArray[np.int64],
    structure: Additive,
    *,
    impossible: NDArray[np.bool_] | None = None,
    keep_zeros: bool = True,
    bounded: bool = True,
    kept: PublishedCells | None = None,
) -> tuple[NDArray[np.int64], FitReport]:
    """Integers near the noisy ones, in which every total is the sum of its parts.

    Impossible cells stay zero. With `keep_zeros`, of equal tables those are taken in which noisy zeros stay zero
    (`cellkey`); if `bounded`, no value is below zero; `kept` cells keep published values.

    >>> from discreet.additivity.axis_tree import Additive, AxisTree
    >>> noisy = np.array([[4, 2, 7], [3, 0, 3], [6, 3, 9]])
    >>> values, report = fit_totals(noisy, Additive((AxisTree.plain(2), AxisTree.plain(2))))
    >>> values.tolist(), report.optimal
    ([[3, 3, 6], [3, 0, 3], [6, 3, 9]], True)
    """
    structure.check(noisy)
    possible = ~structure.impossible(impossible)
    kept = kept or PublishedCells(np.zeros(noisy.shape, dtype=np.bool_), noisy)
    wish = np.where(kept.where, kept.values, noisy)
    goal = objective(wish, structure, possible, kept=kept.where, bounded=bounded, keep_zeros=keep_zeros)
    network = table_network(structure)
    if network is not None:
        values, proven = least_cost_table(goal, network)
        return values, _report(values, noisy, kept, structure, None if proven else goal)
    if bounded:
        start = top_down(goal.wish, structure, possible, keep_zeros=keep_zeros)
    else:  # values may be negative: all are raised before and lowered after
        deep = 1 + 2 * int(np.abs(goal.wish).max())
        raised = structure.add_up(structure.leaf_cells(np.where(possible, deep, 0)))
        start = top_down(goal.wish + raised, structure, possible, keep_zeros=False) - raised
    values = move_slabs(start, structure, goal)
    return values, _report(values, noisy, kept, structure, goal)


def _report(
    values: NDArray[np.int64],
    noisy: NDArray[np.int64],
    kept: PublishedCells,
    structure: Additive,
    goal: Objective | None,
) -> FitReport:
    """The figures of the report; without a goal the change is proven to be the least."""
    change = np.abs(values - noisy)
    totals = structure.sums_along() > 0
    missed = int((values != kept.values)[kept.where].sum())
    gap = 0.0
    if goal is not None and not missed:
        free = goal.change(values)
        bound = least_possible(structure, goal) if free else 0
        gap = 0.0 if free == bound else (free - bound) / bound if bound else 1.0
    return FitReport(
        method="network" if goal is None else "slabs",
        gap=None if missed else gap,
        largest_change=int(change.max()),
        mean_change=float(change.mean()),
        share_changed=float((change > 0).mean()),
        totals_changed=float((change > 0)[totals].mean()) if totals.any() else 0.0,
        kept=int(kept.where.sum()),
        missed=missed,
        tables=kept.tables,
    )
