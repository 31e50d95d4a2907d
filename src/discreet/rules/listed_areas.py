"""Areas that a filter names are listed: their union is not counted, and its total is the sum of the areas shown.

A count of a union that somebody chooses, taken from a declared total, is the count of the areas that were left out.
So, where a rule on counts may withhold areas, a request that filters areas shows them one by one:

    a filter of several areas that the table does not show   the areas become rows
    a filter on areas that are shown at a coarser level      their own level is shown, too

and `withheld` puts the sum of the areas shown in the place of every union that is not declared. Levels, code lists and
single areas are declared, and are counted as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.model.request import canonical
from discreet.rules.places import coarser, finest

if TYPE_CHECKING:
    from discreet.model.dataset import Dataset
    from discreet.model.request import TableRequest
    from discreet.model.shape import Dimension
    from discreet.rules.withheld import Layout

#: What a total is called that is the sum of the areas shown.
LABEL = "Sum of the areas shown"
#: What every reader of such a total is told.
NOTE = (
    "The areas that were chosen are not counted together: their total is the sum of the areas shown, "
    "and those that are not available are not in it."
)


def list_areas(request: TableRequest, dataset: Dataset) -> TableRequest:
    """The canonical request that shows every area it names."""
    filters = dict(request.filters)
    for name in finest(dataset, request.used & dataset.geography):
        if name not in request.variables and len(filters[name]) > 1:
            request = replace(request, rows=(*request.rows, name))
        elif name in filters or any(level in filters for level in coarser(dataset, name)):
            request = replace(request, levels=tuple(_with_own(entry, name) for entry in request.levels))
    return canonical(request, dataset)


def _with_own(entry: tuple[str, tuple[str, ...]], name: str) -> tuple[str, tuple[str, ...]]:
    return (entry[0], (*entry[1], name)) if entry[0] == name else entry


def label_sums(dimensions: tuple[Dimension, ...], layout: Layout) -> tuple[Dimension, ...]:
    """Call a sum of the areas shown so, in the dimensions that have one."""
    named = list(dimensions)
    for sums in layout.sums:
        along = np.moveaxis(sums.cells, sums.axis, 0)
        added = [bool(cells.any()) for cells in along]
        named[sums.axis] = _called_sums(named[sums.axis], added)
    return tuple(named)


def _called_sums(dimension: Dimension, added: list[bool]) -> Dimension:
    outputs = tuple(
        replace(output, label=f"{output.label} ({LABEL.lower()})") if is_sum else output
        for output, is_sum in zip(dimension.outputs, added, strict=False)
    )
    total = LABEL if dimension.total and added[-1] else dimension.total_label
    return replace(dimension, outputs=outputs, total_label=total)
