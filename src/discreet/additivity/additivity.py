"""Which cells of a table are sums of which, and what is done about it.

    independent   every total has noise of its own (nothing is done)
    interior      totals are the sums of the noisy leaf cells, whose values are the same in every table; two tables
                  may then show different totals, of variance n V for n cells of variance V
    fitted        cells and totals are changed, together as little as possible, so that all add up; one result for
                  all layouts of a table (`table_order`)

Source: Shlomo, Krenzke & Li (2019), section 2, option 1, for `interior`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.additivity.fitted import fitted
from discreet.additivity.table_order import TableOrder
from discreet.errors import BadRequest
from discreet.model.told import told

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.additivity.fitted import Kept
    from discreet.model.protection import Protection
    from discreet.model.shape import Dimension, TableShape


def add_up(
    values: NDArray[np.int64],
    shape: TableShape,
    additivity: str,
    impossible: NDArray[np.bool_],
    protection: Protection,
    kept: Kept | None = None,
) -> tuple[NDArray[np.int64], str]:
    """The values that add up, and a sentence on what was done to them beyond the noise.

    Args:
        values: Numbers with their noise, below zero where it took them there.
        shape: Which cells there are.
        additivity: One of `ADDITIVITY`.
        impossible: Structural zeros.
        protection: Whether fitted values may be below zero, and whether zeros are to stay.
        kept: Of a fitted table, the cells that published tables decide.

    Raises:
        BadRequest: Totals cannot add up, since the table leaves out some of their parts.
    """
    if additivity == "independent":
        return values, ""
    if additivity == "interior":
        return sums_of_interior(values, additive_structure(shape)), ""
    order = TableOrder.of(shape)
    shown, report = fitted(
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
    _refuse_gaps(dimension, parents, last)
    return AxisTree((*parents, -1) if dimension.total else parents)


def _refuse_gaps(dimension: Dimension, parents: tuple[int, ...], last: int) -> None:
    """Every whole must be covered by the parts that are shown."""
    wholes: dict[int, int] = {}
    for output, parent in zip(dimension.outputs, parents, strict=True):
        wholes[parent] = wholes.get(parent, 0) + len(output.members)
    for whole, parts in wholes.items():
        size = len(dimension.population) if whole == last else len(dimension.outputs[whole].members)
        if whole >= 0 and parts != size:
            raise BadRequest(
                told(
                    'Totals of "{name}" cannot add up: some of its categories are not shown.',
                    name=dimension.name,
                ),
                told("Show or filter out the others, or ask for additivity=independent."),
            )
