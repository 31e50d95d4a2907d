"""Margins and their downward closure: the requested tables, and the terms they are made of.

A margin is a set of variables, written as ascending axis numbers. A set of margins A needs the terms of
its downward closure B, every subset of every margin, the empty set (the total) included:

    B = {S : S is a subset of some α in A}.

The error of many margins as one number is Σ_α weight_α · (mean absolute error of a cell of α), Σ weights = 1. Weights
"cells" give every cell the same weight, "tables" every margin; or the custodian gives numbers.

Source: Yang, Fienberg & Rinaldo (2012), section 2 and Table 1, step 2.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest, UnknownVariable
from discreet.model.messages.text import nearest

#: Axis numbers, ascending; the empty tuple is the total.
Axes = tuple[int, ...]

#: Counts are int64, noisy counts float64.
Number = TypeVar("Number", np.int64, np.float64)

MOST_TERMS = 1_000_000


@dataclass(frozen=True, slots=True)
class MarginSet:
    """The wanted margins of a table of some shape.

    Args:
        shape: The number of categories of each variable, at least 2.
        margins: The wanted margins, each once, in the order in which they were asked for.

    >>> wanted = MarginSet(("A", "B", "C"), (2, 3, 4), ((0, 1), (1, 2)))
    >>> wanted.closure
    ((), (0,), (1,), (2,), (0, 1), (1, 2))
    >>> wanted.label((0, 1)), wanted.cells((1, 2)), wanted.is_binary
    ('AB', 12, False)
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    margins: tuple[Axes, ...]

    def __post_init__(self) -> None:
        if len(self.names) != len(self.shape) or len(set(self.names)) != len(self.names):
            raise BadRequest(f"{len(self.shape)} variables need as many names, each once: {self.names}.")
        if any(k < 2 for k in self.shape):
            raise BadRequest(f"The shape is {self.shape}; a variable needs at least 2 categories.")
        if not self.margins or len(set(self.margins)) != len(self.margins):
            raise BadRequest("At least one margin is needed, each once.", 'Write them as in "AD,AB,BE".')
        for margin in self.margins:
            if any(not 0 <= j < len(self.shape) for j in margin) or list(margin) != sorted(set(margin)):
                raise BadRequest(f"The margin {margin} is not a set of axes below {len(self.shape)}.")
        if sum(2 ** len(margin) for margin in self.margins) > MOST_TERMS:
            raise BadRequest(
                f"The margins have more than {MOST_TERMS:,} sub-margins.",
                "Ask for margins of fewer variables.",
            )

    @property
    def closure(self) -> tuple[Axes, ...]:
        """The downward closure B, small sets first."""
        return downward_closure(self.margins)

    @property
    def maximal(self) -> tuple[Axes, ...]:
        """The wanted margins that no other wanted margin contains."""
        return tuple(m for m in self.margins if not any(set(m) < set(other) for other in self.margins))

    @property
    def is_binary(self) -> bool:
        """Whether every variable has two categories, as the Fourier basis needs."""
        return all(k == 2 for k in self.shape)

    @property
    def table_cells(self) -> int:
        return math.prod(self.shape)

    def cells(self, margin: Axes) -> int:
        return math.prod(self.shape[j] for j in margin)

    def margin_shape(self, margin: Axes) -> tuple[int, ...]:
        return tuple(self.shape[j] for j in margin)

    def rest(self, margin: Axes, part: Axes) -> int:
        """The number of cells of `margin` per cell of its subset `part`."""
        return self.cells(margin) // self.cells(part)

    def label(self, margin: Axes) -> str:
        """A margin as users write it: letters side by side, longer names joined by "*"."""
        joint = "" if all(len(name) == 1 for name in self.names) else "*"
        return joint.join(self.names[j] for j in margin) or "total"


@lru_cache(maxsize=64)
def downward_closure(margins: tuple[Axes, ...]) -> tuple[Axes, ...]:
    """Every subset of every margin, small sets first.

    >>> downward_closure(((0, 1),))
    ((), (0,), (1,), (0, 1))
    """
    found = {part for margin in margins for r in range(len(margin) + 1) for part in combinations(margin, r)}
    return tuple(sorted(found, key=lambda part: (len(part), part)))


def subsets(margin: Axes) -> tuple[Axes, ...]:
    """Every subset of one margin, small sets first."""
    return downward_closure((margin,))


def parse_margins(text: str, names: Sequence[str], shape: Sequence[int]) -> MarginSet:
    """Parse margins: "AD,AB,BE", or "sex*age,sex*region" for longer names.

    >>> parse_margins("BA, C", "ABC", (2, 2, 2)).margins
    ((0, 1), (2,))
    """
    letters = all(len(name) == 1 for name in names)
    margins: list[Axes] = []
    for word in (part.strip() for part in text.split(",")):
        parts = [p.strip() for p in word.split("*")] if "*" in word or not letters else list(word)
        margin = tuple(sorted({_axis(part, names) for part in parts if part}))
        if margin and margin not in margins:
            margins.append(margin)
    return MarginSet(tuple(names), tuple(shape), tuple(margins))


def _axis(name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise UnknownVariable(f'The table has no variable "{name}".', nearest(name, names))
    return list(names).index(name)


def margin_table(counts: NDArray[Number], margin: Axes) -> NDArray[Number]:
    """Add a table up to one of its margins (eq. 1).

    >>> margin_table(np.array([[1, 2], [3, 4]]), (1,)).tolist()
    [4, 6]
    """
    others = tuple(j for j in range(counts.ndim) if j not in margin)
    return np.asarray(counts.sum(axis=others), dtype=counts.dtype)


def margin_tables(counts: NDArray[Number], wanted: MarginSet) -> dict[Axes, NDArray[Number]]:
    """The wanted margins of a full table."""
    if counts.shape != wanted.shape:
        raise BadRequest(f"The table has shape {counts.shape}, the margins were asked of {wanted.shape}.")
    return {margin: margin_table(counts, margin) for margin in wanted.margins}


def closure_tables(
    exact: Mapping[Axes, NDArray[np.int64]], wanted: MarginSet
) -> dict[Axes, NDArray[np.int64]]:
    """Every margin of the closure, summed from the wanted margins: the full table is never needed."""
    tables: dict[Axes, NDArray[np.int64]] = {}
    for part in reversed(wanted.closure):
        if part in exact:
            tables[part] = np.asarray(exact[part], dtype=np.int64).reshape(wanted.margin_shape(part))
            continue
        parent = min((m for m in tables if set(part) < set(m)), key=lambda m: (len(m), m))
        tables[part] = margin_table(tables[parent], tuple(parent.index(j) for j in part))
    return {part: tables[part] for part in wanted.closure}


class MarginMethod(Protocol):
    """Any method at a budget, for its error."""

    @property
    def wanted(self) -> MarginSet:
        """The released margins."""

    def expected_error(self, margin: Axes) -> float:
        """E|released - true| of a cell of a margin."""


def margin_weights(wanted: MarginSet, weights: str | Mapping[Axes, float] = "cells") -> NDArray[np.float64]:
    """One weight for each wanted margin, with sum one.

    >>> from discreet.margins.margin_set import MarginSet
    >>> wanted = MarginSet(("A", "B", "C"), (2, 3, 3), ((0, 1), (1, 2)))
    >>> margin_weights(wanted).tolist(), margin_weights(wanted, {(0, 1): 3, (1, 2): 1}).tolist()
    ([0.4, 0.6], [0.75, 0.25])
    """
    if weights == "cells":
        raw = [float(wanted.cells(margin)) for margin in wanted.margins]
    elif weights == "tables":
        raw = [1.0] * len(wanted.margins)
    elif isinstance(weights, str):
        raise BadRequest(f'Weights "{weights}" are not known.', 'Take "cells", "tables" or numbers.')
    else:
        raw = [float(weights.get(margin, math.nan)) for margin in wanted.margins]
        if not all(value > 0 and math.isfinite(value) for value in raw):
            raise BadRequest("Every wanted margin needs an importance above zero.")
    return np.array(raw) / math.fsum(raw)


def parse_weights(text: str, wanted: MarginSet) -> str | dict[Axes, float]:
    """Parse weights: "cells", "tables", or an importance of each margin, "AB=5,BC=1".

    >>> from discreet.margins.margin_set import MarginSet
    >>> parse_weights("AB=3,BC=1", MarginSet(("A", "B", "C"), (2, 3, 3), ((0, 1), (1, 2))))
    {(0, 1): 3.0, (1, 2): 1.0}
    """
    if "=" not in text:
        return text
    found: dict[Axes, float] = {}
    for word in text.split(","):
        name, _, number = word.partition("=")
        (margin,) = parse_margins(name, wanted.names, wanted.shape).margins
        try:
            found[margin] = float(number)
        except ValueError:
            raise BadRequest(f'The importance of "{name}" is "{number}".', "Give a number.") from None
        if margin not in wanted.margins:
            raise BadRequest(
                f'"{name.strip()}" is not among the margins.', "Weigh the margins that are asked for."
            )
    return found


def overall_error(plan: MarginMethod, weights: str | Mapping[Axes, float] = "cells") -> float:
    """The weighted mean absolute error of a plan."""
    shares = margin_weights(plan.wanted, weights)
    errors = (plan.expected_error(margin) for margin in plan.wanted.margins)
    return math.fsum(float(w) * e for w, e in zip(shares, errors, strict=True))
