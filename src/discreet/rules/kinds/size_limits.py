"""Rules on the size of a table: the maximum number of variables and of cells.

`[protection]` sets both for every dataset (`max_variables`, `max_cells`); a `[[rule]]` may be stricter in small areas.
Variables of a filter count too. `model/limits.py` has the defaults.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from discreet.errors import Refused, TooManyCells, TooManyVariables
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import at_or_below
from discreet.model.messages.sentences import at_level, cell_count, or_coarser
from discreet.model.messages.text import message
from discreet.model.request import TableRequest
from discreet.model.shape import TableShape
from discreet.rules import reading
from discreet.rules.reading import key
from discreet.rules.request_edits import drop_one_variable, drop_variables, use_larger_areas
from discreet.rules.rule import Rule, register


@register
@dataclass(frozen=True, slots=True)
class MaxVariables(Rule):
    """At most `most` variables in addition to geography; with `level`, only in small areas."""

    kind: ClassVar[str] = "max-variables"
    error: ClassVar[type[Refused]] = TooManyVariables
    most: int = key(reading.whole(0))
    level: str | None = key(reading.level, None)

    def refuse(self, request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
        """Refuse a request that combines more."""
        counted = sorted(request.used - dataset.geography)
        if len(counted) <= self.most or not at_or_below(request, dataset, self.level):
            return None
        return self.refusal(
            message(
                "The table uses {counted} variables beside geography ({counted_2:comma}); at most {most} may "
                "be combined{at_level}.",
                counted=len(counted),
                counted_2=tuple(counted),
                most=self.most,
                at_level=at_level(self.level),
            ),
            message(
                "Take out {counted}, filters included{or_coarser}.",
                counted=len(counted) - self.most,
                or_coarser=or_coarser(dataset, self.level),
            ),
        )

    @property
    def sentence(self) -> str:
        """What it does."""
        return message(
            "At most {most} variables beside geography may be combined{at_level}, filters included.",
            most=self.most,
            at_level=at_level(self.level),
        )

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        """What the advice means."""
        yield from drop_one_variable(request, dataset)
        if self.level is not None:
            yield from use_larger_areas(request, dataset)


@register
@dataclass(frozen=True, slots=True)
class MaxCells(Rule):
    """At most `most` cells, totals included; with `level`, only in small areas."""

    kind: ClassVar[str] = "max-cells"
    error: ClassVar[type[Refused]] = TooManyCells
    most: int = key(reading.whole(1))
    level: str | None = key(reading.level, None)

    def refuse(self, request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
        """Refuse a table with more."""
        if shape.cells <= self.most or not at_or_below(request, dataset, self.level):
            return None
        return self.refusal(
            message(
                "The table would have {size} cells; at most {most:,} are released at a time{at_level}.",
                size=cell_count(shape.cells),
                most=self.most,
                at_level=at_level(self.level),
            ),
            message(
                "Take out a variable, use a coarser level of the geography, or filter to fewer categories."
            ),
        )

    @property
    def sentence(self) -> str:
        """What it does."""
        return message(
            "A table may have at most {most:,} cells{at_level}, totals included.",
            most=self.most,
            at_level=at_level(self.level),
        )

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        """What the advice means."""
        yield from use_larger_areas(request, dataset)
        yield from drop_one_variable(request, dataset)
        yield from (each for name in sorted(dataset.geography) for each in drop_variables(request, name))
