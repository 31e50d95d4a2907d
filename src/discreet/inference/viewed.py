"""Percentages, ranks and chosen rows of a release, from its released numbers alone.

    percent = 100 X / B,    X the number of the cell, B that of its base; rounded to one decimal

Both are the released numbers; where numbers below zero are shown as zero, those before that. A base must be above its
noise: its noisy count exceeds the change that its noise stays within with a probability of 97.5 %, whatever the true count
is. So a true count of zero is taken for a base with a chance of at most 2.5 %. Of a weighted table the relative standard
error of the base is at most 25 % as well, as for ratios (`weighted_interval`).

    rank    1 + how many rows have a larger number in the same column and layer
    top     categories of the first row variable by their number in the total of all other variables
    empty   a category of a row variable with which every number shown is 0 or cannot occur

Totals and categories that hold others of the table are not ranked and not counted in `top`. Withheld numbers are not empty.

Comes from: a `Release` and a `View`. Goes to: the faces, as another `Release`.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadRequest
from discreet.inference.cell_targets import cell_codes, every_interval
from discreet.inference.picked_cells import cell_place
from discreet.inference.weighted_interval import MOST_BASE_ERROR
from discreet.model.cut import cut_places
from discreet.model.error_ladder import WHOLE
from discreet.model.release import NOT_APPLICABLE, Derived
from discreet.model.view import BASES
from discreet.noise.added_law import AddedLaw

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from discreet.model.cut import Places
    from discreet.model.noise_law import CellLaw
    from discreet.model.release import Release
    from discreet.model.shape import Dimension
    from discreet.model.view import View

#: The chance with which the noise of a base stays below it.
BASE_LEVEL = 0.975
#: After the point: noisy counts mean no more.
DIGITS = 1


def viewed(release: Release, view: View) -> Release:
    """A release with what a view shows beside its numbers, and with the rows that it chooses.

    Raises:
        BadRequest: The table has no rows, not the total that is needed, or a variable of a column's name.
    """
    if not view:
        return release
    columns = [percentages(release, view.percent)] if view.percent else []
    columns += [ranks(release)] if view.rank else []
    names = {dimension.name.casefold() for dimension in release.dimensions}
    for column in columns:
        if column.name in names:
            raise BadRequest(
                f'The table has a variable "{column.name}": a second column of this name would be ambiguous.',
                f"Leave {column.name} out.",
            )
    release = replace(release, derived=tuple(columns), view=view)
    release = _without_empty(release) if view.hide_empty else release
    return _top(release, view.top) if view.top else release


def percentages(release: Release, percent: str) -> Derived:
    """What each number is of its base, in percent."""
    base = _base(release, percent)
    missing = release.missing | ~above_noise(base)
    below = np.where(above_noise(base), base.before_clipping, 1)
    values = np.round(100 * release.before_clipping / below, DIGITS) + 0.0  # no -0.0
    return Derived("percent", _percent_meaning(release, percent), np.where(missing, 0.0, values), missing)


def percent_limits(
    release: Release, percent: str, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Between which limits the true percentage of every cell lies, at least at this level; NaN where there is none.

    The interval of the cell and that of its base hold together with a chance of at least `level` (Bonferroni), whatever
    their noise has in common; the limits are the quotients of their ends. Of a part of its base 100 at most.

    Raises:
        BadRequest: The level is no chance, or the numbers have no intervals of their own.
    """
    base = _base(release, percent)
    low, high = every_interval(release, both_level(level))
    least, most = every_interval(base, both_level(level))
    none = release.missing | ~above_noise(base) | (low < 0) | (least <= 0)
    cap = 100.0 if percent in BASES else np.inf
    first = np.where(none, np.nan, 100 * low / np.maximum(most, 1))
    last = np.where(none, np.nan, np.minimum(100 * high / np.maximum(least, 1), cap))
    return np.minimum(first, last), last


def both_level(level: float) -> float:
    """The level of each of two intervals that hold together at a level, whatever they have in common.

    Raises:
        BadRequest: The level is no chance.
    """
    if not 0 < level < 1:
        raise BadRequest(f"The level is {level}.", "It lies between 0 and 1, as in 0.95.")
    return 1 - (1 - level) / 2


def above_noise(release: Release) -> NDArray[np.bool_]:
    """Which numbers can be divided by: released, above zero and above their noise."""
    above = ~release.missing & (release.before_clipping > 0) & (release.noisy > _reach(release))
    if release.errors is not None:
        above &= (release.errors >= 0) & (release.errors <= MOST_BASE_ERROR * WHOLE)
    return np.asarray(above)


def _reach(release: Release) -> NDArray[np.float64]:
    """How far the noise of each cell goes with the chance of a base; infinite where no law is stated.

    A sum of k areas that are shown has the noise of all of them: each stays within h with a chance of 1 - 0.025 / k, so
    that the sum stays within k h, whatever they have in common.
    """
    reach, law = np.full(release.values.shape, np.inf), release.law
    for here, one in law.kinds():
        reach[here] = _half_width([one], BASE_LEVEL)
    if isinstance(law, AddedLaw):
        parts = _most_parts(release)
        for count in np.unique(parts[law.added]).tolist():
            width = _half_width(law.laws, 1 - (1 - BASE_LEVEL) / count)
            reach[law.added & (parts == count)] = count * width
    return reach


def _half_width(laws: Sequence[CellLaw], level: float) -> int:
    return max(each.half_width(level) for law in laws for each in law.laws)


def _most_parts(release: Release) -> NDArray[np.int64]:
    """How many areas each cell is a sum of, at most."""
    parts = np.ones(release.values.shape, dtype=np.int64)
    for axis, dimension in enumerate(release.dimensions):
        if dimension.geography:
            sizes = np.array([max(len(members), 1) for members in dimension.members()])
            parts *= sizes.reshape(tuple(-1 if a == axis else 1 for a in range(parts.ndim)))
    return parts


def ranks(release: Release) -> Derived:
    """The place of each number among the rows of its column and layer, 1 for the largest; equal numbers share one."""
    rows = _rows(release)
    height = prod(dimension.length for dimension in rows)
    numbers = release.before_clipping.reshape(height, -1)
    ranked = ~release.missing.reshape(height, -1) & _leaf_rows(rows)[:, None]
    places = np.zeros(numbers.shape, dtype=np.int64)
    for column, among in enumerate(ranked.T):
        mine = numbers[among, column]
        places[among, column] = 1 + mine.size - np.searchsorted(np.sort(mine), mine, side="right")
    shape = release.values.shape
    meaning = "The rank among the rows of its column, 1 for the largest; totals and rows that hold others have none."
    return Derived("rank", meaning, places.reshape(shape), ~ranked.reshape(shape))


def _base(release: Release, percent: str) -> Release:
    """The bases: a cut of the release with length 1 along every variable whose total, or one category, is taken."""
    if percent in BASES:
        places = _total_places(release, _summed(release, percent))
    else:
        at = cell_place(release, cell_codes(release, percent))
        places = tuple(np.array([place]) for place in at)
    return cut_places(replace(release, derived=()), places)


def _summed(release: Release, word: str) -> tuple[str, ...]:
    """The variables over which the base is a total."""
    request = release.request
    names = {"row": request.columns, "column": request.rows, "table": request.rows + request.columns}[word]
    if not names:
        raise BadRequest(
            f"The table has one {'column' if word == 'row' else 'row'}: every percent of the {word} would be 100.",
            f"Take percent={'column' if word == 'row' else 'row'}.",
        )
    return names


def _total_places(release: Release, names: Iterable[str]) -> Places:
    """The total of these variables, every place of the others."""
    wanted = set(names)
    return tuple(
        np.array([_total(dimension)]) if dimension.name in wanted else np.arange(dimension.length)
        for dimension in release.dimensions
    )


def _total(dimension: Dimension) -> int:
    if not dimension.total:
        raise BadRequest(
            f'The table has no total of "{dimension.name}".', "Ask for the table with its totals."
        )
    return len(dimension.outputs)


def _percent_meaning(release: Release, percent: str) -> str:
    """What is divided by what, and where there is none."""
    if percent in BASES:
        base = f"the {percent} total" if percent != "table" else "the total of the table"
        base += " of its layer" if percent == "table" and release.request.layers else ""
    else:
        codes = cell_codes(release, percent)
        labels = (d.labels[d.codes.index(c)] for d, c in zip(release.dimensions, codes, strict=True))
        base = f"the cell {', '.join(labels)}"
    signed = "" if release.signed is None else ", of the signed numbers"
    return (
        f"Percent of {base}{signed}, rounded to one decimal; none where that number is withheld, negative, zero or "
        "not above its noise."
    )


def _rows(release: Release) -> tuple[Dimension, ...]:
    rows = release.dimensions[: len(release.request.rows)]
    if not rows:
        raise BadRequest("The table has no rows.", "Put a variable in the rows.")
    return rows


def _leaves(dimension: Dimension) -> NDArray[np.bool_]:
    """Which places hold no other place of the dimension."""
    wholes = {output.parent for output in dimension.outputs}
    found = [place not in wholes for place in range(len(dimension.outputs))]
    return np.array(found + [False] * dimension.total)


def _leaf_rows(rows: tuple[Dimension, ...]) -> NDArray[np.bool_]:
    """The same for the rows of several variables."""
    leaves = np.array([True])
    for dimension in rows:
        leaves = np.outer(leaves, _leaves(dimension)).ravel()
    return leaves


def _without_empty(release: Release) -> Release:
    """The release without the categories of row variables with which nothing is shown but 0."""
    empty = np.where(release.missing, release.status == NOT_APPLICABLE, release.values == 0)
    places = [np.arange(dimension.length) for dimension in release.dimensions]
    for axis, dimension in enumerate(_rows(release)):
        others = tuple(other for other in range(empty.ndim) if other != axis)
        kept = ~empty.all(axis=others)
        kept[len(dimension.outputs) :] = True
        places[axis] = np.flatnonzero(kept)
        if not places[axis].size:
            raise BadRequest(f'Every category of "{dimension.name}" is empty.', "Show empty rows.")
    shown = cut_places(release, tuple(places))
    if shown is release:
        return release
    return replace(
        shown,
        notes=(
            *shown.notes,
            "Rows are left out whose released numbers are all 0; there may be people in them.",
        ),
    )


def _top(release: Release, most: int) -> Release:
    """The release with the largest categories of its first row variable, the largest first, and its total."""
    first, *others = release.dimensions
    _rows(release)
    whole = cut_places(replace(release, derived=()), _total_places(release, [d.name for d in others]))
    numbers = whole.before_clipping.ravel()
    found = np.flatnonzero(_leaves(first) & ~whole.missing.ravel())
    chosen = found[np.argsort(-numbers[found], kind="stable")][:most]
    if not chosen.size:
        raise BadRequest(f'No category of "{first.name}" has a number.', "Leave top out.")
    places = np.concatenate([chosen, np.arange(len(first.outputs), first.length)])
    shown = cut_places(release, (places, *(np.arange(dimension.length) for dimension in others)))
    if shown is release:
        return release
    note = f'Of "{first.label}" the {chosen.size} with the largest released numbers are shown; noise can change which.'
    return replace(shown, notes=(*shown.notes, note))
