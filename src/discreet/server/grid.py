"""A release as the grid of a page: header cells with their spans, groups of rows, one grid a layer.

The release's axes are rows, columns, layers; each is the product of its variables, the last running fastest. A `Layout`
gives any rectangle of the table: all of it to a small page, a window of it to a large one, some columns to a sheet of paper.
Its rows are those of the first layer, then those of the second, and so on.

The outer row variables become headings of groups of rows, so that one narrow column of labels stands beside
the numbers however many variables there are; the column variables become header rows with spans.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from discreet.model.grammar import split
from discreet.model.release import STATUS_MEANING, STATUSES
from discreet.server.grid_cells import cell_of, derived_texts
from discreet.server.grid_lines import Line, lines_of
from discreet.server.words import listed, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from discreet.model.release import Release
    from discreet.model.shape import Dimension
    from discreet.server.grid_cells import Cell

    Axis = tuple[Dimension, ...]
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
    def axes(self) -> tuple[Axis, Axis, Axis]:
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

    def rows(self, places: range) -> list[Line]:
        """Some rows of a layer; those of the second layer follow those of the first, with its labels before theirs."""
        height = self.lengths[0]
        if not self.axes[0]:
            inner = [Line((_unit(self.release),), "", (False,), 0, first=True)] * len(places)
        else:
            inner = lines_of(self.axes[0], (place % height for place in places), self.naming)
        outer = lines_of(self.axes[2], (place // height for place in places), self.naming)
        return [
            Line(
                (*one.labels, *two.labels),
                _joined(two.cell, one.cell),
                (*one.totals, *two.totals),
                two.depth,
                two.first,
            )
            for one, two in zip(outer, inner, strict=True)
        ]

    def columns(self, places: range) -> list[Line]:
        """Some columns."""
        if not self.axes[1]:
            return [
                Line((_unit(self.release) if self.axes[0] else say("Number"),), "", (False,), 0, first=False)
            ]
        return lines_of(self.axes[1], places, self.naming)

    def layer(self, place: int) -> Line:
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
        blocks += [derived_texts(column, here, self.lengths) for column in release.derived]
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
        row_title=_listed(layout.axes[0]),
        column_title=_listed(layout.axes[1]),
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


def _groups(rows: Iterable[tuple[Line, tuple[Cell, ...]]], outer: int) -> Iterator[RowGroup]:
    """Rows by the last row variable, under the headings of the ones before."""
    for _, found in groupby(rows, key=lambda row: split(row[0].cell, ",")[: len(row[0].labels) - outer - 1]):
        lines = list(found)
        rows_of = (Row(line.labels[-1], line.total, cells, line.depth, line.cell) for line, cells in lines)
        yield RowGroup(lines[0][0].labels[outer:-1], tuple(rows_of))


def headers(columns: Sequence[Line]) -> tuple[tuple[Header, ...], ...]:
    """One header row a variable; each category spans all that stands below it."""
    levels = len(columns[0].labels)
    return tuple(tuple(_level(columns, depth, last=depth == levels - 1)) for depth in range(levels))


def _level(columns: Sequence[Line], depth: int, *, last: bool) -> Iterator[Header]:
    if last:
        for line in columns:
            yield Header(line.labels[-1], 1, line.total, line.first, line.cell)
        return
    for _, found in groupby(columns, key=lambda line: split(line.cell, ",")[: depth + 1]):
        lines = list(found)
        yield Header(lines[0].labels[depth], len(lines), lines[0].totals[depth], starts_group=True)


def _joined(*cells: str) -> str:
    return ",".join(filter(None, cells))


def _unit(release: Release) -> str:
    unit = release.dataset.unit
    return unit[:1].upper() + unit[1:]


def _listed(axis: Axis) -> str:
    """The variables of an axis, outer first, as in "Region and sex"."""
    return listed(dimension.label for dimension in axis)


def _legend(release: Release) -> tuple[tuple[str, str], ...]:
    present = [STATUSES[status] for status in np.unique(release.status) if status]
    legend = [(f"[{letter}]", STATUS_MEANING[letter]) for letter in present]
    if release.errors is not None:
        legend += [
            (say("RSE"), say("Relative standard error, of sampling and of the noise together, rounded up")),
            (
                say("noise"),
                say("The noise's share of that error's variance, rounded up; the rest is sampling"),
            ),
        ]
    symbols = {"percent": "%", "rank": say("rank")}
    legend += [(symbols.get(column.name, column.name), column.meaning) for column in release.derived]
    return tuple(legend)
