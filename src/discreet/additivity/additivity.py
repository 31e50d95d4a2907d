"""Which cells of a table are sums of which, and what is done about it.

    independent   every total is perturbed on its own (nothing is done)
    interior      totals are the sums of the perturbed cells
    fitted        totals keep their own noise, and the cells are changed to add up to them

Comes from: `perturb`. Goes to: the release's values. `axis_tree` has the trees, `fitted` the fitting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.additivity.fitted import fitted
from discreet.additivity.interior import sums_of_interior
from discreet.errors import BadRequest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.model.protection import Protection
    from discreet.model.shape import Dimension, TableShape

_SAME = "The same group of people always shows the same value."
#: What every reader must be told of totals and their parts.
NOTES = {
    "independent": f"{_SAME} Totals are adjusted separately and may differ from the sum of their parts.",
    "interior": "Totals are the sums of the adjusted cells and carry all their adjustments: the same people may "
    "show another total in another table.",
    "fitted": "Cells were then changed so that every total is the sum of its parts; the same people may "
    "therefore show a slightly different value in another table.",
}
#: The same under `dp`, where noise belongs to the description of a cell.
_PRIVATE_NOTES = {
    "independent": "Totals are adjusted separately and may differ from the sum of their parts.",
    "interior": "Totals are the sums of the adjusted cells and carry all their adjustments.",
    "fitted": "Cells were then changed so that every total is the sum of its parts.",
}


def adjusted_note(protection: Protection, additivity: str = "") -> str:
    """What every reader of a table must be told: that counts were adjusted, and what that means for totals."""
    notes, amount = (_PRIVATE_NOTES, "") if protection.is_dp else (NOTES, "by small amounts ")
    return (
        f"Counts in this table have been randomly adjusted {amount}to protect confidentiality. "
        f"{notes[additivity or protection.additivity]} Do not rely on small counts; adding cells yourself adds "
        "their uncertainty."
    )


def additive(
    values: NDArray[np.int64], shape: TableShape, additivity: str, impossible: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], str]:
    """The values that are shown, and a sentence on what was done to them beyond the noise.

    Raises:
        BadRequest: Totals cannot add up, since the table leaves out some of their parts.
    """
    if additivity == "independent":
        return values, ""
    structure = additive_structure(shape)
    if additivity == "interior":
        return sums_of_interior(values, structure), ""
    shown, report = fitted(values, structure, impossible=impossible)
    return shown, report.sentence()


def additive_structure(shape: TableShape) -> Additive:
    """The trees of a table's axes: parts under coarser levels, all under the total."""
    return Additive(tuple(_tree(dimension) for dimension in shape.dimensions))


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
                f'Totals of "{dimension.name}" cannot add up: some of its categories are not shown.',
                "Show or filter out the others, or ask for additivity=independent.",
            )
