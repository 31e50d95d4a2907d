"""The rules of a dataset: those of `[protection]`, which always apply, then the declared ones in order.

Rules by shape refuse before a record is read; rules on counts see the noisy, unfiltered table (`verdict`). Groups of
areas are always refused under cell keys, because two unions that differ by one area disclose it.

Alternatives to a refused request are the edits of rules, tried breadth first: the first one found has the fewest changes.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.errors import (
    BadDescription,
    DiscreetError,
    GroupsOnGeography,
    OutsideUniverse,
    Refused,
    TableNotReleased,
)
from discreet.model.dataset import Dataset
from discreet.model.limits import MOST_ALTERNATIVES
from discreet.model.messages.text import message, nearest
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import TableShape
from discreet.rules.kinds.request_limits import MaxCells, MaxVariables
from discreet.rules.reading import read_rule
from discreet.rules.rule import (
    Meter,
    Rule,
    drop_choices,
    drop_one_variable,
    drop_variables,
    kinds,
    use_larger_areas,
)


@dataclass(frozen=True, slots=True)
class NoGroupsOfAreas(Rule):
    """No free groups of areas."""

    kind: ClassVar[str] = "groups-on-geography"
    error: ClassVar[type[Refused]] = GroupsOnGeography

    def refuse(self, request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
        grouped = [name for name, _ in request.groups if name in dataset.geography]
        if not grouped:
            return None
        return self.refusal(
            message('Areas of "{grouped}" cannot be put into groups of your own.', grouped=grouped[0]),
            message("Use a coarser level of the geography, or download the areas and add them up yourself."),
        )

    @property
    def sentence(self) -> str:
        return message(
            "Areas cannot be put into groups of one's own: unions that differ by one area reveal it."
        )

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
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
    rules = []
    for entry in entries:
        kind = entry.get("kind")
        if not isinstance(kind, str) or kind not in kinds():
            raise BadDescription(f"A rule has the kind {kind!r}.", nearest(str(kind), kinds()))
        rule = read_rule(kinds()[kind], entry, dataset)
        rule.check(dataset)
        rules.append(rule)
    return tuple(rules)


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
    """Refuse a canonical request by shape: by the rules of [protection], then by the declared ones in order.

    `meter` counts the free groups that the account has used; `most_cells` replaces `max_cells`, for a table that is not
    laid out.

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


def find_alternatives(
    request: TableRequest,
    dataset: Dataset,
    rules: Iterable[Rule],
    refusal_of: Callable[[TableRequest], Refused | None],
) -> Iterator[TableRequest]:
    """The allowed requests near a canonical one, nearest first; only the request itself if it is allowed."""
    declared = tuple(rules)
    waiting, seen = deque([request]), {request.identity}
    while waiting and len(seen) < MOST_ALTERNATIVES:
        current = waiting.popleft()
        refusal = refusal_of(current)
        if refusal is None:
            yield current
            continue
        for mended in _mends(current, refusal, dataset, declared):
            try:
                asked = canonical(mended, dataset)
            except DiscreetError:  # an edit that cannot be read is no advice
                continue
            if asked.identity not in seen:
                seen.add(asked.identity)
                waiting.append(asked)


def _mends(
    request: TableRequest, refusal: Refused, dataset: Dataset, rules: tuple[Rule, ...]
) -> Iterator[TableRequest]:
    """The edits of the rules with the refusal's code, then edits for refusals that no rule makes."""
    for rule in (*rules, *protection_rules(dataset)):
        if rule.refusal_code() == refusal.code:
            yield from rule.mends(request, dataset)
    if isinstance(refusal, OutsideUniverse | TableNotReleased):
        yield from use_larger_areas(request, dataset)
        yield from drop_one_variable(request, dataset)
    if isinstance(refusal, OutsideUniverse):
        yield from (each for name in sorted(dataset.geography) for each in drop_variables(request, name))
    if isinstance(refusal, TableNotReleased):
        yield from drop_choices(request, *dataset.geography, what=("filters",))
