"""The rows and columns of a table that is laid out: their labels, how they are named in an address, where groups begin.

The cells of a table for the eye: a number or why there is none, what stands below it, what is told of it.

A release as the grid of a page: header cells with their spans, groups of rows, one grid a layer.

The release's axes are rows, columns, layers; each is the product of its variables, the last running fastest. A `Layout`
gives any rectangle of the table: all of it to a small page, a window of it to a large one, some columns to a sheet of paper.
Its rows are those of the first layer, then those of the second, and so on.

The outer row variables become headings of groups of rows, so that one narrow column of labels stands beside
the numbers however many variables there are; the column variables become header rows with spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.model.grammar import escape, split
from discreet.model.release import STATUS_MEANING, STATUSES, UNRELIABLE, Derived, Release
from discreet.model.shape import Dimension
from discreet.model.variable import TOTAL
from discreet.web.i18n.messages import display_number, format_number, gettext, join_labels

Axis = tuple[Dimension, ...]

#: How categories are named: by their labels, by their codes, by both.
NAMINGS = ("labels", "codes", "both")


@dataclass(frozen=True, slots=True)
class AxisLine:
    """One row or column of a table.

    Args:
        labels: Of its categories, the outer variable first.
        cell: Its categories as the name of a cell is written: "sex=1,age=_T".
        totals: Which of its categories are totals.
        depth: How many categories hold the innermost one.
        first: Whether it is the first of its group.
    """

    labels: tuple[str, ...]
    cell: str
    totals: tuple[bool, ...]
    depth: int
    first: bool

    @property
    def look(self) -> str:
        """The classes of a column's cells: `t` in a total, `g` where a group of columns starts."""
        return " ".join(name for name, holds in (("t", self.total), ("g", self.first)) if holds)

    @property
    def total(self) -> bool:
        """Whether its innermost category is a total."""
        return self.totals[-1] if self.totals else False


def lines_of(axis: Axis, places: Iterable[int], naming: str) -> list[AxisLine]:
    """Places along an axis as lines."""
    lists = [_category_names(dimension, naming) for dimension in axis]
    lengths = [dimension.length for dimension in axis]
    found = []
    for place in places:
        at = []
        for length in reversed(lengths):
            place, inner = divmod(place, length)  # noqa: PLW2901 - the rest belongs to the outer variables
            at.append(inner)
        found.append(_line(axis, lists, at[::-1]))
    return found


def _line(axis: Axis, lists: list[Sequence[str]], at: Sequence[int]) -> AxisLine:
    codes = [
        TOTAL if place == len(dimension.outputs) else dimension.outputs[place].code
        for dimension, place in zip(axis, at, strict=True)
    ]
    inner = axis[-1].outputs if axis else ()
    return AxisLine(
        tuple(labels[place] for labels, place in zip(lists, at, strict=True)),
        ",".join(f"{dimension.name}={escape(code)}" for dimension, code in zip(axis, codes, strict=True)),
        tuple(code == TOTAL for code in codes),
        inner[at[-1]].depth if at and at[-1] < len(inner) else 0,
        first=len(axis) > 1 and at[-1] == 0,
    )


def _category_names(dimension: Dimension, naming: str) -> Sequence[str]:
    """The names of a dimension's categories; a total has no code that would tell a reader anything."""
    labels = dimension.labels
    if naming == "labels":
        return labels
    pattern = "{code}" if naming == "codes" else "{label} ({code})"
    names = [
        pattern.format(code=output.code, label=label)
        for output, label in zip(dimension.outputs, labels, strict=False)
    ]
    return [*names, *labels[len(names) :]]


#: A cell: its text, its look's class, what stands below it, what is told of it.
Cell = tuple[str, str, tuple[str, ...], str]


def column_texts(
    column: Derived, here: tuple[NDArray[np.int64], ...], lengths: tuple[int, int, int]
) -> list[list[str]]:
    """Percentages or ranks for the eye; a dash where a percentage has no base."""
    none = "\N{EN DASH} %" if column.name == "percent" else ""
    pattern = "{} %" if column.name == "percent" else gettext("rank {number}", number="{}")
    values, missing = (array.reshape(lengths)[here].tolist() for array in (column.values, column.missing))
    return [
        [none if gone else pattern.format(display_number(value)) for value, gone in zip(*line, strict=True)]
        for line in zip(values, missing, strict=True)
    ]


def cell_of(
    value: int,
    signed: int,
    status: int,
    error: int,
    noise: int,
    low: int,
    high: int,
    least: float,
    most: float,
    *rest: str,
) -> Cell:
    """A number with separators for the eye, or the letter of why there is none; what stands below it; what is told of it.

    The rest is what was derived from it, and its look.
    """
    *beside, look = rest
    errors = (_error(error), gettext("noise {percent} %", percent=_whole(noise))) if error >= 0 else ()
    notes = tuple(filter(None, (*beside, *errors)))
    letter = STATUSES[status]
    if status and status != UNRELIABLE:
        return f"[{letter}]", f"{look} s".strip(), (), gettext(STATUS_MEANING[letter])
    told = (
        [gettext("95 %: {low} to {high}", low=display_number(low), high=display_number(high))]
        if low >= 0
        else []
    )
    if least >= 0:  # neither below zero, which says that there is none, nor NaN
        told.append(
            gettext(
                "share: {low} to {high} %",
                low=display_number(round(least, 1)),
                high=display_number(round(most, 1)),
            )
        )
    if status:
        return (
            f"{display_number(value)} [{letter}]",
            look,
            notes,
            "; ".join([*told, gettext(STATUS_MEANING[letter])]),
        )
    if signed < value == 0:
        told.append(gettext("before it was raised to zero: {number}", number=display_number(signed)))
    return display_number(value), look, notes, "; ".join(told)


def _error(tenths: int) -> str:
    return gettext("RSE {error} %", error=format_number(tenths / 10, ".1f"))


def _whole(share: int) -> str:
    """Tenths of a percent as whole percent; what is there at all is never called nothing.

    >>> _whole(0), _whole(4), _whole(125)
    ('0', '<1', '13')
    """
    return "<1" if 0 < share < 10 else str((share + 5) // 10)


GridAxis = tuple[Dimension, ...]
Limits = tuple[NDArray[np.int64], NDArray[np.int64]]
Shares = tuple[NDArray[np.float64], NDArray[np.float64]]

#: A label of so many characters fits the narrow column on one line.
SHORT_LABEL = 18


@dataclass(frozen=True, slots=True)
class Header:
    """One header cell over columns: its label, how many columns it heads, how it looks, the column's name."""

    label: str
    span: int
    total: bool
    starts_group: bool
    cell: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its label, its cells, and its name."""

    label: str
    total: bool
    cells: tuple[Cell, ...]
    depth: int = 0
    cell: str = ""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows under one heading; the heading is empty where there is one row variable only."""

    heading: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Layer:
    """The grid of one layer; its label is empty where the table has no layers."""

    label: tuple[str, ...]
    groups: tuple[RowGroup, ...]
    cell: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """All that a page shows of a release.

    Args:
        row_title: The row variables, over the column of labels.
        column_title: The column variables, over the header rows.
        headers: The header rows, outer first.
        layers: One or more grids with the same headers.
        legend: The statuses that occur, with their meaning.
    """

    row_title: str
    column_title: str
    headers: tuple[tuple[Header, ...], ...]
    layers: tuple[Layer, ...]
    legend: tuple[tuple[str, str], ...]

    @property
    def narrow(self) -> bool:
        """Whether short labels let the column of labels be narrow."""
        return all(len(row.label) <= SHORT_LABEL for group in self.layers[0].groups for row in group.rows)

    @property
    def width(self) -> int:
        """The number of columns with numbers."""
        return sum(header.span for header in self.headers[0])

    @property
    def nested(self) -> bool:
        """Whether rows stand below others, or below headings."""
        return any(
            group.heading or any(row.depth for row in group.rows)
            for layer in self.layers
            for group in layer.groups
        )


@dataclass(frozen=True)
class Layout:
    """A release laid out in rows, columns and layers.

    Args:
        release: What is shown.
        limits: The smallest and largest true count of every cell, negative where nothing is said; None for none.
        shares: The smallest and largest true percentage of every cell, NaN where nothing is said; None for none.
        naming: A word of `NAMINGS`.
    """

    release: Release
    limits: Limits | None = None
    naming: str = "labels"
    shares: Shares | None = None

    @cached_property
    def axes(self) -> tuple[GridAxis, GridAxis, GridAxis]:
        """The variables of the rows, the columns and the layers."""
        request = self.release.request
        by_name = {dimension.name: dimension for dimension in self.release.dimensions}
        rows, columns, layers = (
            tuple(by_name[name] for name in names)
            for names in (request.rows, request.columns, request.layers)
        )
        return rows, columns, layers

    @cached_property
    def lengths(self) -> tuple[int, int, int]:
        """How many rows, columns and layers there are."""
        rows, columns, layers = (prod(d.length for d in axis) for axis in self.axes)
        return rows, columns, layers

    def rows(self, places: range) -> list[AxisLine]:
        """Some rows of a layer; those of the second layer follow those of the first, with its labels before theirs."""
        height = self.lengths[0]
        if not self.axes[0]:
            inner = [AxisLine((_unit(self.release),), "", (False,), 0, first=True)] * len(places)
        else:
            inner = lines_of(self.axes[0], (place % height for place in places), self.naming)
        outer = lines_of(self.axes[2], (place // height for place in places), self.naming)
        return [
            AxisLine(
                (*one.labels, *two.labels),
                _join_cells(two.cell, one.cell),
                (*one.totals, *two.totals),
                two.depth,
                two.first,
            )
            for one, two in zip(outer, inner, strict=True)
        ]

    def columns(self, places: range) -> list[AxisLine]:
        """Some columns."""
        if not self.axes[1]:
            return [
                AxisLine(
                    (_unit(self.release) if self.axes[0] else gettext("Number"),),
                    "",
                    (False,),
                    0,
                    first=False,
                )
            ]
        return lines_of(self.axes[1], places, self.naming)

    def layer(self, place: int) -> AxisLine:
        """One layer."""
        return lines_of(self.axes[2], [place], self.naming)[0]

    def cells(self, rows: range, columns: range) -> list[tuple[Cell, ...]]:
        """The cells of some rows and columns, row by row."""
        height = self.lengths[0]
        place = np.arange(rows.start, rows.stop)[:, None]
        here = place % height, np.arange(columns.start, columns.stop)[None, :], place // height
        release, none = self.release, [[-1] * len(columns)] * len(rows)
        arrays: list[NDArray[np.generic] | None] = [release.values, release.before_clipping, release.status]
        arrays += [release.errors, release.noise_shares, *(self.limits or (None, None))]
        arrays += self.shares or (None, None)
        blocks = [none if a is None else a.reshape(self.lengths)[here].tolist() for a in arrays]
        blocks += [column_texts(column, here, self.lengths) for column in release.derived]
        looks = [line.look for line in self.columns(columns)]
        return [tuple(map(cell_of, *line, looks)) for line in zip(*blocks, strict=True)]


def grid(layout: Layout, rows: range | None = None, columns: range | None = None) -> Grid:
    """Lay some rows and columns of a release out; all of them by default.

    Args:
        layout: The release.
        rows: Of all layers, one below the other.
        columns: Of every layer.
    """
    height, width, depth = layout.lengths
    rows, columns = rows or range(height * depth), columns or range(width)
    across = layout.columns(columns)
    return Grid(
        row_title=_axis_title(layout.axes[0]),
        column_title=_axis_title(layout.axes[1]),
        headers=headers(across),
        layers=tuple(_layers(layout, rows, columns)),
        legend=_legend(layout.release),
    )


def _layers(layout: Layout, rows: range, columns: range) -> Iterator[Layer]:
    height = layout.lengths[0]
    for place in range(rows.start // height, (rows.stop - 1) // height + 1):
        mine = range(max(rows.start, place * height), min(rows.stop, (place + 1) * height))
        line = layout.layer(place)
        lines = layout.rows(mine)
        found = zip(lines, layout.cells(mine, columns), strict=True)
        yield Layer(line.labels, tuple(_groups(found, len(line.labels))), line.cell)


def _groups(rows: Iterable[tuple[AxisLine, tuple[Cell, ...]]], outer: int) -> Iterator[RowGroup]:
    """Rows by the last row variable, under the headings of the ones before."""
    for _, found in groupby(rows, key=lambda row: split(row[0].cell, ",")[: len(row[0].labels) - outer - 1]):
        lines = list(found)
        rows_of = (Row(line.labels[-1], line.total, cells, line.depth, line.cell) for line, cells in lines)
        yield RowGroup(lines[0][0].labels[outer:-1], tuple(rows_of))


def headers(columns: Sequence[AxisLine]) -> tuple[tuple[Header, ...], ...]:
    """One header row a variable; each category spans all that stands below it."""
    levels = len(columns[0].labels)
    return tuple(tuple(_level(columns, depth, last=depth == levels - 1)) for depth in range(levels))


def _level(columns: Sequence[AxisLine], depth: int, *, last: bool) -> Iterator[Header]:
    if last:
        for line in columns:
            yield Header(line.labels[-1], 1, line.total, line.first, line.cell)
        return
    for _, found in groupby(columns, key=lambda line: split(line.cell, ",")[: depth + 1]):
        lines = list(found)
        yield Header(lines[0].labels[depth], len(lines), lines[0].totals[depth], starts_group=True)


def _join_cells(*cells: str) -> str:
    return ",".join(filter(None, cells))


def _unit(release: Release) -> str:
    unit = release.dataset.unit
    return unit[:1].upper() + unit[1:]


def _axis_title(axis: GridAxis) -> str:
    """The variables of an axis, outer first, as in "Region and sex"."""
    return join_labels(dimension.label for dimension in axis)


def _legend(release: Release) -> tuple[tuple[str, str], ...]:
    present = [STATUSES[status] for status in np.unique(release.status) if status]
    legend = [(f"[{letter}]", STATUS_MEANING[letter]) for letter in present]
    if release.errors is not None:
        legend += [
            (
                gettext("RSE"),
                gettext("Relative standard error, of sampling and of the noise together, rounded up"),
            ),
            (
                gettext("noise"),
                gettext("The noise's share of that error's variance, rounded up; the rest is sampling"),
            ),
        ]
    symbols = {"percent": "%", "rank": gettext("rank")}
    legend += [(symbols.get(column.name, column.name), column.meaning) for column in release.derived]
    return tuple(legend)
