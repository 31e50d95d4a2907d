"""A view of a release: percentages, ranks, top rows, hidden and sorted rows, computed from released numbers only.

    percent     100 X / B, X the number of the cell and B that of its base, rounded to one decimal
    ratio       X / B, B the number in one category, all other categories equal, rounded to three decimals
    difference  X - B
    rank        1 + the number of rows with a larger number in the same column and layer
    top         categories of the first row variable by their number in the total of all other variables
    empty       a category of a row variable for which every number shown is 0 or cannot occur
    sort        categories of the first row variable by label, or by their number in one column; parts follow their whole

Numbers are those before clipping at zero. Totals and categories that hold others are not ranked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest, UnknownVariable
from discreet.inference.confidence_intervals.count_intervals import check_level
from discreet.inference.confidence_intervals.normal_intervals import MOST_BASE_ERROR
from discreet.inference.confidence_intervals.picked_cells import cell_place, place_of
from discreet.inference.confidence_intervals.table_intervals import cell_codes, every_interval
from discreet.model.grammar import escape, parse_filter
from discreet.model.magnitude import split_statistic
from discreet.model.messages.text import Message, message, nearest
from discreet.model.noise_distribution import CellDistribution
from discreet.model.release import NOT_APPLICABLE, WHOLE, Derived, Places, Release, find_places, subset_places
from discreet.model.request import TableRequest
from discreet.model.shape import Dimension
from discreet.model.variable import TOTAL
from discreet.model.view import BASES, Picture, View
from discreet.noise.table_distribution import DistributionWithSums

if TYPE_CHECKING:
    from discreet.model.view import Limits

#: The probability with which the noise of a base is below it.
BASE_LEVEL = 0.975
_NUMBER = re.compile(r"([0-9]{1,15})")
_BASE = {
    "row": message("the row total"),
    "column": message("the column total"),
    "table": message("the total of the table"),
}


def apply_view(release: Release, view: View) -> Release:
    """The release with the derived columns and the rows of a view."""
    if not view:
        return release
    check_view(view, release.request, release.dimensions)
    columns = [percentages(release, view.percent)] if view.percent else []
    columns += [ratios(release, view.ratio)] if view.ratio else []
    columns += [differences(release, view.difference)] if view.difference else []
    columns += [ranks(release)] if view.rank else []
    release = replace(release, derived=tuple(columns), view=view)
    release = _hide_empty(release) if view.hide_empty else release
    release = _top(release, view.top) if view.top else release
    return _sort(release, view.sort) if view.sort else release


def check_view(view: View, request: TableRequest, dimensions: tuple[Dimension, ...]) -> None:
    """Refuse a view that a table cannot have because of its dimensions, before it is counted and charged.

    Raises:
        BadRequest: The table has no rows, lacks a total or cell that is needed, or has a variable with the name of a column.
    """
    if view.percent and split_statistic(request.measure)[1]:
        raise BadRequest(
            message("Percentages are of counts, not of sums and means."), message("Leave percent out.")
        )
    names = {dimension.name.casefold() for dimension in dimensions}
    columns = ("percent", "rank", "ratio", "difference")
    for name in [name for name in columns if getattr(view, name)]:
        if name in names:
            raise BadRequest(
                message(
                    'The table has a variable "{name}": a second column of this name would be ambiguous.',
                    name=name,
                ),
                message("Leave {name} out.", name=name),
            )
    if view.percent in BASES:
        _total_places(dimensions, _base_variables(request, view.percent))
    elif view.percent:
        place_of(dimensions, cell_codes(dimensions, view.percent))
    for named in filter(None, (view.ratio, view.difference)):
        _category_places(dimensions, named)
    if view.rank or view.top or view.hide_empty or view.sort:
        rows = _rows(request, dimensions)
    if view.top:
        _total_places(dimensions, [d.name for d in dimensions if d is not rows[0]])


def percentages(release: Release, percent: str) -> Derived:
    """Each number as a percentage of its base."""
    base = subset_places(replace(release, derived=()), _base_places(release, percent))
    missing = release.missing | ~above_noise(base)
    below = np.where(above_noise(base), base.before_clipping, 1)
    values = np.round(100 * release.before_clipping / below, 1) + 0.0  # no -0.0
    return Derived("percent", _percent_meaning(release, percent), np.where(missing, 0.0, values), missing)


def ratios(release: Release, named: str) -> Derived:
    """Each number over that of one category."""
    base = _of_category(release, named)
    above = above_noise(base)
    values = np.round(release.before_clipping / np.where(above, base.before_clipping, 1), 3) + 0.0
    missing = release.missing | ~above
    meaning = message(
        "Ratio to {category}, rounded to three decimals; none where that number is withheld, negative, zero or not above "
        "its noise.",
        category=_category_words(release, named),
    )
    return Derived("ratio", meaning, np.where(missing, 0.0, values), missing)


def differences(release: Release, named: str) -> Derived:
    """Each number less that of one category."""
    base = _of_category(release, named)
    missing = release.missing | base.missing
    meaning = message(
        "Difference from {category}; the noise of both numbers is in it.",
        category=_category_words(release, named),
    )
    return Derived("difference", meaning, release.before_clipping - base.before_clipping, missing)


def _of_category(release: Release, named: str) -> Release:
    """The numbers of one category; its axis has the length one."""
    return subset_places(replace(release, derived=()), _category_places(release.dimensions, named))


def _category_places(dimensions: tuple[Dimension, ...], named: str) -> Places:
    """All places but those of the other categories of one variable.

    Raises:
        UnknownVariable, UnknownCategory: The table does not show it.
        BadRequest: It names no single category.
    """
    name, codes = parse_filter(named)
    if len(codes) != 1 or name.endswith("!"):
        raise BadRequest(message('"{named}" is no category.', named=named), message("Name one, as in sex=1."))
    names = [dimension.name for dimension in dimensions]
    if name not in names:
        raise UnknownVariable(message('The table does not show "{name}".', name=name), nearest(name, names))
    return tuple(find_places(d, codes if d.name == name else d.codes) for d in dimensions)


def _category_words(release: Release, named: str) -> Message:
    name, (code,) = parse_filter(named)
    dimension = next(each for each in release.dimensions if each.name == name)
    values = {"variable": dimension.label, "category": dimension.labels[dimension.codes.index(code)]}
    return Message("{variable}: {category}", values)


def percent_limits(
    shown: Release, limits: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Limits of the true percentage of each cell; NaN where there is none.

    The intervals of the cell and of its base hold jointly (`bonferroni_level`) for any dependence of their noise; the limits
    are the quotients of their ends, at most 100 for a part of its base.

    Args:
        shown: The table with its percentages.
        limits: The intervals of all its numbers (`every_interval`) at `bonferroni_level`; -1 where there is none.
    """
    (low, high), percent = limits, shown.view.percent
    (derived,) = [column for column in shown.derived if column.name == "percent"]
    base = np.ix_(*_base_places(shown, percent))
    least, most = low[base], high[base]
    none = derived.missing | (low < 0) | (least <= 0)
    cap = 100.0 if percent in BASES else np.inf
    first = np.where(none, np.nan, 100 * low / np.maximum(most, 1))
    last = np.where(none, np.nan, np.minimum(100 * high / np.maximum(least, 1), cap))
    return np.minimum(first, last), last


def bonferroni_level(level: float) -> float:
    """The level of each of two intervals that hold jointly at a level, for any dependence."""
    check_level(level)
    return 1 - (1 - level) / 2


def above_noise(release: Release) -> NDArray[np.bool_]:
    """Which numbers can be a base: released, positive and above their noise.

    The noisy count exceeds the half-width of its noise at 97.5 %, so a true zero becomes a base with probability 2.5 % at
    most. In a weighted table the relative standard error is at most 25 % as well, as for ratios.
    """
    above = ~release.missing & (release.before_clipping > 0) & (release.noisy > _reach(release))
    if release.errors is not None:
        above &= (release.errors >= 0) & (release.errors <= MOST_BASE_ERROR * WHOLE)
    return np.asarray(above)


def _reach(release: Release) -> NDArray[np.float64]:
    """The half-width of each cell's noise at `BASE_LEVEL`; infinite where no distribution is stated.

    A sum of k areas has the noise of all of them: each stays within h with probability 1 - 0.025 / k, so the sum stays
    within k h for any dependence.
    """
    reach, distribution = np.full(release.values.shape, np.inf), release.distribution
    for here, one in distribution.kinds():
        reach[here] = _half_width([one], BASE_LEVEL)
    if isinstance(distribution, DistributionWithSums):
        # The maximum number of areas that each cell adds up.
        parts = np.ones(release.values.shape, dtype=np.int64)
        for axis, dimension in enumerate(release.dimensions):
            if dimension.geography:
                sizes = np.array([max(len(members), 1) for members in dimension.members()])
                parts *= sizes.reshape(tuple(-1 if a == axis else 1 for a in range(parts.ndim)))
        for count in np.unique(parts[distribution.added]).tolist():
            width = _half_width(distribution.distributions, 1 - (1 - BASE_LEVEL) / count)
            reach[distribution.added & (parts == count)] = count * width
    return reach


def _half_width(distributions: Sequence[CellDistribution], level: float) -> int:
    return max(
        each.half_width(level) for distribution in distributions for each in distribution.distributions
    )


def ranks(release: Release) -> Derived:
    """The rank of each number among the rows of its column and layer, 1 for the largest; equal numbers share a rank."""
    rows = _rows(release.request, release.dimensions)
    height = prod(dimension.length for dimension in rows)
    numbers = release.before_clipping.reshape(height, -1)
    leaves = np.array([True])
    for dimension in rows:
        leaves = np.outer(leaves, _leaves(dimension)).ravel()
    ranked = ~release.missing.reshape(height, -1) & leaves[:, None]
    places = np.zeros(numbers.shape, dtype=np.int64)
    for column, among in enumerate(ranked.T):
        mine = numbers[among, column]
        places[among, column] = 1 + mine.size - np.searchsorted(np.sort(mine), mine, side="right")
    shape = release.values.shape
    meaning = message(
        "The rank among the rows of its column, 1 for the largest; totals and rows that hold others have none."
    )
    return Derived("rank", meaning, places.reshape(shape), ~ranked.reshape(shape))


def _base_places(release: Release, percent: str) -> Places:
    if percent in BASES:
        return _total_places(release.dimensions, _base_variables(release.request, percent))
    at = cell_place(release, cell_codes(release.dimensions, percent))
    return tuple(np.array([place]) for place in at)


def _base_variables(request: TableRequest, word: str) -> tuple[str, ...]:
    """The variables over which the base is a total."""
    names = {"row": request.columns, "column": request.rows, "table": request.rows + request.columns}[word]
    if not names:
        raise BadRequest(
            message("The table has one column: every percent of the row would be 100.")
            if word == "row"
            else message("The table has one row: every percent of the column would be 100."),
            message("Take percent={word}.", word="column" if word == "row" else "row"),
        )
    return names


def _total_places(dimensions: Iterable[Dimension], names: Iterable[str]) -> Places:
    """The total of these variables, every place of the others."""
    wanted = set(names)
    return tuple(
        np.array([_total(dimension)]) if dimension.name in wanted else np.arange(dimension.length)
        for dimension in dimensions
    )


def _total(dimension: Dimension) -> int:
    if not dimension.total:
        raise BadRequest(
            message('The table has no total of "{name}".', name=dimension.name),
            message("Ask for the table with its totals."),
        )
    return len(dimension.outputs)


def _percent_meaning(release: Release, percent: str) -> str:
    if percent == "table" and release.request.layers:
        base = message("the total of the table of its layer")
    elif percent in BASES:
        base = _BASE[percent]
    else:
        codes = cell_codes(release.dimensions, percent)
        labels = tuple(d.labels[d.codes.index(c)] for d, c in zip(release.dimensions, codes, strict=True))
        base = message("the cell {labels:comma}", labels=labels)
    return message(
        "Percent of {base}{signed}, rounded to one decimal; none where that number is withheld, negative, zero or "
        "not above its noise.",
        base=base,
        signed="" if release.signed is None else message(", of the signed numbers"),
    )


def _rows(request: TableRequest, dimensions: tuple[Dimension, ...]) -> tuple[Dimension, ...]:
    rows = dimensions[: len(request.rows)]
    if not rows:
        raise BadRequest(message("The table has no rows."), message("Put a variable in the rows."))
    return rows


def _leaves(dimension: Dimension) -> NDArray[np.bool_]:
    return np.isin(np.arange(dimension.length), dimension.leaves)


def _hide_empty(release: Release) -> Release:
    """The release without the categories of row variables for which only 0 is shown."""
    empty = np.where(release.missing, release.status == NOT_APPLICABLE, release.values == 0)
    places = [np.arange(dimension.length) for dimension in release.dimensions]
    for axis, dimension in enumerate(_rows(release.request, release.dimensions)):
        others = tuple(other for other in range(empty.ndim) if other != axis)
        kept = ~empty.all(axis=others)
        kept[len(dimension.outputs) :] = True
        places[axis] = np.flatnonzero(kept)
        if not places[axis].size:
            raise BadRequest(
                message('Every category of "{name}" is empty.', name=dimension.name),
                message("Show empty rows."),
            )
    shown = subset_places(release, tuple(places))
    if shown is release:
        return release
    note = message("Rows are left out whose released numbers are all 0; there may be people in them.")
    return replace(shown, notes=(*shown.notes, note))


def _top(release: Release, most: int) -> Release:
    """The release with the largest categories of its first row variable, in descending order, and its total."""
    first, *others = release.dimensions
    names = [dimension.name for dimension in others]
    whole = subset_places(replace(release, derived=()), _total_places(release.dimensions, names))
    numbers = whole.before_clipping.ravel()
    found = np.flatnonzero(_leaves(first) & ~whole.missing.ravel())
    chosen = found[np.argsort(-numbers[found], kind="stable")][:most]
    if not chosen.size:
        raise BadRequest(
            message('No category of "{name}" has a number.', name=first.name), message("Leave top out.")
        )
    places = np.concatenate([chosen, np.arange(len(first.outputs), first.length)])
    shown = subset_places(release, (places, *(np.arange(dimension.length) for dimension in others)))
    if shown is release:
        return release
    note = message(
        'Of "{label}" the {number} with the largest released numbers are shown; noise can change which.',
        label=first.label,
        number=chosen.size,
    )
    return replace(shown, notes=(*shown.notes, note))


def _sort(release: Release, sort: str) -> Release:
    """The release with the categories of its first row variable in another order; its total stays last."""
    first, *others = release.dimensions
    order, turn = sort.removeprefix("-"), -1 if sort.startswith("-") else 1
    by_label = order == "label"
    keys = _label_places(first) if by_label else _numbers_in(release, "" if order == "value" else order)
    places = _in_order(first, turn * keys)
    shown = subset_places(release, (places, *(np.arange(dimension.length) for dimension in others)))
    if by_label:
        return shown
    note = message('"{label}" is sorted by released numbers; noise can change the order.', label=first.label)
    return replace(shown, notes=(*shown.notes, note))


def _label_places(dimension: Dimension) -> NDArray[np.float64]:
    """The position of each label in alphabetical order, with numbers in numeric order: "Area 2" before "Area 10"."""
    keys = [
        [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in _NUMBER.split(label.casefold())]
        for label in dimension.labels
    ]
    places = {place: number for number, place in enumerate(sorted(range(len(keys)), key=keys.__getitem__))}
    return np.array([places[place] for place in range(len(keys))], dtype=np.float64)


def _numbers_in(release: Release, column: str) -> NDArray[np.float64]:
    """The numbers of the first row variable in one column, NaN for none; its row percentages if these are shown.

    The row percentages in the column of totals are all 100, so that its numbers decide.
    """
    first = release.dimensions[0]
    cell = ",".join(filter(None, (f"{first.name}={escape(first.codes[0])}", column)))
    codes = cell_codes(release.dimensions, cell)[1:]
    others = [d.codes.index(code) for d, code in zip(release.dimensions[1:], codes, strict=True)]
    here = tuple(np.array(each) for each in (np.arange(first.length), *others))
    numbers, missing = release.before_clipping, release.missing
    across = zip(release.dimensions[1:], codes, strict=True)
    is_base = all(code == TOTAL for d, code in across if d.name in release.request.columns)
    if release.view.percent == "row" and not is_base:
        numbers, missing = release.derived[0].values, release.derived[0].missing
    return np.where(missing[here], np.nan, numbers[here].astype(np.float64))


def _in_order(dimension: Dimension, keys: NDArray[np.float64]) -> NDArray[np.int64]:
    """Places by their keys, each followed by the places that it holds; ties as declared, missing keys last."""
    parts: dict[int, list[int]] = {}
    for place in np.argsort(keys[: len(dimension.outputs)], kind="stable").tolist():
        parts.setdefault(dimension.outputs[place].parent, []).append(place)
    found, waiting = [], parts.get(-1, [])[::-1]
    while waiting:
        place = waiting.pop()
        found.append(place)
        waiting += parts.get(place, [])[::-1]
    return np.array([*found, *range(len(dimension.outputs), dimension.length)], dtype=np.int64)


Known = Callable[[Release, float], "Limits"]


def add_picture(release: Release, picture: Picture, known: Known = every_interval) -> Release:
    """The release with a picture, and the limits of the numbers drawn where a distribution is known."""
    bonferroni_level(picture.level)
    return replace(release, picture=replace(picture, limits=_picture_limits(release, picture.level, known)))


def _picture_limits(release: Release, level: float, known: Known) -> Limits | None:
    """The limits of the numbers drawn; None where they have no known distribution, as after fitting."""
    additivity = release.request.additivity or release.dataset.protection.additivity
    if additivity != "independent" or not (release.measure.has_errors or release.measure.is_count):
        return None
    try:
        if not release.view.percent:
            return known(release, level)
        low, high = known(release, bonferroni_level(level))
        return percent_limits(release, (low.astype(np.int64), high.astype(np.int64)))
    except BadRequest:  # noise too wide for inference
        return None
