"""The rules of a dataset: those of `[protection]`, which always apply, then the declared ones in order.

Rules by shape refuse before a record is read; rules on counts see the noisy, unfiltered table (`verdict`). Groups of
areas are always refused under cell keys, because two unions that differ by one area disclose it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.errors import BadDescription, GroupsOnGeography, Refused
from discreet.model.dataset import Dataset
from discreet.model.messages.text import message, nearest
from discreet.model.request import TableRequest
from discreet.model.shape import TableShape
from discreet.rules.kinds.size_limits import MaxCells, MaxVariables
from discreet.rules.reading import read_rule
from discreet.rules.request_edits import drop_choices
from discreet.rules.rule import Meter, Rule, kinds


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
            message('Areas of "{grouped}" cannot be put into groups of your own.', grouped=grouped[0]),
            message("Use a coarser level of the geography, or download the areas and add them up yourself."),
        )

    @property
    def sentence(self) -> str:
        """What it does."""
        return message(
            "Areas cannot be put into groups of one's own: unions that differ by one area reveal it."
        )

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        """What the advice means."""
        yield from drop_choices(request, *dataset.geography)


def protection_rules(dataset: Dataset, most_cells: int | None = None) -> tuple[Rule, ...]:
    """The rules of [protection], in the order in which they are evaluated.

    Under `dp` the universe limits combinations, and groups are sums of released cells. `most_cells` replaces `max_cells`.
    """
    protection = dataset.protection
    cells = MaxCells(most=protection.max_cells if most_cells is None else most_cells)
    if protection.is_dp:
        return (cells,)
    return (MaxVariables(most=protection.max_variables), NoGroupsOfAreas(), cells)


def parse_rules(entries: Iterable[Mapping[str, Any]], dataset: Dataset) -> tuple[Rule, ...]:
    """Parse the `[[rule]]` sections of a dataset, in order."""
    return tuple(_rule(entry, dataset) for entry in entries)


def _rule(entry: Mapping[str, Any], dataset: Dataset) -> Rule:
    kind = entry.get("kind")
    if not isinstance(kind, str) or kind not in kinds():
        raise BadDescription(f"A rule has the kind {kind!r}.", nearest(str(kind), kinds()))
    rule = read_rule(kinds()[kind], entry, dataset)
    rule.check(dataset)
    return rule


def refuse_by_rules(
    request: TableRequest,
    shape: TableShape,
    dataset: Dataset,
    rules: Iterable[Rule] = (),
    *,
    meter: Meter | None = None,
    account: str | None = None,
    most_cells: int | None = None,
) -> None:
    """Refuse by shape: by the rules of [protection], then by the declared ones in order.

    Args:
        request: In canonical form.
        shape: Its shape.
        dataset: Its dataset.
        rules: The result of `parse_rules`.
        meter: The number of free groups of a variable that an account has used.
        account: The requester; None if anonymous.
        most_cells: In place of `max_cells`, for a table that is not laid out.

    Raises:
        Refused: By the first rule that does not allow it.
    """
    for rule in (*protection_rules(dataset, most_cells), *rules):
        refusal = rule.refuse(request, shape, dataset) or rule.refuse_account(request, meter, account)
        if refusal is not None:
            raise refusal


def is_metered(request: TableRequest, rules: Iterable[Rule]) -> bool:
    """Whether the answer to a request depends on the usage of an account."""
    return any(rule.is_metered(request) for rule in rules)
