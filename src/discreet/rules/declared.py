"""The rules that a custodian declares: read from `[[rule]]`, evaluated in their order.

Rules by shape refuse before a record is read; rules on counts wait for the perturbed, unfiltered table
(`verdict`). The three rules of `[protection]` (`shape_rules`) come first and always hold.

Comes from: `Dataset.rules`, as plain mappings. Goes to: `workspace` (checked at load, kept at open) and
`pipeline` (refusals and verdicts).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from discreet.errors import BadDescription, nearest
from discreet.rules.area_rules import MinimumAreaSize
from discreet.rules.combination_rules import ForbiddenTogether, MandatoryTogether, MaxCells, MaxVariables
from discreet.rules.group_rules import FreeGroups, NestedUnions
from discreet.rules.reading import read_rule
from discreet.rules.shape_rules import shape_rules
from discreet.rules.table_rules import (
    AttributeDisclosure,
    BlockedAreas,
    MarginalDominance,
    MeanCellSize,
    ShareOfOnes,
    ShareOfZeros,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from discreet.errors import Refused
    from discreet.model.dataset import Dataset
    from discreet.model.request import TableRequest
    from discreet.model.shape import TableShape
    from discreet.rules.group_rules import Meter

ShapeRule = (
    MaxVariables
    | MaxCells
    | ForbiddenTogether
    | MandatoryTogether
    | MinimumAreaSize
    | FreeGroups
    | NestedUnions
)
TableRule = ShareOfZeros | ShareOfOnes | MarginalDominance | AttributeDisclosure | MeanCellSize | BlockedAreas
Rule = ShapeRule | TableRule

SHAPE_KINDS: tuple[type[ShapeRule], ...] = (
    MaxVariables,
    MaxCells,
    ForbiddenTogether,
    MandatoryTogether,
    MinimumAreaSize,
    FreeGroups,
    NestedUnions,
)
TABLE_KINDS: tuple[type[TableRule], ...] = (
    ShareOfZeros,
    ShareOfOnes,
    MarginalDominance,
    AttributeDisclosure,
    MeanCellSize,
    BlockedAreas,
)
#: Every kind of rule by its name in `dataset.toml`.
KINDS: Mapping[str, type[Rule]] = MappingProxyType({kind.kind: kind for kind in (*SHAPE_KINDS, *TABLE_KINDS)})


def parse_rules(entries: Iterable[Mapping[str, Any]], dataset: Dataset) -> tuple[Rule, ...]:
    """Read the `[[rule]]` sections of a dataset, in order.

    Raises:
        BadDescription: With what is wrong and what to do.
    """
    return tuple(_rule(entry, dataset) for entry in entries)


def _rule(entry: Mapping[str, Any], dataset: Dataset) -> Rule:
    kind = entry.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise BadDescription(f"A rule has the kind {kind!r}.", nearest(str(kind), KINDS))
    if kind == FreeGroups.kind and dataset.protection.is_dp:
        raise BadDescription(
            "Under dp groups are sums of released cells, and need no rule.", "Take out the rule free-groups."
        )
    rule = read_rule(KINDS[kind], entry, dataset)
    if isinstance(rule, MinimumAreaSize):
        rule.check(dataset)
    return rule


def first_refusal(
    request: TableRequest,
    shape: TableShape,
    dataset: Dataset,
    rules: Iterable[Rule] = (),
    *,
    meter: Meter | None = None,
    account: str | None = None,
) -> Refused | None:
    """The first refusal by shape: the rules of [protection], then the declared ones in order.

    Args:
        request: In canonical form.
        shape: Its shape.
        dataset: Its dataset.
        rules: What `parse_rules` gave.
        meter: How many free groups of a variable an account has used.
        account: Who asks; None is anybody.
    """
    for check in shape_rules(dataset):
        refusal = check(request, shape, dataset)
        if refusal is not None:
            return refusal
    for rule in rules:
        if isinstance(rule, SHAPE_KINDS):
            refusal = rule.refuse(request, shape, dataset)
            if refusal is None and isinstance(rule, FreeGroups):
                refusal = rule.refuse_metered(request, meter, account)
            if refusal is not None:
                return refusal
    return None


def is_metered(request: TableRequest, rules: Iterable[Rule]) -> bool:
    """Whether the answer to a request depends on how many groups an account has used."""
    return any(
        isinstance(rule, FreeGroups) and rule.per_account is not None and rule.grouped(request)
        for rule in rules
    )


def refuse_by_rules(
    request: TableRequest,
    shape: TableShape,
    dataset: Dataset,
    rules: Iterable[Rule] = (),
    *,
    meter: Meter | None = None,
    account: str | None = None,
) -> None:
    """Raise the first refusal by shape, if any."""
    refusal = first_refusal(request, shape, dataset, rules, meter=meter, account=account)
    if refusal is not None:
        raise refusal
