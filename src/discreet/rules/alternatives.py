"""Alternatives to a refused request: the edits of rules, tried breadth first until one is allowed.

The first alternative found is the one with the fewest changes; pages link to it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from discreet.errors import DiscreetError, OutsideUniverse, Refused, TableNotReleased
from discreet.model.dataset import Dataset
from discreet.model.limits import MOST_ALTERNATIVES
from discreet.model.request import TableRequest, canonical
from discreet.rules.request_edits import drop_choices, drop_one_variable, drop_variables, use_larger_areas
from discreet.rules.rule import Rule
from discreet.rules.rule_set import protection_rules


def find_alternatives(
    request: TableRequest,
    dataset: Dataset,
    rules: Iterable[Rule],
    refusal_of: Callable[[TableRequest], Refused | None],
) -> Iterator[TableRequest]:
    """The allowed requests, nearest first; only the request itself if it is allowed.

    Args:
        request: In canonical form.
        dataset: Its dataset.
        rules: The declared rules.
        refusal_of: The refusal of a canonical request, if any.
    """
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
