"""Additivity: which cells of a table are sums of which, and how totals are made to add up.

    independent   every total has separate noise (nothing is done)
    interior      totals are the sums of the noisy leaf cells, whose values are the same in every table; two tables
                  may then show different totals, of variance n V for n cells of variance V
    fitted        cells and totals are changed as little as possible so that all add up; one result for all layouts

`axis_tree` has the trees, `fitting` the fit.

Source: Shlomo, Krenzke & Li (2019), section 2, option 1, for `interior`; Held, Wolfe & Crowder (1974) for the projection.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.errors import BadRequest
from discreet.model.messages.text import message
from discreet.model.protection import Protection
from discreet.model.shape import Dimension, TableShape

if TYPE_CHECKING:
    from discreet.additivity.fitting import PublishedCells


@dataclass(frozen=True, slots=True)
class TableOrder:
    """The order of a table's axes for fitting: by the names of the variables.

    A solver takes one of several best tables by the order of its axes. With one order for all layouts, the same people have
    the same number in each of them.

    >>> order = TableOrder((1, 0))
    >>> order.put(np.array([[1, 2, 3]])).tolist(), order.back(order.put(np.array([[1, 2, 3]]))).tolist()
    ([[1], [2], [3]], [[1, 2, 3]])
    """

    axes: tuple[int, ...]

    @classmethod
    def of(cls, shape: TableShape) -> Self:
        """By the names of the variables."""
        names = [dimension.name for dimension in shape.dimensions]
        return cls(tuple(sorted(range(len(names)), key=names.__getitem__)))

    def put(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Cells in this order."""
        return np.ascontiguousarray(cells.transpose(self.axes))

    def back(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Cells of this order in the order of the table."""
        return np.ascontiguousarray(cells.transpose(np.argsort(self.axes)))


def add_up(
    values: NDArray[np.int64],
    shape: TableShape,
    additivity: str,
    impossible: NDArray[np.bool_],
    protection: Protection,
    kept: PublishedCells | None = None,
) -> tuple[NDArray[np.int64], str]:
    """The values that add up, and a sentence on the changes beyond the noise.

    For a fitted table `kept` has the cells that published tables decide, and `protection` whether values may be negative.

    Raises:
        BadRequest: Totals cannot add up, since the table leaves out some of their parts.
    """
    if additivity == "independent":
        return values, ""
    if additivity == "interior":
        return sums_of_interior(values, additive_structure(shape)), ""
    from discreet.additivity.fitting import fit_totals  # noqa: PLC0415 - only fitted tables need it

    order = TableOrder.of(shape)
    shown, report = fit_totals(
        order.put(values),
        additive_structure(shape, order),
        impossible=order.put(impossible),
        keep_zeros=not protection.is_dp,
        bounded=protection.clips,
        kept=kept and replace(kept, where=order.put(kept.where), values=order.put(kept.values)),
    )
    return order.back(shown), report.sentence()


def sums_of_interior(noisy: NDArray[np.int64], structure: Additive) -> NDArray[np.int64]:
    """The table whose leaf cells are the noisy ones and whose totals are their sums.

    >>> import numpy as np
    >>> from discreet.additivity.axis_tree import Additive, AxisTree
    >>> sums_of_interior(np.array([4, 5, 11]), Additive((AxisTree.plain(2),))).tolist()
    [4, 5, 9]
    """
    structure.check(noisy)
    return structure.add_up(structure.leaf_cells(noisy))


def additive_structure(shape: TableShape, order: TableOrder | None = None) -> Additive:
    """The trees of a table's axes: parts under coarser levels, all under the total."""
    axes = order.axes if order else range(len(shape.dimensions))
    return Additive(tuple(_tree(shape.dimensions[axis]) for axis in axes))


def _tree(dimension: Dimension) -> AxisTree:
    last = len(dimension.outputs) if dimension.total else -1
    parents = tuple(last if output.parent < 0 else output.parent for output in dimension.outputs)
    wholes: dict[int, int] = {}
    for output, parent in zip(dimension.outputs, parents, strict=True):
        wholes[parent] = wholes.get(parent, 0) + len(output.members)
    for whole, parts in wholes.items():
        size = len(dimension.population) if whole == last else len(dimension.outputs[whole].members)
        if whole >= 0 and parts != size:  # every whole must be covered by its shown parts
            raise BadRequest(
                message(
                    'Totals of "{name}" cannot add up: some of its categories are not shown.',
                    name=dimension.name,
                ),
                message("Show or filter out the others, or ask for additivity=independent."),
            )
    return AxisTree((*parents, -1) if dimension.total else parents)


def nearest_table(
    unrounded: NDArray[np.float64],
    shape: TableShape,
    impossible: NDArray[np.bool_],
    exact: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], str] | None:
    """The nearest table without negative numbers that adds up, and the note on it.

    None if its totals cannot add up, or if several numbers are exact: the grand total is all that it keeps.
    """
    if np.count_nonzero(exact) > 1:
        return None
    order = TableOrder.of(shape)
    try:
        structure = additive_structure(shape, order)
    except BadRequest:
        return None
    found, lowered = nearest_non_negative(order.put(unrounded), structure, order.put(impossible))
    values = order.back(found)
    note = message(
        "Counts below zero are shown as zero. This is the nearest table without negative numbers that adds up and keeps "
        "its grand total: every other cell was lowered by {lowered:.2g}, and no number of the table changed by more "
        "than {changed:.3g}. Its cells may differ from those of other tables. Every file also has the counts as they "
        "were (signed): use these to compare tables.",
        lowered=max(lowered, 0.0),
        changed=float(np.abs(values - unrounded).max(initial=0.0)),
    )
    return values, note


def nearest_non_negative(
    values: NDArray[np.float64], structure: Additive, impossible: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], float]:
    """The nearest non-negative integer table with the same grand total, and by how much its positive cells were lowered.

    Of all tables of leaf cells x ≥ 0 with the same sum, the one with the least Σ (x - v)² is

        x = max(v - θ, 0),    θ such that the sum is kept.

    Each cell is then rounded down, and the cells with the largest remainders go up by one until the sum is the rounded grand
    total. Totals are sums of the rounded cells.

    >>> table, lowered = nearest_non_negative(
    ...     np.array([4.0, 5.0, -2.0, 7.0]), Additive((AxisTree.plain(3),)), np.zeros(4, np.bool_)
    ... )
    >>> table.tolist(), lowered
    ([3, 4, 0, 7], 1.0)
    """
    inner = np.ix_(*(tree.leaves for tree in structure.axes))
    leaves, possible = values[inner], ~impossible[inner]
    total = max(0.0, float(leaves.sum()))
    largest = np.sort(leaves[possible])[::-1]
    thetas = (np.cumsum(largest) - total) / np.arange(1, largest.size + 1)
    kept = np.flatnonzero(largest > thetas)
    lowered = float(thetas[kept[-1]] if kept.size else largest[0] if largest.size else 0.0)
    near = np.where(possible, np.maximum(leaves - lowered, 0.0), 0.0)
    whole = np.floor(near).astype(np.int64)
    short = round(total) - int(whole.sum())
    upwards = np.argsort(-(near - whole).ravel(), kind="stable")[: max(short, 0)]
    whole.ravel()[upwards] += 1
    return structure.add_up(whole), lowered
