"""What to ask instead: a refusal's advice, followed until a table is allowed.

Each rule offers edits of a refused request, nearest first. `advised` tries them, and the edits of what
they lead to, breadth first: the table found is the one that fewest changes away.

Comes from: a refused request. Goes to: the faces, as the link "ask this instead".
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from discreet.errors import (
    DiscreetError,
    GroupsOnGeography,
    OutsideUniverse,
    Refused,
    TooManyCells,
    TooManyVariables,
)
from discreet.model.request import canonical
from discreet.rules.declared import SHAPE_KINDS
from discreet.rules.edits import larger_areas, one_less, unchosen, without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from discreet.model.dataset import Dataset
    from discreet.model.request import TableRequest
    from discreet.rules.declared import Rule

#: Enough for every edit of every edit of a request with ten variables.
MOST_TRIED = 2_000


def nearest_allowed(
    request: TableRequest,
    dataset: Dataset,
    rules: Iterable[Rule],
    refusal_of: Callable[[TableRequest], Refused | None],
) -> TableRequest | None:
    """The nearest request that is allowed, itself if it is; None if nothing was found.

    Args:
        request: In canonical form.
        dataset: Its dataset.
        rules: The declared rules.
        refusal_of: Asks whether a canonical request is refused, and by what.
    """
    declared = tuple(rules)
    waiting, seen = deque([request]), {request.identity}
    while waiting and len(seen) < MOST_TRIED:
        current = waiting.popleft()
        refusal = refusal_of(current)
        if refusal is None:
            return current
        for mended in _mends(current, refusal, dataset, declared):
            try:
                asked = canonical(mended, dataset)
            except DiscreetError:  # an edit that cannot be read is no advice
                continue
            if asked.identity not in seen:
                seen.add(asked.identity)
                waiting.append(asked)
    return None


def _mends(
    request: TableRequest, refusal: Refused, dataset: Dataset, rules: tuple[Rule, ...]
) -> Iterator[TableRequest]:
    """The edits of the declared rules with the refusal's code, then those that its code alone tells."""
    for rule in rules:
        if isinstance(rule, SHAPE_KINDS) and _CODES.get(rule.kind, rule.kind) == refusal.code:
            yield from rule.mends(request, dataset)
    if isinstance(refusal, GroupsOnGeography):
        yield from unchosen(request, *dataset.geography)
    elif isinstance(refusal, TooManyVariables):
        yield from one_less(request, dataset)
    elif isinstance(refusal, TooManyCells | OutsideUniverse):
        yield from larger_areas(request, dataset)
        yield from one_less(request, dataset)
        yield from (each for name in sorted(dataset.geography) for each in without(request, name))
    yield from _general(request, refusal, dataset)


#: Kinds whose refusals have another code.
_CODES = {
    "max-variables": "too-many-variables",
    "max-cells": "too-many-cells",
    "free-groups": "too-many-groups",
}


def _general(request: TableRequest, refusal: Refused, dataset: Dataset) -> Iterator[TableRequest]:
    """Against a table that is too sparse: larger areas, fewer variables, no filter on places."""
    if refusal.code == "table-not-released":
        yield from larger_areas(request, dataset)
        yield from one_less(request, dataset)
        yield from unchosen(request, *dataset.geography, what=("filters",))
