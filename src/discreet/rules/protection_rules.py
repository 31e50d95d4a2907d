"""The rules of `[protection]`: they hold for every dataset, whatever it declares beside them.

Two of them are declared kinds with the limits of `[protection]`. The third is not declared by anybody: groups of
areas are refused wherever cell keys protect, since two unions that differ by one area reveal it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import GroupsOnGeography, Refused
from discreet.model.told import told
from discreet.rules.edits import unchosen
from discreet.rules.kinds.combinations import MaxCells, MaxVariables
from discreet.rules.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.model.dataset import Dataset
    from discreet.model.request import TableRequest
    from discreet.model.shape import TableShape


@dataclass(frozen=True, slots=True)
class NoGroupsOfAreas(Rule):
    """No free groups of areas."""

    kind: ClassVar[str] = "groups-on-geography"
    error: ClassVar[type[Refused]] = GroupsOnGeography

    def refuse(self, request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
        """Refuse groups of areas."""
        grouped = [name for name, _ in request.groups if name in dataset.geography]
        if not grouped:
            return None
        return self.refusal(
            told('Areas of "{grouped}" cannot be put into groups of your own.', grouped=grouped[0]),
            told("Use a coarser level of the geography, or download the areas and add them up yourself."),
        )

    @property
    def sentence(self) -> str:
        """What it does."""
        return told("Areas cannot be put into groups of one's own: unions that differ by one area reveal it.")

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        """What the advice means."""
        yield from unchosen(request, *dataset.geography)


def protection_rules(dataset: Dataset, most_cells: int | None = None) -> tuple[Rule, ...]:
    """The rules of [protection] that hold for a dataset, in the order in which they are asked.

    Under `dp` the universe says what may be combined, and groups are sums of released cells.

    Args:
        dataset: The description.
        most_cells: In place of `max_cells`, for a table of which only cells that are not 0 are listed.
    """
    protection = dataset.protection
    cells = MaxCells(most=protection.max_cells if most_cells is None else most_cells)
    if protection.is_dp:
        return (cells,)
    return (MaxVariables(most=protection.max_variables), NoGroupsOfAreas(), cells)
