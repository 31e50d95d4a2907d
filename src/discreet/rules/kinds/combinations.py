"""Declared rules on what is combined: how many variables, which ones, how many cells, how fine a geography.

They are functions of the request, its shape and the description: the same answer whatever the records are.
A variable of a filter counts like one of the table, and a rule that names a variable holds for the finer
levels of its hierarchy too: otherwise a slice, or more detail, would evade it.

Comes from: `[[rule]]` in `dataset.toml`. Goes to: `declared`, which asks them in order.
Source: Rinott et al. (2018), section 2.2 (rules on the structure of the list).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from discreet.errors import ForbiddenCombination, MandatoryVariables, TooManyCells, TooManyVariables
from discreet.rules import reading
from discreet.rules.edits import added, larger_areas, one_less, without
from discreet.rules.places import at_or_below, finer, shows
from discreet.rules.reading import key
from discreet.rules.registry import register
from discreet.rules.rule import Rule
from discreet.rules.sentences import at_level, listed, or_coarser, size

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.errors import Refused
    from discreet.model.dataset import Dataset
    from discreet.model.request import TableRequest
    from discreet.model.shape import TableShape


@register
@dataclass(frozen=True, slots=True)
class MaxVariables(Rule):
    """At most so many variables beside geography, perhaps only in small areas."""

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
            f"The table uses {len(counted)} variables beside geography ({', '.join(counted)}); "
            f"at most {self.most} may be combined{at_level(self.level)}.",
            f"Take out {len(counted) - self.most}, filters included{or_coarser(dataset, self.level)}.",
        )

    @property
    def sentence(self) -> str:
        """What it does."""
        return f"At most {self.most} variables beside geography may be combined{at_level(self.level)}, filters included."

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        """What the advice means."""
        yield from one_less(request, dataset)
        if self.level is not None:
            yield from larger_areas(request, dataset)


@register
@dataclass(frozen=True, slots=True)
class MaxCells(Rule):
    """At most so many cells, totals included, perhaps only in small areas."""

    kind: ClassVar[str] = "max-cells"
    error: ClassVar[type[Refused]] = TooManyCells
    most: int = key(reading.whole(1))
    level: str | None = key(reading.level, None)

    def refuse(self, request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
        """Refuse a table with more."""
        if shape.cells <= self.most or not at_or_below(request, dataset, self.level):
            return None
        return self.refusal(
            f"The table would have {size(shape.cells)} cells; "
            f"at most {self.most:,} are released at a time{at_level(self.level)}.",
            "Take out a variable, use a coarser level of the geography, or filter to fewer categories.",
        )

    @property
    def sentence(self) -> str:
        """What it does."""
        return f"A table may have at most {self.most:,} cells{at_level(self.level)}, totals included."

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        """What the advice means."""
        yield from larger_areas(request, dataset)
        yield from one_less(request, dataset)
        yield from (each for name in sorted(dataset.geography) for each in without(request, name))


@register
@dataclass(frozen=True, slots=True)
class ForbiddenTogether(Rule):
    """Variables that may not be used together, perhaps only in small areas."""

    kind: ClassVar[str] = "forbidden-combination"
    error: ClassVar[type[Refused]] = ForbiddenCombination
    variables: tuple[str, ...] = key(reading.together)
    level: str | None = key(reading.level, None)

    def refuse(self, request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
        """Refuse a request that uses all of them."""
        used = [shows(request, dataset, name) for name in self.variables]
        if not all(used) or not at_or_below(request, dataset, self.level):
            return None
        names = listed(sorted(set().union(*used)))
        return self.refusal(
            f"{names} may not be combined{at_level(self.level)}, filters included.",
            f"Take one of them out{or_coarser(dataset, self.level)}.",
        )

    @property
    def sentence(self) -> str:
        """What it does."""
        return f"{listed(self.variables)} may not be combined{at_level(self.level)}, filters included."

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        """What the advice means."""
        if self.level is not None:
            yield from larger_areas(request, dataset)
        for name in reversed(self.variables):
            yield from without(request, *shows(request, dataset, name))


@register
@dataclass(frozen=True, slots=True)
class MandatoryTogether(Rule):
    """A variable that may be used only with others: a rate without its base misleads."""

    kind: ClassVar[str] = "mandatory-variables"
    error: ClassVar[type[Refused]] = MandatoryVariables
    variable: str = key(reading.variable)
    needs: tuple[str, ...] = key(reading.variables)

    def refuse(self, request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
        """Refuse a request that uses the variable and not the others."""
        missing = self._missing(request, dataset)
        if not missing:
            return None
        return self.refusal(
            f'"{self.variable}" may be used only together with {listed(missing)}.',
            f"Add {listed(missing)} to the table, or take {self.variable!r} out.",
        )

    @property
    def sentence(self) -> str:
        """What it does."""
        return f'"{self.variable}" may be used only together with {listed(self.needs)}.'

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        """What the advice means."""
        yield from added(request, *self._missing(request, dataset))
        yield from without(request, *shows(request, dataset, self.variable))

    def _missing(self, request: TableRequest, dataset: Dataset) -> list[str]:
        """Only what stands in the table counts as used: a filter shows one slice and leaves out the rest."""
        if not shows(request, dataset, self.variable):
            return []
        shown = frozenset(request.variables)
        return [name for name in self.needs if not ({name} | finer(dataset, name)) & shown]
