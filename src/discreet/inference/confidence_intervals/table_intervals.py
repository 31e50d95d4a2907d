"""Intervals of a released table, requested by the codes of its cells, and their JSON and text.

A cell has a code for each dimension, `{"sex": "1", "age": "20-24"}` or `sex=1,age=20-24`; a missing dimension means its
total, and a label works as a code. Several cells are a sum:

    cells            the sum of the true counts
    cells, of        the share of the cells in the sum of `of`, to which they belong
    cells, over      the ratio of the two sums
    cells, minus     the difference of the two sums; in a weighted table with `of`, the difference of two shares: `minus`
                     is then a part of `minus_of`, by default of `of`

`of` lists the parts of the whole, the given cells among them, or one total that holds them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING, NotRequired

import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypedDict

from discreet.errors import BadRequest
from discreet.inference.confidence_intervals import normal_intervals, picked_cells
from discreet.inference.confidence_intervals.count_intervals import (
    DEFAULT_LEVEL,
    Interval,
    cell_intervals,
    difference_interval,
    distribution_interval,
    ratio_interval,
    share_interval,
    sum_interval,
)
from discreet.inference.confidence_intervals.normal_intervals import BoundedEstimate, WeightedInterval
from discreet.inference.confidence_intervals.picked_cells import PickedCells
from discreet.inference.confidence_intervals.survey_intervals import survey_interval, survey_limits
from discreet.model.grammar import split, unescape
from discreet.model.messages.text import Message, message, nearest
from discreet.model.noise_distribution import depends_on_count
from discreet.model.release import NOT_APPLICABLE, Release
from discreet.model.shape import Dimension

if TYPE_CHECKING:
    from discreet.model.view import Limits

#: A cell: codes in the order of the dimensions, codes by name, or both as text.
Cell = Sequence[str] | Mapping[str, str] | str
Codes = tuple[str, ...]

_TOTAL = "_T"


def cell_codes(dimensions: Sequence[Dimension], cell: Cell) -> Codes:
    """The codes of a cell in the order of the dimensions."""
    if isinstance(cell, str):
        cell = _read(cell)
    names = [dimension.name for dimension in dimensions]
    if not isinstance(cell, Mapping):
        return tuple(cell)
    for name in cell:
        if name not in names:
            raise BadRequest(message('The table has no variable "{name}".', name=name), nearest(name, names))
    return tuple(_code(dimension, cell.get(dimension.name, _TOTAL)) for dimension in dimensions)


def interval_of(
    release: Release,
    cells: Sequence[Cell],
    of: Sequence[Cell] = (),
    minus: Sequence[Cell] = (),
    level: float = DEFAULT_LEVEL,
    *,
    over: Sequence[Cell] = (),
    minus_of: Sequence[Cell] = (),
) -> Interval:
    """The interval of a sum of cells, of its share in others, its ratio to others, or its difference to others.

    Raises:
        BadRequest: Cells do not exist, have no value, or share people or noise.
    """
    if not cells:
        raise BadRequest(message("No cell is named."), message("Name one, as in sex=1,age=20-24."))
    one, whole, others, base, their_whole = (
        [cell_codes(release.dimensions, cell) for cell in group]
        for group in (cells, of, minus, over, minus_of)
    )
    if (base and (whole or others)) or (their_whole and not (whole and others)):
        raise BadRequest(
            message("A ratio, a share and a difference are asked for at once."),
            message("Give `over`; or `of`, `minus` or both. `minus_of` needs both."),
        )
    if release.measure.has_errors:
        return _weighted_interval(release, one, whole, base, others, their_whole, level)
    if whole and others:
        raise BadRequest(
            message("A share and a difference are asked for at once."), message("Give `of` or `minus`.")
        )
    for codes in (*one, *whole, *others, *base):
        place = picked_cells.cell_place(release, codes)
        shown = release.missing[place] or release.before_clipping[place] == release.noisy[place]
        if not release.measure.is_count or not shown:
            raise BadRequest(
                message("The value shown is not a count with independent noise."),
                message("Ask for the measure count with additivity=independent."),
            )
    if whole:
        return _share(release, one, whole, level)
    return _count_interval(release, one, others, base, level)


def _weighted_interval(
    release: Release,
    one: list[Codes],
    whole: list[Codes],
    base: list[Codes],
    others: list[Codes],
    their_whole: list[Codes],
    level: float,
) -> Interval:
    if release.sampling is not None:
        if whole:
            _rest(release, one, whole)
        return survey_interval(release, one, level, of=whole, over=base, minus=others, minus_of=their_whole)
    found = _estimate(release, one, whole, level)
    if base:
        found = found.over(normal_intervals.estimate_sum(release, base, level).as_base())
    if others:
        found -= _estimate(release, others, their_whole or whole, level)
    return found.interval(level)


def _count_interval(
    release: Release, one: list[Codes], others: list[Codes], base: list[Codes], level: float
) -> Interval:
    if release.unrounded is not None:
        if base:
            return normal_intervals.joint_quotient(release, one, base, level, share=False)
        return normal_intervals.joint_sum(release, one, others, level)
    cell = picked_cells.picked(release, *one)
    if others:
        return _difference(cell, picked_cells.picked(release, *others), level)
    if base:
        return ratio_interval(cell, picked_cells.picked(release, *base), level=level)
    if len(one) == 1:
        return distribution_interval(int(cell.counts[0]), cell.distributions[0], level)
    return sum_interval(cell, level=level)


def every_interval(
    release: Release, level: float = DEFAULT_LEVEL
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The smallest and the largest true count of each cell by itself; -1 where no value is released.

    Cells with the same distribution and released count share one computation. In a weighted table these are the limits of
    population totals; -1 where a cell has no error.
    """
    if release.sampling is not None:
        return survey_limits(release, level)
    if release.measure.has_errors:
        return normal_intervals.estimate_limits(release, level)
    refuse_no_counts(release)
    low, high = (np.full(release.noisy.shape, -1, dtype=np.int64) for _ in range(2))
    for mask, distribution in release.distribution.kinds():
        here = mask & ~release.missing
        if not here.any():
            continue
        counts = release.noisy[here]
        if depends_on_count(distribution):
            low[here], high[here] = cell_intervals(counts, distribution, level)
        else:
            widest = distribution_interval(0, distribution, level).high
            low[here], high[here] = np.maximum(counts - widest, 0), np.maximum(counts + widest, 0)
    impossible = release.status == NOT_APPLICABLE
    low[impossible] = high[impossible] = 0
    return low, high


def refuse_no_counts(release: Release) -> None:
    """Refuse a table whose numbers are not counts with independent noise."""
    additivity = release.request.additivity or release.dataset.protection.additivity
    if not release.measure.is_count or additivity != "independent":
        raise BadRequest(
            message("The numbers shown are not counts with independent noise."),
            message("Ask for the measure count with additivity=independent."),
        )


def _read(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in split(text, ","):
        name, *code = split(part, "=", limit=1)
        if not code or not unescape(name) or unescape(name) in found:
            raise BadRequest(
                message('The cell "{text}" cannot be read.', text=text),
                message("Write it as sex=1,age=20-24."),
            )
        found[unescape(name)] = unescape(code[0])
    return found


def _code(dimension: Dimension, code: str) -> str:
    """A code of a dimension, given as a code or as a unique label."""
    name, codes = dimension.name, dimension.codes
    same = [
        known
        for known, label in zip(codes, dimension.labels, strict=True)
        if label.casefold() == code.casefold()
    ]
    if code in codes or len(same) == 1:
        return code if code in codes else same[0]
    if code == _TOTAL:
        raise BadRequest(
            message('The table has no total of "{name}".', name=name),
            message("Give a code of it, such as {name}={code}.", name=name, code=codes[0]),
        )
    raise BadRequest(
        message('"{code}" is no code of "{name}" in this table.', code=code, name=name), nearest(code, codes)
    )


def _estimate(release: Release, cells: list[Codes], of: list[Codes], level: float) -> BoundedEstimate:
    if not of:
        return normal_intervals.estimate_sum(release, cells, level)
    return normal_intervals.estimate_share(release, cells, _rest(release, cells, of), of[0], level)


def _rest(release: Release, part: list[Codes], whole: list[Codes]) -> list[Codes] | None:
    """The other cells of the whole; None where the whole is one total that holds the part."""
    rest = [codes for codes in whole if codes not in part]
    if len(rest) + len(part) == len(whole):
        if not rest:
            raise BadRequest(
                message("The part is the whole."), message("Give `of` more cells than the part has.")
            )
        return rest
    if len(whole) != 1:
        raise BadRequest(
            message("The cells of the share are not among the cells that they are a share of."),
            message("Name all parts of the whole in `of`, or one total that holds them."),
        )
    outer, *inner = (
        picked_cells.cell_members(release, picked_cells.cell_place(release, codes))
        for codes in (*whole, *part)
    )
    if not all(members[name] <= outer[name] for members in inner for name in members):
        raise BadRequest(
            message("A cell of the share does not lie in the whole."), message("Name a total that holds it.")
        )
    return None


def _share(release: Release, part: list[Codes], whole: list[Codes], level: float) -> Interval:
    """A share; if a dp total has the noise of its own parts, that of the part in the sum with the remainder."""
    rest = _rest(release, part, whole)
    if release.unrounded is not None:
        return normal_intervals.joint_quotient(release, part, whole, level, share=True)
    one = picked_cells.picked(release, *part)
    if rest is not None:
        return share_interval(one, rest=picked_cells.picked(release, *rest), level=level)
    total = picked_cells.picked(release, whole[0])
    remainder = picked_cells.rest_of(total, one)
    if remainder is not None:
        return share_interval(one, rest=remainder, level=level)
    return share_interval(one, whole=total, level=level)


def _difference(one: PickedCells, others: PickedCells, level: float) -> Interval:
    """The interval of a difference; of a total and cells in it with the same noise, that of the remainder."""
    beyond, short = picked_cells.rest_of(one, others), picked_cells.rest_of(others, one)
    if beyond is not None:
        return sum_interval(beyond, level=level)
    if short is not None:
        found = sum_interval(short, level=level)
        return Interval(-found.estimate, -found.high, -found.low, level)
    return difference_interval(one, others, level=level)


#: Maximum number of decimals of a share in percent.
_MOST_DIGITS = 6
#: Cells per block of a streamed document.
CELLS_AT_ONCE = 4_096


class IntervalDocument(TypedDict):
    """Between which limits a sum, a share or a difference of true counts lies; null where there is no limit."""

    estimate: float | None
    low: float | None
    high: float | None
    level: float
    relative_standard_error: NotRequired[float | None]


class CellIntervalDocument(TypedDict):
    """One cell with its interval; null where it is withheld."""

    codes: list[str]
    value: float | None
    low: float | None
    high: float | None


class IntervalsDocument(TypedDict):
    """All cells with their intervals."""

    dimensions: list[str]
    level: float
    cells: list[CellIntervalDocument]


def interval_document(found: Interval) -> IntervalDocument:
    """An interval as JSON; an infinite end is null. A weighted one has its error in percent."""
    ends = (found.estimate, found.low, found.high)
    estimate, low, high = (value if np.isfinite(value) else None for value in ends)
    document: IntervalDocument = {"estimate": estimate, "low": low, "high": high, "level": found.level}
    if isinstance(found, WeightedInterval):
        document["relative_standard_error"] = found.relative_standard_error
    return document


def interval_texts(found: Interval, *, share: bool, ratio: bool, minus: bool) -> tuple[str, str, str]:
    """The estimate and the limits as text; a narrow share has enough digits to show its width.

    >>> interval_texts(Interval(0.49242, 0.49237, 0.49248, 0.95), share=True, ratio=False, minus=False)
    ('49.242 %', '49.237 %', '49.248 %')
    """
    digits = 1
    while share and 0 < 100 * (found.high - found.low) < 10 ** (1 - digits) and digits < _MOST_DIGITS:
        digits += 1
    spec = f".{digits}f" if share else ",.4g" if ratio else ",.0f"
    template = f"{{x:{spec}}}" + (" {points}" if share and minus else " %" if share else "")
    one, low, high = (
        Message(template, {"x": 100 * x if share else x, "points": message("points")})
        for x in (found.estimate, found.low, found.high)
    )
    return one, low, high


def error_text(found: Interval) -> str:
    """The relative standard error of a weighted estimate as text; empty for counts."""
    if not isinstance(found, WeightedInterval):
        return ""
    error = found.relative_standard_error
    if error is None:
        return message("no relative standard error")
    return message("relative standard error {error:g} %, rounded up", error=error)


def every_document(release: Release, level: float = DEFAULT_LEVEL) -> IntervalsDocument:
    """All cells with their intervals as JSON; null where a cell is withheld."""
    return limits_document(release, every_interval(release, level), level)


def limits_document(release: Release, known: Limits, level: float) -> IntervalsDocument:
    """All cells with known limits, as `every_document`."""
    cells = [cell for block in _blocks(release, known) for cell in block]
    dimensions = [dimension.name for dimension in release.dimensions]
    return {"dimensions": dimensions, "level": level, "cells": cells}


def every_piece(release: Release, level: float = DEFAULT_LEVEL) -> Iterator[bytes]:
    """`every_document` as JSON bytes, block by block, so that a large table is never one list."""
    blocks = _blocks(release, every_interval(release, level))
    dimensions = [dimension.name for dimension in release.dimensions]
    head = json.dumps({"dimensions": dimensions, "level": level}, ensure_ascii=False)
    yield f'{head[:-1]}, "cells": ['.encode()
    before = ""
    for block in blocks:
        yield f"{before}{json.dumps(block, ensure_ascii=False)[1:-1]}".encode()
        before = ", "
    yield b"]}"


def _blocks(release: Release, known: Limits) -> Iterator[list[CellIntervalDocument]]:
    codes = product(*(dimension.codes for dimension in release.dimensions))
    values, hidden, low, high = (each.ravel() for each in (release.values, release.missing, *known))
    for start in range(0, values.size, CELLS_AT_ONCE):
        here = slice(start, start + CELLS_AT_ONCE)
        numbers = (each[here].tolist() for each in (values, hidden, low, high))
        yield [
            {
                "codes": list(cell),
                "value": None if missing else value,
                "low": None if first < 0 else first,
                "high": None if last < 0 else last,
            }
            for cell, value, missing, first, last in zip(islice(codes, CELLS_AT_ONCE), *numbers, strict=True)
        ]
