"""Noise by size: another largest change and variance for larger counts, in one noise table.

    classes = [{ from = 0, D = 5, V = 3, js = 2 }, { from = 1000, D = 15, V = 9 }]

The first class is the small-count design. A later class is the symmetric law on [-D, D] of its variance, for every count
from `from` on. A law that widened at once would give the step away: a change that only the wider law can make says
on which side the count is. So a step is spread over the counts below it: D grows by at most one a count and V by at most
a tenth, and every law between is unbiased, too. The steps are part of the table, hence of its exact audit.

Source: ours; the classes are what offices ask for (larger counts bear more noise at the same relative error).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import InfeasibleDesign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from discreet.noise.ideal import IdealRow

#: Every count below the last class has a row of its own.
LARGEST_FROM = 10_000
#: The variance changes by at most this factor from one count to the next.
STEP = 1.1
_WORDS = {"from", "D", "V"}


@dataclass(frozen=True, slots=True)
class SizeClass:
    """The noise from one count on."""

    first: int
    D: int
    V: float


def later_classes(classes: Sequence[Mapping[str, Any]]) -> list[SizeClass]:
    """The classes after the first, checked by themselves.

    Raises:
        InfeasibleDesign: A class has other words than `from`, `D` and `V`, or does not lie above the one before.
    """
    found = [SizeClass(0, 0, 0.0)]
    for each in classes[1:]:
        if set(each) != _WORDS:
            raise InfeasibleDesign(
                f"A class of noise has {', '.join(sorted(each))}.",
                "After the first, a class has `from`, `D` and `V`.",
            )
        if not found[-1].first < each["from"] <= LARGEST_FROM:
            raise InfeasibleDesign(
                f"A class of noise begins at {each['from']}.",
                f"Classes ascend, and the last begins at {LARGEST_FROM:,} or below: every count below it has a row.",
            )
        found.append(SizeClass(each["from"], each["D"], each["V"]))
    return found[1:]


def rows_by_size(
    small: tuple[IdealRow, ...],
    classes: Sequence[SizeClass],
    js: int,
    law: Callable[[int, float], IdealRow],
) -> tuple[IdealRow, ...]:
    """The rows of all counts up to the last class, whose row serves every larger one.

    Args:
        small: The rows of the first class, count 0 first; the last serves the counts up to the next step.
        classes: The later classes.
        js: Released counts are never 1..js.
        law: The symmetric law of a D and a V.

    Raises:
        InfeasibleDesign: A step begins among the small counts, or before the one below it has ended.
    """
    rows = list(small)
    now = SizeClass(0, max(small[-1].values), small[-1].variance())
    for then in classes:
        steps = list(_between(now, then))
        first = then.first - len(steps)
        least = max(len(rows), max(then.D, now.D) + js + 1)
        if first < least:
            raise InfeasibleDesign(
                f"The class from {then.first} has its step at the counts {first} to {then.first}; it must begin at "
                f"{least} or above.",
                f"Let the class begin at {then.first + least - first} or above, or change D and V by less.",
            )
        rows += [rows[-1]] * (first - len(rows))
        rows += [law(D, V) for D, V in steps]
        rows.append(law(then.D, then.V))
        now = then
    return tuple(rows)


def _between(now: SizeClass, then: SizeClass) -> Iterator[tuple[int, float]]:
    """The D and V of the counts just below a class: D by at most one a count, V by at most a tenth."""
    ratio = then.V / now.V
    moves = max(abs(then.D - now.D), math.ceil(abs(math.log(ratio)) / math.log(STEP)))
    for place in range(1, moves):
        part = place / moves
        yield round(now.D + (then.D - now.D) * part), now.V * ratio**part
