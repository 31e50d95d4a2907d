"""The verdict on a table: which areas are withheld, whether the table fails as a whole, and why, as data.

`judge` evaluates the declared rules in order on the perturbed, unfiltered table. An area is blocked by the
first rules that it fails, unless its mean cell size rescues it; the total over areas is judged like an
area, since it is the table without geography. A table whose areas are all blocked fails, and so does one
with more blocked areas than `blocked-areas` allows.

Comes from: a `NoisyTable`. Goes to: `withheld` (cells), `pipeline`, the faces (`as_json`).
Source: Rinott et al. (2018), section 2.2, property 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.rules.area_rules import MinimumAreaSize
from discreet.rules.noisy_table import slices_of
from discreet.rules.places import coarser
from discreet.rules.table_rules import (
    AttributeDisclosure,
    BlockedAreas,
    MarginalDominance,
    MeanCellSize,
    ShareOfOnes,
    ShareOfZeros,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.model.shape import Dimension
    from discreet.rules.noisy_table import NoisyTable, Slices

CountRule = (
    ShareOfZeros | ShareOfOnes | MarginalDominance | AttributeDisclosure | MeanCellSize | MinimumAreaSize
)
COUNT_RULES = (
    ShareOfZeros,
    ShareOfOnes,
    MarginalDominance,
    AttributeDisclosure,
    MeanCellSize,
    MinimumAreaSize,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule found: its code, a sentence and what helps."""

    code: str
    message: str
    advice: str


@dataclass(frozen=True, eq=False)
class Verdict:
    """What the rules say of one table.

    Args:
        places: The dimensions of geography of the table that was judged.
        mask: Which areas are blocked, along these dimensions, totals last; without geography a single flag.
        blocked: How many areas are blocked, totals not counted.
        total: How many areas there are; 1 without geography.
        table_error: Why the table fails as a whole, or None.
        rules: What blocked areas, in the order of the rules.
    """

    places: tuple[Dimension, ...]
    mask: NDArray[np.bool_]
    blocked: int
    total: int
    table_error: str | None
    rules: tuple[Finding, ...]

    @property
    def passed(self) -> int:
        """How many areas may be shown."""
        return self.total - self.blocked

    def as_json(self) -> dict[str, Any]:
        """The verdict as plain data; every number in it follows from noisy counts."""
        return {
            "passed": self.passed,
            "blocked": self.blocked,
            "total": self.total,
            "table_error": self.table_error,
            "rules": [{"code": f.code, "message": f.message, "advice": f.advice} for f in self.rules],
        }


def verdict_of(rules: Iterable[object], table: NoisyTable, dataset: Dataset) -> Verdict:
    """Evaluate the declared rules on a perturbed, unfiltered table; rules by shape are passed over."""
    slices = slices_of(table, dataset)
    declared = tuple(rules)
    areas = slices.areas()
    failed = _failed([rule for rule in declared if isinstance(rule, COUNT_RULES)], slices)
    mask = np.zeros(len(areas), dtype=np.bool_)
    for _, slices_failed in failed:
        mask |= slices_failed
    found = [(rule, int((bad & areas).sum())) for rule, bad in failed if (bad & areas).any()]
    advice = advice_on(slices.places, dataset) if found else ""
    findings = tuple(_finding(rule, count, int(areas.sum()), slices, advice) for rule, count in found)
    blocked, total = int((mask & areas).sum()), int(areas.sum())
    limits = [rule for rule in declared if isinstance(rule, BlockedAreas) and _applies(rule, slices).any()]
    return Verdict(
        slices.places,
        mask.reshape(tuple(place.length for place in slices.places)),
        blocked,
        total,
        _table_error(blocked, total, limits, slices),
        findings,
    )


def _failed(rules: list[CountRule], slices: Slices) -> list[tuple[CountRule, NDArray[np.bool_]]]:
    """The slices that fail each rule, those that a large mean cell size rescues taken out."""
    means = [rule for rule in rules if isinstance(rule, MeanCellSize) and _applies(rule, slices).any()]
    failed = []
    for rule in rules:
        applies = _applies(rule, slices)
        if not applies.any():
            continue
        bad = rule.blocked(slices) & applies
        for mean in means:
            if rule.kind in mean.rescues:
                bad &= ~(mean.rescued(slices) & _applies(mean, slices))
        failed.append((rule, bad))
    return failed


def _applies(rule: CountRule | BlockedAreas, slices: Slices) -> NDArray[np.bool_]:
    """The slices that a rule looks at: enough variables, areas small enough."""
    if slices.variables < rule.from_variables:
        return np.zeros(len(slices.counts), dtype=np.bool_)
    return slices.within(rule.level)


def _table_error(blocked: int, total: int, limits: list[BlockedAreas], slices: Slices) -> str | None:
    if blocked == total:
        return "The table is too sparse to be released." if total == 1 else "No area can be shown."
    for rule in limits:
        if blocked > rule.most * total:
            return (
                f"{blocked:,} of {total:,} areas cannot be shown; "
                f"the table is not released when more than {rule.most:.0%} cannot."
            )
    return None


def _finding(rule: CountRule, blocked: int, total: int, slices: Slices, advice: str) -> Finding:
    where = "In this table" if not slices.places else f"In {blocked:,} of {total:,} areas"
    return Finding(rule.kind, f"{where} {rule.reason}.", advice)


def advice_on(places: tuple[Dimension, ...], dataset: Dataset) -> str:
    """What helps against sparse areas."""
    for place in places:
        above = coarser(dataset, place.name)
        if above and all(len(output.members) == 1 for output in place.outputs):
            return f'Use "{above[0]}" in place of "{place.name}", or take a variable out, filters included.'
    fewer = "Take a variable out, filters included"
    return f"{fewer}, or use larger areas or none." if places else f"{fewer}, or use broader categories."
