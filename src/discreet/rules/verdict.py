"""The verdict on a table: the withheld areas, whether the table fails as a whole, and the reasons as data.

The rules see one table for all requests with the same variables: all of them crossed, unfiltered, ungrouped, with totals, so
that no filter, group or missing total evades them. Of a geography the finest level used is crossed, with the areas of all
coarser levels above it; of another hierarchy only the finest level. A rule withholds the areas that fail it, unless another
rule spares them; the total over areas is treated like an area. An area that is withheld with fewer variables is withheld
with more, because the larger table has the smaller one as its totals. Secondary suppression follows. A table fails if all
its areas are withheld, or if a rule fails it.

Source: Rinott et al. (2018), section 2.2, property 3.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import chain, combinations
from operator import or_

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict

from discreet.errors import TooManyCells
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import coarser, finest, levels_down_to
from discreet.model.limits import MOST_RULE_TABLES
from discreet.model.messages.sentences import cell_count
from discreet.model.messages.text import message, plural_message
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import Dimension, TableShape, table_shape
from discreet.rules.noisy_table import NoisyTable, Slices, slices_of
from discreet.rules.rule import Rule
from discreet.rules.secondary_suppression import add_secondary, same_people

#: The code of secondary suppression.
COMPLEMENT = "complement"


class RuleDocument(TypedDict):
    """What a rule says of a table: its code, a sentence and advice."""

    code: str
    message: str
    advice: str


class VerdictDocument(TypedDict):
    """How many areas pass the rules."""

    passed: int
    blocked: int
    total: int
    table_error: str | None
    rules: list[RuleDocument]


@dataclass(frozen=True, eq=False)
class Verdict:
    """The result of all rules on one table.

    Args:
        places: The geographic dimensions of the table that the rules saw.
        mask: The withheld areas along these dimensions, totals last; without geography a single flag.
        by_rule: Those that a rule withholds; the others are secondary.
        withheld: The number of withheld areas of the finest level.
        total: The number of areas; 1 without geography.
        table_error: The reason why the table fails as a whole, or None.
        rules: The findings, in the order of the rules, secondary suppression last.
    """

    places: tuple[Dimension, ...]
    mask: NDArray[np.bool_]
    by_rule: NDArray[np.bool_]
    withheld: int
    total: int
    table_error: str | None
    rules: tuple[RuleDocument, ...]

    @property
    def passed(self) -> int:
        """The number of areas that may be shown."""
        return self.total - self.withheld

    def as_json(self) -> VerdictDocument:
        """The verdict as plain data; every number in it follows from noisy counts."""
        return {
            "passed": self.passed,
            "blocked": self.withheld,
            "total": self.total,
            "table_error": self.table_error,
            "rules": [rule.copy() for rule in self.rules],
        }


def verdict_of(rules: Iterable[Rule], table: NoisyTable, dataset: Dataset) -> Verdict:
    """Evaluate the rules on a noisy, unfiltered table; rules by shape do nothing here."""
    declared = tuple(rules)
    whole = slices_of(table, dataset)
    crossed = [dimension.name for dimension in table.shape.dimensions if not dimension.geography]
    seen: dict[frozenset[str], _Withheld] = {}
    # All sets of the other variables, smaller ones first; the last is all of them.
    sizes = range(len(crossed) + 1)
    for names in map(frozenset, chain.from_iterable(combinations(crossed, n) for n in sizes)):
        slices = slices_of(table, dataset, names)
        seen[names] = _suppress(declared, slices, [seen[names - {name}] for name in names])
    found, areas = next(reversed(seen.values())), whole.areas()
    withheld, total = int((found.mask & areas).sum()), int(areas.sum())
    by_rule = int((found.any_rule & areas).sum())
    # Secondary suppression alone fails only a table without any area left.
    error: str | None = None
    if withheld == total == 1:
        error = message("The table is too sparse to be released.")
    elif withheld == total:
        error = message("No area can be shown.")
    elif by_rule:
        failures = (rule.fails(by_rule, total) for rule in declared if rule.reach(whole).any())
        error = next(filter(None, failures), None)
    mask, ruled = (each.reshape(whole.lengths) for each in (found.mask, found.any_rule))
    findings = _findings(declared, found, whole)
    return Verdict(whole.places, mask, ruled, withheld, total, error, findings)


@dataclass(frozen=True, slots=True, eq=False)
class _Withheld:
    """The withheld slices of one table: by each rule, in their order, and in all."""

    by_rule: tuple[NDArray[np.bool_], ...]
    mask: NDArray[np.bool_]

    @property
    def any_rule(self) -> NDArray[np.bool_]:
        """What some rule withholds."""
        return reduce(or_, self.by_rule, self.mask & False)


def _suppress(rules: tuple[Rule, ...], slices: Slices, smaller: list[_Withheld]) -> _Withheld:
    """The withheld slices of a table, given those of the tables with one variable less."""
    reaching = [rule for rule in rules if rule.reach(slices).any()]
    by_rule = []
    for number, rule in enumerate(rules):
        failed = rule.withholds(slices) & rule.reach(slices) if rule in reaching else slices.none()
        for other in reaching if failed.any() else ():
            failed &= ~(other.spares(rule, slices) & other.reach(slices))
        fewer = (each.by_rule[number] for each in smaller)
        by_rule.append(reduce(or_, fewer, same_people(failed, slices)))
    failed = reduce(or_, by_rule, slices.none())
    seeds = reduce(or_, (each.mask for each in smaller), slices.none())
    return _Withheld(tuple(by_rule), add_secondary(failed, seeds, slices))


def _findings(rules: tuple[Rule, ...], found: _Withheld, slices: Slices) -> tuple[RuleDocument, ...]:
    """The reasons why areas of the finest level are withheld."""
    areas = slices.areas()
    total = int(areas.sum())
    sentences: list[tuple[str, str]] = []
    for rule, failed in zip(rules, found.by_rule, strict=True):
        few, reason = int((failed & areas).sum()), rule.reason
        where = message("In {few:,} of {total:,} areas {reason}.", few=few, total=total, reason=reason)
        if few:
            sentence = where if slices.places else message("In this table {reason}.", reason=reason)
            sentences.append((rule.kind, sentence))
    more = int((found.mask & ~found.any_rule & areas).sum())
    if more:
        sentence = plural_message(
            "One more area is withheld, so that totals less the areas shown do not give the others away.",
            "{count} more areas are withheld, so that totals less the areas shown do not give the others away.",
            more,
        )
        sentences.append((COMPLEMENT, sentence))
    advice = advice_on(slices.places, slices.dataset)
    return tuple({"code": code, "message": text, "advice": advice} for code, text in sentences)


def advice_on(places: tuple[Dimension, ...], dataset: Dataset) -> str:
    """Advice against sparse areas."""
    for place in places:
        above = coarser(dataset, place.name)
        finest = place.depths == place.depths.max(initial=0)
        if above and (place.singles[: len(place.outputs)][finest] >= 0).all():
            return message(
                'Use "{coarser}" in place of "{name}".',
                coarser=above[0],
                name=place.name,
            )
    if places:
        return message("Use larger areas, or none.")
    return message("Take a variable out, filters included.")


def needs_table(rules: Iterable[Rule], request: TableRequest, dataset: Dataset) -> bool:
    """Whether any rule on counts applies to a request."""
    return any(rule.looks_at_counts and rule.concerns(request, dataset) for rule in rules)


def rule_table(request: TableRequest, dataset: Dataset) -> TableRequest:
    """The request whose noisy table the rules see: equal for all requests that show the same levels."""
    return _table(request, dataset)[0]


def _table(request: TableRequest, dataset: Dataset) -> tuple[TableRequest, TableShape]:
    """The cached request and shape: many requests have the same."""
    names = finest(dataset, request.used)
    chosen = {name for name, _ in (*request.filters, *request.groups)}
    levels: list[tuple[str, tuple[str, ...]]] = []
    for name in names:
        shown = next((each for own, each in request.levels if own == name and own not in chosen), (name,))
        if name not in dataset.geography:
            levels.append((name, shown[-1:]))
            continue
        above = levels_down_to(dataset, shown[-1] if shown[-1] in dataset.geography else name)
        # A code list is no level of the hierarchy; its groups are used directly.
        levels.append((name, above if set(shown) <= set(above) else shown))
    known: dict[object, tuple[TableRequest, TableShape]] = dataset.cache.setdefault((_table,), {})
    key = (request.dataset, tuple(levels))
    if key not in known:
        wide = canonical(TableRequest(request.dataset, rows=names, levels=tuple(levels)), dataset)
        if len(known) >= MOST_RULE_TABLES:
            known.clear()
        known[key] = wide, table_shape(wide, dataset)
    return known[key]


def rule_table_shape(request: TableRequest, dataset: Dataset) -> TableShape:
    """The shape of that table.

    Raises:
        TooManyCells: It is too large for the rules, however small the request.
    """
    shape = _table(request, dataset)[1]
    most = dataset.protection.max_cells
    if shape.cells > most:
        raise TooManyCells(
            message(
                "The rules look at the table without its filters and groups. It then has {size} cells; at "
                "most {most:,} are allowed.",
                size=cell_count(shape.cells),
                most=most,
            ),
            message("Take out a variable, filters included, or use a coarser level of the geography."),
        )
    return shape
