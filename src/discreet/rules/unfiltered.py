"""The table that the rules look at: everything that a request uses, nothing filtered, nothing regrouped.

If a filter, a group or a missing total changed what the rules see, it could evade them. So every request
that uses the same variables gets the verdict of one table: all of them crossed, with totals. Of a geography the
finest level that is used is crossed, and the areas of all coarser levels stand above it: a difference between levels
must not give a withheld area back. Of another hierarchy only the finest level is crossed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import TooManyCells
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.model.told import told
from discreet.rules.places import chain, finest
from discreet.rules.sentences import size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.model.dataset import Dataset
    from discreet.model.shape import TableShape
    from discreet.rules.rule import Rule

#: So many tables of a dataset are remembered, at most.
MOST_TABLES = 1_000


def needs_table(rules: Iterable[Rule], request: TableRequest, dataset: Dataset) -> bool:
    """Whether any rule on counts applies to a request; if none does, no table need be made for them."""
    return any(rule.looks_at_counts and rule.concerns(request, dataset) for rule in rules)


def unfiltered(request: TableRequest, dataset: Dataset) -> TableRequest:
    """The request whose noisy table the rules look at: equal for all that see the same levels."""
    return _table(request, dataset)[0]


def _table(request: TableRequest, dataset: Dataset) -> tuple[TableRequest, TableShape]:
    """That request and its shape, which are remembered: many requests have the same."""
    names = finest(dataset, request.used)
    chosen = {name for name, _ in (*request.filters, *request.groups)}
    shown = {name: levels for name, levels in request.levels if name not in chosen}
    levels = tuple((name, _crossed(name, shown.get(name, (name,)), dataset)) for name in names)
    known: dict[object, tuple[TableRequest, TableShape]] = dataset.worked_out.setdefault((_table,), {})
    key = (request.dataset, levels)
    found = known.get(key)
    if found is None:
        wide = canonical(TableRequest(request.dataset, rows=names, levels=levels), dataset)
        if len(known) >= MOST_TABLES:
            known.clear()
        known[key] = found = wide, table_shape(wide, dataset)
    return found


def _crossed(name: str, shown: tuple[str, ...], dataset: Dataset) -> tuple[str, ...]:
    """The levels of a variable that the rules look at."""
    if name not in dataset.geography:
        return shown[-1:]
    above = chain(dataset, shown[-1] if shown[-1] in dataset.geography else name)
    # A code list is no level of the hierarchy: its groups are looked at as they are.
    return above if set(shown) <= set(above) else shown


def unfiltered_shape(request: TableRequest, dataset: Dataset) -> TableShape:
    """The shape of that table.

    Raises:
        TooManyCells: It is too large for the rules to look at, however little of it is asked for.
    """
    shape = _table(request, dataset)[1]
    most = dataset.protection.max_cells
    if shape.cells > most:
        raise TooManyCells(
            told(
                "The rules look at the table without its filters and groups. It then has {size} cells; at "
                "most {most:,} are allowed.",
                size=size(shape.cells),
                most=most,
            ),
            told("Take out a variable, filters included, or use a coarser level of the geography."),
        )
    return shape
