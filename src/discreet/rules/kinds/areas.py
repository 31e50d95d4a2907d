"""Rules on areas: a minimum size by a public figure, and a maximum share of withheld areas.

Figures are declared with the rule and never counted from records. A table of many areas withholds the small ones; a
request for small areas alone is refused. A table with too many withheld areas fails as a whole.

Source: Rinott et al. (2018), section 1 (thresholds on the population size).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import AreaTooSmall, BadDescription, Refused
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import ancestors_or_self, at_or_below, coarser, finer, is_level_of, units_of
from discreet.model.messages.sentences import or_coarser
from discreet.model.messages.text import message, nearest
from discreet.model.request import TableRequest
from discreet.model.shape import TableShape
from discreet.rules import reading
from discreet.rules.noisy_table import Slices
from discreet.rules.reading import key
from discreet.rules.rule import CountRule, Rule, drop_choices, drop_variables, register, use_larger_areas


@register
@dataclass(frozen=True, slots=True)
class MinimumAreaSize(Rule):
    """Areas whose public figure is below a minimum; those without a figure are taken as large enough."""

    kind: ClassVar[str] = "minimum-area-size"
    error: ClassVar[type[Refused]] = AreaTooSmall
    variable: str = key(reading.level)
    least: int = key(reading.whole(1))
    figures: tuple[tuple[str, int], ...] = key(reading.figures)

    def check(self, dataset: Dataset) -> None:
        codes = dataset.variable(self.variable).codes
        for code, _ in self.figures:
            if code not in dataset.variable(self.variable):
                raise BadDescription(
                    f'The rule "{self.kind}" has a figure for {code!r}, which "{self.variable}" does not have.',
                    nearest(code, codes),
                )

    def refuse(self, request: TableRequest, shape: TableShape, dataset: Dataset) -> Refused | None:
        """Refuse a request for small areas alone: of the table, or of a filter that it does not show."""
        reached = {self.variable} | finer(dataset, self.variable)
        asked = {d.name: d.population for d in shape.dimensions} | {f.name: f.members for f in shape.filters}
        for name, members in asked.items():
            if name in reached:
                owner = ancestors_or_self(dataset, name, self.variable)
                figures = self._figures(dataset)[owner][list(members)]
                if ((figures >= 0) & (figures < self.least)).all():
                    return self._refusal(dataset, name, members)
        return None

    @property
    def sentence(self) -> str:
        return message(
            'Areas of "{variable}" whose public figure is below {least:,} are withheld, and a question '
            "about such areas alone is refused.",
            variable=self.variable,
            least=self.least,
        )

    def mends(self, request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
        reached = {self.variable} | finer(dataset, self.variable)
        yield from drop_choices(request, *reached, what=("filters",))
        yield from use_larger_areas(request, dataset)
        yield from drop_variables(request, *reached)

    def concerns(self, request: TableRequest, dataset: Dataset) -> bool:
        """Whether the request sees areas at the rule's level or below, or coarser ones that are too small."""
        return at_or_below(request, dataset, self.variable) or any(
            self._small_unions(
                dataset, name, [(place,) for place in range(len(dataset.variable(name)))]
            ).any()
            for name in request.used & set(coarser(dataset, self.variable))
        )

    def withholds(self, slices: Slices) -> NDArray[np.bool_]:
        """Small areas, and unions of areas that are still small."""
        bad = np.zeros(slices.lengths, dtype=np.bool_)
        for axis, place in enumerate(slices.places):
            if is_level_of(slices.dataset, place.name, self.variable):
                small = self._small_unions(slices.dataset, place.name, place.members())
                bad |= small.reshape(tuple(-1 if a == axis else 1 for a in range(bad.ndim)))
        return bad.ravel()

    @property
    def reason(self) -> str:
        return message("the public figure is below {least:,} people", least=self.least)

    def _figures(self, dataset: Dataset) -> NDArray[np.int64]:
        """The figure of each area of the rule's level, -1 without one."""
        own = dataset.variable(self.variable)
        figures = np.full(len(own), -1, dtype=np.int64)
        for code, number in self.figures:
            figures[own.position(code)] = number
        return figures

    def _small_unions(self, dataset: Dataset, name: str, unions: list[tuple[int, ...]]) -> NDArray[np.bool_]:
        """Whether unions are small: the figures of their areas are added up, each area once."""
        figures = self._figures(dataset)
        parts = [figures[units] for units in units_of(dataset, name, unions, self.variable)]
        return np.array([bool((each >= 0).all() and each.sum() < self.least) for each in parts])

    def _refusal(self, dataset: Dataset, name: str, members: tuple[int, ...]) -> Refused:
        label = dataset.variable(name).categories[members[0]].label
        return self.refusal(
            message(
                "{label!r} has fewer than {least:,} people by the public figure; no table is made of them.",
                label=label,
                least=self.least,
            )
            if len(members) == 1
            else message(
                "{label!r} and the others asked for each have fewer than {least:,} people by the public figure; no "
                "table is made of them.",
                label=label,
                least=self.least,
            ),
            message(
                "Ask for more or larger areas{or_coarser}.", or_coarser=or_coarser(dataset, self.variable)
            ),
        )


@register
@dataclass(frozen=True, slots=True, kw_only=True)
class WithheldShare(CountRule):
    """The table fails as a whole when more than so large a share of its areas is withheld."""

    kind: ClassVar[str] = "blocked-areas"
    most: float = key(reading.share)

    @property
    def sentence(self) -> str:
        return message(
            "A table is refused where more than {most:.0%} of its areas cannot be shown{where}.",
            most=self.most,
            where=self.where,
        )

    def fails(self, withheld: int, total: int) -> str | None:
        if withheld <= self.most * total:
            return None
        return message(
            "{withheld:,} of {total:,} areas cannot be shown; the table is refused when more than "
            "{most:.0%} cannot.",
            withheld=withheld,
            total=total,
            most=self.most,
        )
