"""The rows and columns of a table that is laid out: their labels, how they are named in an address, where groups begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.model.grammar import escape
from discreet.model.variable import TOTAL

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from discreet.model.shape import Dimension

    Axis = tuple[Dimension, ...]

#: How categories are named: by their labels, by their codes, by both.
NAMINGS = ("labels", "codes", "both")


@dataclass(frozen=True, slots=True)
class Line:
    """One row or column of a table.

    Args:
        labels: Of its categories, the outer variable first.
        cell: Its categories as the name of a cell is written: "sex=1,age=_T".
        totals: Which of its categories are totals.
        depth: How many categories hold the innermost one.
        first: Whether it is the first of its group.
    """

    labels: tuple[str, ...]
    cell: str
    totals: tuple[bool, ...]
    depth: int
    first: bool

    @property
    def look(self) -> str:
        """The classes of a column's cells: `t` in a total, `g` where a group of columns starts."""
        return " ".join(name for name, holds in (("t", self.total), ("g", self.first)) if holds)

    @property
    def total(self) -> bool:
        """Whether its innermost category is a total."""
        return self.totals[-1] if self.totals else False


def lines_of(axis: Axis, places: Iterable[int], naming: str) -> list[Line]:
    """Places along an axis as lines."""
    lists = [_named(dimension, naming) for dimension in axis]
    lengths = [dimension.length for dimension in axis]
    found = []
    for place in places:
        at = []
        for length in reversed(lengths):
            place, inner = divmod(place, length)  # noqa: PLW2901 - the rest belongs to the outer variables
            at.append(inner)
        found.append(_line(axis, lists, at[::-1]))
    return found


def _line(axis: Axis, lists: list[Sequence[str]], at: Sequence[int]) -> Line:
    codes = [
        TOTAL if place == len(dimension.outputs) else dimension.outputs[place].code
        for dimension, place in zip(axis, at, strict=True)
    ]
    inner = axis[-1].outputs if axis else ()
    return Line(
        tuple(labels[place] for labels, place in zip(lists, at, strict=True)),
        ",".join(f"{dimension.name}={escape(code)}" for dimension, code in zip(axis, codes, strict=True)),
        tuple(code == TOTAL for code in codes),
        inner[at[-1]].depth if at and at[-1] < len(inner) else 0,
        first=len(axis) > 1 and at[-1] == 0,
    )


def _named(dimension: Dimension, naming: str) -> Sequence[str]:
    """The names of a dimension's categories; a total has no code that would tell a reader anything."""
    labels = dimension.labels
    if naming == "labels":
        return labels
    pattern = "{code}" if naming == "codes" else "{label} ({code})"
    names = [
        pattern.format(code=output.code, label=label)
        for output, label in zip(dimension.outputs, labels, strict=False)
    ]
    return [*names, *labels[len(names) :]]
