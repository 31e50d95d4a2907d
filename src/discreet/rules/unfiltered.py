"""The table that the rules look at: everything that a request uses, nothing filtered, nothing regrouped.

If a filter, a group or a missing total changed what the rules see, it could evade them. So every request
that uses the same variables is judged by one table: all of them crossed, with totals. Of the levels of a
hierarchy only the finest is crossed, since the coarser ones follow from it.

Comes from: a canonical request. Goes to: `tabulate` and `perturb`, by way of `pipeline`, then `verdict`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import TooManyCells
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.rules.area_rules import MinimumAreaSize
from discreet.rules.places import at_or_below, finest
from discreet.rules.verdict import COUNT_RULES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.model.dataset import Dataset
    from discreet.model.shape import TableShape


def needs_table(rules: Iterable[object], request: TableRequest, dataset: Dataset) -> bool:
    """Whether any rule on counts applies to a request; if none does, no table need be made for them."""
    crossed = len(finest(dataset, request.used - dataset.geography))
    return any(
        crossed >= rule.from_variables
        and at_or_below(request, dataset, rule.variable if isinstance(rule, MinimumAreaSize) else rule.level)
        for rule in rules
        if isinstance(rule, COUNT_RULES)
    )


def unfiltered(request: TableRequest, dataset: Dataset) -> TableRequest:
    """The request whose perturbed table the rules look at: equal for all that see the same levels."""
    names = finest(dataset, request.used)
    chosen = {name for name, _ in (*request.filters, *request.groups)}
    levels = tuple(
        # Areas of every level shown are judged; of another variable only the finest level is crossed.
        (name, shown if name in dataset.geography else shown[-1:])
        for name, shown in request.levels
        if name in names and name not in chosen
    )
    return canonical(TableRequest(request.dataset, rows=names, levels=levels), dataset)


def unfiltered_shape(request: TableRequest, dataset: Dataset) -> TableShape:
    """The shape of that table.

    Raises:
        TooManyCells: It is too large to be judged, however little of it is asked for.
    """
    shape = table_shape(unfiltered(request, dataset), dataset)
    most = dataset.protection.max_cells
    if shape.cells > most:
        size = f"{shape.cells:,}" if shape.cells < 10**15 else f"about 10^{len(str(shape.cells)) - 1}"
        raise TooManyCells(
            f"The table is judged without its filters and groups, and has then {size} cells; at most {most:,} are allowed.",
            "Take out a variable, filters included, or use a coarser level of the geography.",
        )
    return shape
