"""Rules on combinations: forbidden and mandatory combinations of variables.

They depend on the request, its shape and the description only. A variable of a filter counts like one of the table, and a
rule on a variable also covers the finer levels of its hierarchy: otherwise a slice, or more detail, would evade it.

Source: Rinott et al. (2018), section 2.2 (rules on the structure of the list).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from discreet.errors import ForbiddenCombination, MandatoryVariables, Refused
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import at_or_below, finer, variables_showing
from discreet.model.messages.sentences import at_level, or_coarser, quote_names
from discreet.model.messages.text import message
from discreet.model.request import TableRequest
from discreet.model.shape import TableShape
from discreet.rules import reading
from discreet.rules.reading import key
from discreet.rules.request_edits import add_variables, drop_variables, use_larger_areas
from discreet.rules.rule import Rule, register


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
        """What it does."""
        return message(
            "{variables} may not be combined{at_level}, filters included.",
            variables=quote_names(self.variables),
            at_level=at_level(self.level),
        )

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        """What the advice means."""
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
        """Refuse a request that uses the variable and not the others."""
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
        """What it does."""
        return message(
            '"{variable}" may be used only together with {needs}.',
            variable=self.variable,
            needs=quote_names(self.needs),
        )

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        """What the advice means."""
        yield from add_variables(request, *self._missing(request, dataset))
        yield from drop_variables(request, *variables_showing(request, dataset, self.variable))

    def _missing(self, request: TableRequest, dataset: Dataset) -> list[str]:
        """Only variables of the table count as used: a filter shows one slice and leaves out the rest."""
        if not variables_showing(request, dataset, self.variable):
            return []
        shown = frozenset(request.variables)
        return [name for name in self.needs if not ({name} | finer(dataset, name)) & shown]
