"""The verdict on a table: which areas are withheld, whether the table fails as a whole, and why, as data.

`verdict_of` asks every declared rule, in order, about the noisy, unfiltered table. A rule withholds the
areas that fail it, unless another rule spares them; the total over areas is treated like an area, since it is
the table without geography. A table whose areas are all withheld fails, and a rule may fail one with too many.

Comes from: a `NoisyTable`. Goes to: `withheld` (cells), `answer`, the faces (`as_json`).
Source: Rinott et al. (2018), section 2.2, property 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.rules.noisy_table import slices_of
from discreet.rules.places import coarser

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.model.shape import Dimension
    from discreet.rules.noisy_table import NoisyTable, Slices
    from discreet.rules.rule import Rule


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
        places: The dimensions of geography of the table that the rules looked at.
        mask: Which areas are withheld, along these dimensions, totals last; without geography a single flag.
        withheld: How many areas are withheld, totals not counted.
        total: How many areas there are; 1 without geography.
        table_error: Why the table fails as a whole, or None.
        rules: Why areas are withheld, in the order of the rules.
    """

    places: tuple[Dimension, ...]
    mask: NDArray[np.bool_]
    withheld: int
    total: int
    table_error: str | None
    rules: tuple[Finding, ...]

    @property
    def passed(self) -> int:
        """How many areas may be shown."""
        return self.total - self.withheld

    def as_json(self) -> dict[str, Any]:
        """The verdict as plain data; every number in it follows from noisy counts."""
        return {
            "passed": self.passed,
            "blocked": self.withheld,
            "total": self.total,
            "table_error": self.table_error,
            "rules": [{"code": f.code, "message": f.message, "advice": f.advice} for f in self.rules],
        }


def verdict_of(rules: Iterable[Rule], table: NoisyTable, dataset: Dataset) -> Verdict:
    """Ask the declared rules about a noisy, unfiltered table; rules by shape have nothing to say here."""
    slices = slices_of(table, dataset)
    areas, mask = slices.areas(), slices.none()
    reaching = [rule for rule in rules if rule.reach(slices).any()]
    found = []
    for rule in reaching:
        failed = _failed(rule, reaching, slices)
        mask |= failed
        if (failed & areas).any():
            found.append((rule, int((failed & areas).sum())))
    withheld, total = int((mask & areas).sum()), int(areas.sum())
    advice = advice_on(slices.places, dataset) if found else ""
    return Verdict(
        slices.places,
        mask.reshape(tuple(place.length for place in slices.places)),
        withheld,
        total,
        _table_error(withheld, total, reaching),
        tuple(_finding(rule, number, total, slices, advice) for rule, number in found),
    )


def _failed(rule: Rule, rules: list[Rule], slices: Slices) -> NDArray[np.bool_]:
    """The slices that a rule withholds and no rule spares."""
    failed = rule.withholds(slices) & rule.reach(slices)
    if failed.any():
        for other in rules:
            failed &= ~(other.spares(rule, slices) & other.reach(slices))
    return failed


def _table_error(withheld: int, total: int, rules: list[Rule]) -> str | None:
    if withheld == total:
        return "The table is too sparse to be released." if total == 1 else "No area can be shown."
    if not withheld:
        return None
    return next(filter(None, (rule.fails(withheld, total) for rule in rules)), None)


def _finding(rule: Rule, withheld: int, total: int, slices: Slices, advice: str) -> Finding:
    where = "In this table" if not slices.places else f"In {withheld:,} of {total:,} areas"
    return Finding(rule.kind, f"{where} {rule.reason}.", advice)


def advice_on(places: tuple[Dimension, ...], dataset: Dataset) -> str:
    """What helps against sparse areas."""
    for place in places:
        above = coarser(dataset, place.name)
        if above and all(len(output.members) == 1 for output in place.outputs):
            return f'Use "{above[0]}" in place of "{place.name}", or take a variable out, filters included.'
    fewer = "Take a variable out, filters included"
    return f"{fewer}, or use larger areas or none." if places else f"{fewer}, or use broader categories."
