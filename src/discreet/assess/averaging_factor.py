"""The averaging factor: how much a reader gains by requesting the same cell in many tables.

The people of a cell are also the sum of the cells below it in every table that adds variables T to its own S. Each sum has
independent noise of K_T cells; weighted by 1 / K_T, they estimate the count with a variance that is smaller by the factor

    factor = sum over T of 1 / K_T,   K_T = categories of T (of the finer level, per category of the coarser one),

with the table itself (T empty, K = 1), over the tables that the rules allow by their dimensions, and for noise of one
variance in every cell. Empty cells that stay zero have no noise, so the true gain can be larger; cells with the same people
share their noise, so it can be smaller.
Source: the weighing-design argument of Rinott et al. (2018), section 2.2, on averaging; best linear unbiased weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

from discreet.errors import DiscreetError
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import is_at_least_as_fine, is_level_of
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.rules.rule_set import refuse_by_rules
from discreet.workspace.workspace import StoredDataset

#: Sums of more cells than this carry hardly any information.
_MOST_SUMMED = 10_000.0
_MOST_ADDED = 4


@dataclass(frozen=True, slots=True)
class Averaging:
    """The gain by averaging for a cell of a table.

    Args:
        factor: The reduction of the variance of the noise.
        tables: The number of tables needed, the table itself included.
    """

    factor: float
    tables: int


def averaging_factor(stored: StoredDataset, request: TableRequest) -> Averaging:
    """The averaging factor of a table's variables among all variables of its dataset."""
    asked = canonical(replace(request, groups=(), levels=(), totals=False), stored.dataset)
    shares = [1.0]
    for added, cells in _wider(stored.dataset, asked):
        if _is_allowed(stored, asked, added):
            shares.append(1.0 / cells)
    return Averaging(sum(shares), len(shares))


def _wider(dataset: Dataset, asked: TableRequest) -> Iterator[tuple[tuple[str, ...], float]]:
    """Sets of variables to add, and the number of cells that then make up one; never two levels of one hierarchy."""
    sizes = {
        variable.name: _times(dataset, variable.name, asked.variables)
        for variable in dataset.variables
        if variable.name not in asked.used
        and not any(is_at_least_as_fine(dataset, own, variable.name) for own in asked.used)
    }
    for number in range(1, _MOST_ADDED + 1):
        for added in combinations(sizes, number):
            cells = prod(sizes[name] for name in added)
            if cells <= _MOST_SUMMED and not any(
                is_level_of(dataset, a, b) for a, b in combinations(added, 2)
            ):
                yield added, cells


def _times(dataset: Dataset, name: str, own: tuple[str, ...]) -> float:
    """The number of categories of an added variable per cell; for a finer level, per coarser category."""
    coarser = [other for other in own if is_at_least_as_fine(dataset, name, other)]
    finest = max((len(dataset.variable(other)) for other in coarser), default=1)
    return len(dataset.variable(name)) / finest


def _is_allowed(stored: StoredDataset, asked: TableRequest, added: tuple[str, ...]) -> bool:
    """Whether the rules allow the table with the added variables, by its dimensions."""
    dataset = stored.dataset
    own = tuple(
        name for name in asked.variables if not any(is_at_least_as_fine(dataset, new, name) for new in added)
    )
    try:
        wider = canonical(
            TableRequest(asked.dataset, rows=(*own, *added), filters=asked.filters, totals=False), dataset
        )
        refuse_by_rules(wider, table_shape(wider, dataset), dataset, stored.rules)
    except DiscreetError:
        return False
    return True
