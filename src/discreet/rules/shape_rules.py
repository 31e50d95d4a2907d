"""Rules that look at the shape of a request: the same answer whatever the records are.

Each rule has a stable code and gives a plain sentence and a suggested fix. They run in order, before
any record is read and before anything is allocated.

Comes from: a canonical request, its shape and the dataset's protection. Goes to: a refusal, or on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import GroupsOnGeography, Refused, TooManyCells, TooManyVariables

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.model.dataset import Dataset
    from discreet.model.request import TableRequest
    from discreet.model.shape import TableShape

    Rule = Callable[[TableRequest, TableShape, Dataset], Refused | None]


def too_many_variables(request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
    """At most `max_variables` variables, those of filters counted and geography not."""
    counted = sorted(request.used - dataset.geography)
    most = dataset.protection.max_variables
    if len(counted) <= most:
        return None
    return TooManyVariables(
        f"The table uses {len(counted)} variables beside geography ({', '.join(counted)}); at most {most} may be combined.",
        f"Take out {len(counted) - most}, filters included.",
    )


def groups_on_geography(request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
    """No free groups of areas: two unions that differ by one area reveal it."""
    grouped = [name for name, _ in request.groups if name in dataset.geography]
    if not grouped:
        return None
    return GroupsOnGeography(
        f'Areas of "{grouped[0]}" cannot be put into groups of your own.',
        "Use a coarser level of the geography, or download the areas and add them up yourself.",
    )


def too_many_cells(request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
    """At most `max_cells` cells, totals included; counted exactly before any is made."""
    most = dataset.protection.max_cells
    if shape.cells <= most:
        return None
    size = f"{shape.cells:,}" if shape.cells < 10**15 else f"about 10^{len(str(shape.cells)) - 1}"
    return TooManyCells(
        f"The table would have {size} cells; at most {most:,} are released at a time.",
        "Take out a variable, use a coarser level of the geography, or filter to fewer categories.",
    )


#: In the order in which they are evaluated.
SHAPE_RULES: tuple[Rule, ...] = (too_many_variables, groups_on_geography, too_many_cells)


def shape_rules(dataset: Dataset) -> tuple[Rule, ...]:
    """The rules of [protection] that hold for a dataset.

    Under `dp` the universe says what may be combined, and groups are sums of released cells.
    """
    return (too_many_cells,) if dataset.protection.is_dp else SHAPE_RULES


def refuse_by_shape(request: TableRequest, shape: TableShape, dataset: Dataset) -> None:
    """Raise the first refusal, if any."""
    for rule in shape_rules(dataset):
        refusal = rule(request, shape, dataset)
        if refusal is not None:
            raise refusal
