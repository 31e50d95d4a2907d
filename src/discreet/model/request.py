"""The table request: a question as a value, with one canonical form, which is also the permalink.

`canonical` checks a request against its dataset and removes everything that does not change the
question: repeated and unordered codes, filters that keep everybody, groups that regroup nothing. Two
requests that ask for the same cells then have the same `identity`; the layout (which variable stands
where) is kept beside it, for people.

Comes from: a URL, the command line or Python. Goes to: `rules`, `records` (as a `TableShape`), the release.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from discreet.errors import BadRequest, nearest
from discreet.model.fit_to import NONE, canonical_fit_to
from discreet.model.grammar import (
    escape,
    parse_filter,
    parse_group,
    parse_levels,
    parse_names,
    write_filter,
    write_group,
)
from discreet.model.levels import coarse_to_fine
from discreet.model.measure import DEFAULT_MEASURE
from discreet.model.one_line import one_line
from discreet.model.protection import ADDITIVITY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from discreet.model.dataset import Dataset
    from discreet.model.variable import Variable

Filters = tuple[tuple[str, tuple[str, ...]], ...]
Groups = tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
Levels = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class TableRequest:
    """Which table of which dataset.

    Args:
        dataset: The dataset's id.
        rows: Variables down the side.
        columns: Variables along the top.
        layers: Variables of which each category is a table of its own.
        filters: For a variable, the codes of the people who are counted; the others are left out.
        groups: For a variable of the table, the groups of codes that are shown instead of its categories.
            People in no group still count in the variable's total.
        totals: Whether every variable has a total.
        levels: For a variable of the table the levels that are shown instead of its own categories: coarser
            levels of its hierarchy, code lists, itself.
        measure: What the numbers say, by its name in `answer/measures`: `count` for people counted.
        additivity: How totals relate to their parts; empty for the dataset's own way.
        fit_to: Published tables that a fitted table agrees with (`model/fit_to.py`); empty for the dataset's own.
    """

    dataset: str
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    filters: Filters = ()
    groups: Groups = ()
    totals: bool = True
    levels: Levels = ()
    measure: str = DEFAULT_MEASURE
    additivity: str = ""
    fit_to: tuple[str, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the table in the order of its cells: rows, columns, layers."""
        return self.rows + self.columns + self.layers

    @property
    def used(self) -> frozenset[str]:
        """Every variable that the request looks at, filters included."""
        return frozenset(self.variables) | {name for name, _ in self.filters}

    @property
    def identity(self) -> tuple[object, ...]:
        """What is asked, whatever the layout: equal for a canonical request exactly when the cells are."""
        return (
            self.dataset,
            tuple(sorted(self.variables)),
            self.filters,
            self.groups,
            self.totals,
            self.levels,
            self.measure,
            self.additivity,
            self.fit_to,
        )

    def to_query(self) -> list[tuple[str, str]]:
        """The request as URL parameters, the dataset left to the path."""
        axes = [("rows", self.rows), ("columns", self.columns), ("layers", self.layers)]
        query = [(name, ",".join(map(escape, names))) for name, names in axes if names]
        query += [("filter", write_filter(*item)) for item in self.filters]
        query += [("group", write_group(*item)) for item in self.groups]
        query += [("levels", write_filter(*item)) for item in self.levels]
        query += [] if self.totals else [("totals", "no")]
        query += [("measure", self.measure)] if self.measure != DEFAULT_MEASURE else []
        query += [("additivity", self.additivity)] if self.additivity else []
        return [*query, ("fit_to", ",".join(map(escape, self.fit_to)))] if self.fit_to else query

    @property
    def permalink(self) -> str:
        """The query string that asks this question again."""
        return urlencode(self.to_query(), safe=",=")

    def __repr__(self) -> str:
        return one_line(self, f"{self.dataset}?{self.permalink}")


def request_from_text(
    dataset: str,
    *,
    rows: Sequence[str] = (),
    columns: Sequence[str] = (),
    layers: Sequence[str] = (),
    filters: Iterable[str] = (),
    groups: Iterable[str] = (),
    totals: bool = True,
    levels: Iterable[str] = (),
    measure: str = DEFAULT_MEASURE,
    additivity: str = "",
    fit_to: Sequence[str] = (),
) -> TableRequest:
    """Build a request from the one-line grammar of URLs and the command line."""
    return TableRequest(
        dataset,
        parse_names(list(rows)),
        parse_names(list(columns)),
        parse_names(list(layers)),
        tuple(parse_filter(text) for text in filters if text.strip()),
        tuple(parse_group(text) for text in groups if text.strip()),
        totals,
        tuple(parse_levels(text) for text in levels if text.strip()),
        measure,
        additivity,
        parse_names(list(fit_to)),
    )


def canonical(request: TableRequest, dataset: Dataset) -> TableRequest:
    """The canonical form of a request, checked against its dataset.

    Raises:
        UnknownVariable, UnknownCategory: With the nearest match.
        BadRequest: A variable used twice, an empty filter, overlapping groups, no variable at all.
    """
    for name in request.variables:
        dataset.variable(name)
    if not request.variables:
        raise BadRequest("The table has no variable.", "Choose at least one for the rows or columns.")
    repeated = [name for name in request.variables if request.variables.count(name) > 1]
    if repeated:
        raise BadRequest(f'The variable "{repeated[0]}" is used twice.', "Use each variable once.")
    filters = _canonical_filters(request.filters, dataset)
    groups = _canonical_groups(request, dict(filters), dataset)
    levels = _canonical_levels(request, dataset)
    asked = replace(request, filters=filters, groups=groups, levels=levels)
    asked = replace(asked, additivity=_canonical_additivity(request, dataset))
    return replace(asked, fit_to=_canonical_fit_to(asked, dataset))


def _canonical_additivity(request: TableRequest, dataset: Dataset) -> str:
    """Empty where it is the dataset's own way."""
    if request.additivity and request.additivity not in ADDITIVITY:
        raise BadRequest(
            f'There is no additivity "{request.additivity}".', nearest(request.additivity, ADDITIVITY)
        )
    return "" if request.additivity == dataset.protection.additivity else request.additivity


def _canonical_fit_to(request: TableRequest, dataset: Dataset) -> tuple[str, ...]:
    """Empty where it is the dataset's own set of tables."""
    protection = dataset.protection
    if request.fit_to and (request.additivity or protection.additivity) != "fitted":
        raise BadRequest(
            "fit_to is for tables that are fitted.", "Add additivity=fitted, or leave fit_to out."
        )
    words = canonical_fit_to(request.fit_to, dataset)
    own = canonical_fit_to(protection.fit_to, dataset)
    return () if words == own or (words == (NONE,) and not own) else words


def _canonical_filters(filters: Filters, dataset: Dataset) -> Filters:
    kept: dict[str, set[int]] = {}
    for name, codes in filters:
        variable = dataset.variable(name)
        positions = {variable.position(code) for code in codes}
        if not positions:
            raise BadRequest(
                f'The filter on "{name}" keeps nobody.', "Name at least one category, or leave it out."
            )
        kept.setdefault(name, set()).update(positions)
    return tuple(
        (name, _codes(dataset.variable(name), kept[name]))
        for name in sorted(kept)
        if len(kept[name]) < len(dataset.variable(name))
    )


def _canonical_groups(
    request: TableRequest, filters: Mapping[str, tuple[str, ...]], dataset: Dataset
) -> Groups:
    canonical_groups = {}
    for name, groups in request.groups:
        variable = dataset.variable(name)
        if name in canonical_groups:
            raise BadRequest(f'"{name}" is grouped twice.', "Give all groups of a variable together.")
        if name not in request.variables:
            raise BadRequest(
                f'"{name}" is grouped and not in the table.', "Use a filter, or add it to the table."
            )
        kept = filters.get(name, variable.codes)
        positions = [_group_positions(variable, group, kept) for group in groups]
        members = [position for group in positions for position in group]
        if len(set(members)) != len(members):
            raise BadRequest(
                f'Two groups of "{name}" share a category.', "Put each category in one group only."
            )
        singles = [[variable.position(code)] for code in kept]
        ordered = sorted(positions)
        if ordered != singles:
            canonical_groups[name] = tuple(_codes(variable, group) for group in ordered)
    return tuple(sorted(canonical_groups.items()))


def _canonical_levels(request: TableRequest, dataset: Dataset) -> Levels:
    found = {}
    for name, levels in request.levels:
        dataset.variable(name)
        if name not in request.variables:
            raise BadRequest(f'"{name}" has levels and is not in the table.', "Add it to the table.")
        if name in dict(request.groups) or name in found:
            raise BadRequest(
                f'"{name}" has levels twice, or levels and groups.',
                "Give its levels once, or groups of your own.",
            )
        ordered = coarse_to_fine(dataset, name, levels)
        if ordered and ordered != (name,):
            found[name] = ordered
    return tuple(sorted(found.items()))


def _group_positions(variable: Variable, group: tuple[str, ...], kept: tuple[str, ...]) -> list[int]:
    positions = sorted(
        {variable.position(code) for code in group} & {variable.position(code) for code in kept}
    )
    if not positions:
        raise BadRequest(
            f'A group of "{variable.name}" has no category left by the filter.',
            "Leave the group out, or widen the filter.",
        )
    return positions


def _codes(variable: Variable, positions: Iterable[int]) -> tuple[str, ...]:
    return tuple(variable.codes[position] for position in sorted(positions))
