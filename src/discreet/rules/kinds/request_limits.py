"""Rules on a request: the maximum number of variables and of cells, forbidden and mandatory combinations.

They depend on the request, its shape and the description only. A variable of a filter counts like one of the table, and a
rule on a variable also covers the finer levels of its hierarchy: otherwise a slice, or more detail, would evade it.
`[protection]` sets both maxima for every dataset (`max_variables`, `max_cells`; `model/limits.py` has the defaults); a
`[[rule]]` may be stricter in small areas.

Source: Rinott et al. (2018), section 2.2 (rules on the structure of the list).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from discreet.errors import ForbiddenCombination, MandatoryVariables, Refused, TooManyCells, TooManyVariables
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import at_or_below, finer, variables_showing
from discreet.model.messages.sentences import at_level, cell_count, or_coarser, quote_names
from discreet.model.messages.text import message
from discreet.model.request import TableRequest
from discreet.model.shape import TableShape
from discreet.rules import reading
from discreet.rules.reading import key
from discreet.rules.rule import (
    Rule,
    add_variables,
    drop_one_variable,
    drop_variables,
    register,
    use_larger_areas,
)


@register
@dataclass(frozen=True, slots=True)
class MaxVariables(Rule):
    """At most `most` variables in addition to geography; with `level`, only in small areas."""

    kind: ClassVar[str] = "max-variables"
    error: ClassVar[type[Refused]] = TooManyVariables
    most: int = key(reading.whole(0))
    level: str | None = key(reading.level, None)

    def refuse(self, request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
        counted = sorted(request.used - dataset.geography)
        if len(counted) <= self.most or not at_or_below(request, dataset, self.level):
            return None
        return self.refusal(
            message(
                "The table uses {counted} variables in addition to geography ({counted_2:comma}); at most {most} may "
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
        return message(
            "At most {most} variables beside geography may be combined{at_level}, filters included.",
            most=self.most,
            at_level=at_level(self.level),
        )

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
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
        return message(
            "A table may have at most {most:,} cells{at_level}, totals included.",
            most=self.most,
            at_level=at_level(self.level),
        )

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        yield from use_larger_areas(request, dataset)
        yield from drop_one_variable(request, dataset)
        yield from (each for name in sorted(dataset.geography) for each in drop_variables(request, name))


@register
@dataclass(frozen=True, slots=True)
class ForbiddenTogether(Rule):
    """Variables that may not be used together, perhaps only in small areas."""

    kind: ClassVar[str] = "forbidden-combination"
    error: ClassVar[type[Refused]] = ForbiddenCombination
    variables: tuple[str, ...] = key(reading.together)
    level: str | None = key(reading.level, None)

    def refuse(self, request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
        used = [variables_showing(request, dataset, name) for name in self.variables]
        if not all(used) or not at_or_below(request, dataset, self.level):
            return None
        names = quote_names(sorted(set().union(*used)))
        return self.refusal(
            message(
                "{names} may not be combined{at_level}, filters included.",
                names=names,
                at_level=at_level(self.level),
            ),
            message("Take one of them out{or_coarser}.", or_coarser=or_coarser(dataset, self.level)),
        )

    @property
    def sentence(self) -> str:
        return message(
            "{variables} may not be combined{at_level}, filters included.",
            variables=quote_names(self.variables),
            at_level=at_level(self.level),
        )

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        if self.level is not None:
            yield from use_larger_areas(request, dataset)
        for name in reversed(self.variables):
            yield from drop_variables(request, *variables_showing(request, dataset, name))


@register
@dataclass(frozen=True, slots=True)
class MandatoryTogether(Rule):
    """A variable that may be used only with others: a rate without its base misleads."""

    kind: ClassVar[str] = "mandatory-variables"
    error: ClassVar[type[Refused]] = MandatoryVariables
    variable: str = key(reading.variable)
    needs: tuple[str, ...] = key(reading.variables)

    def refuse(self, request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
        missing = self._missing(request, dataset)
        if not missing:
            return None
        return self.refusal(
            message(
                '"{variable}" may be used only together with {missing}.',
                variable=self.variable,
                missing=quote_names(missing),
            ),
            message(
                "Add {missing} to the table, or take {variable!r} out.",
                missing=quote_names(missing),
                variable=self.variable,
            ),
        )

    @property
    def sentence(self) -> str:
        return message(
            '"{variable}" may be used only together with {needs}.',
            variable=self.variable,
            needs=quote_names(self.needs),
        )

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        yield from add_variables(request, *self._missing(request, dataset))
        yield from drop_variables(request, *variables_showing(request, dataset, self.variable))

    def _missing(self, request: TableRequest, dataset: Dataset) -> list[str]:
        """Only variables of the table count as used: a filter shows one slice and leaves out the rest."""
        if not variables_showing(request, dataset, self.variable):
            return []
        shown = frozenset(request.variables)
        return [name for name in self.needs if not ({name} | finer(dataset, name)) & shown]
