"""A release as the grid of a page: header cells with their spans, groups of rows, one grid per layer.

The axes are rows, columns and layers; each is the product of its variables, the last running fastest. A `Layout` gives
any rectangle of the table; its rows are those of the first layer, then of the second, and so on. The outer row
variables become headings of groups of rows, the column variables header rows with spans.
Labels come from `Dimension.labels` (`model/shape.py`), that of a total too.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.grammar import escape, split
from discreet.model.release import STATUS_MEANING, STATUSES, UNRELIABLE, Derived, Release, filter_in_words
from discreet.model.request import TableRequest
from discreet.model.shape import Dimension
from discreet.model.variable import TOTAL
from discreet.release.measures import measure_kind
from discreet.web.i18n.translation import display_date, display_number, format_number, gettext, join_labels

Axis = tuple[Dimension, ...]
#: A cell: its text, its CSS class, the lines below it, its tooltip.
Cell = tuple[str, str, tuple[str, ...], str]
Limits = tuple[NDArray[np.int64], NDArray[np.int64]]
Shares = tuple[NDArray[np.float64], NDArray[np.float64]]

#: How categories are named.
NAMINGS = ("labels", "codes", "both")
#: A table of at most so many columns, totals apart, and rows has bars to its right.
MOST_SERIES, MOST_BARRED = 3, 60
#: The height of a row in pixels, and the narrowest range of a number that can be seen, in percent of the axis.
ROW, VISIBLE = 34, 0.6


@dataclass(frozen=True, slots=True)
class AxisLine:
    """One row or column of a table: its labels, the outer variable first, and which of them are totals.

    `cell` names its categories ("sex=1,age=_T"), `depth` is the hierarchy level of the innermost, `first` starts a group.
    """

    labels: tuple[str, ...]
    cell: str
    totals: tuple[bool, ...]
    depth: int
    first: bool

    @property
    def look(self) -> str:
        """The CSS classes of a column's cells: `t` in a total, `g` where a group of columns starts."""
        return " ".join(name for name, holds in (("t", self.total), ("g", self.first)) if holds)

    @property
    def label(self) -> str:
        """The label of its innermost category."""
        return self.labels[-1]

    @property
    def total(self) -> bool:
        """Whether its innermost category is a total."""
        return self.totals[-1] if self.totals else False


@dataclass(frozen=True, slots=True)
class Header:
    """One header cell over columns: its label, its span, how it looks, the column's name."""

    label: str
    span: int
    total: bool
    starts_group: bool
    cell: str = ""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows under one heading; the heading is empty for a single row variable."""

    heading: tuple[str, ...]
    rows: tuple[tuple[AxisLine, tuple[Cell, ...]], ...]


@dataclass(frozen=True, slots=True)
class Layer:
    """The grid of one layer; its label is empty for a table without layers."""

    label: tuple[str, ...]
    groups: tuple[RowGroup, ...]
    cell: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar in a row of the table, in pixels down and percent across; `low` to `high` is the range of its true number."""

    y: float
    height: float
    width: str
    low: str | None = None
    high: str | None = None

    @property
    def middle(self) -> float:
        """Where its range is drawn."""
        return self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Bars:
    """The bars to the right of a narrow table: the series, the ticks of their axis, the bars of a row by its name.

    `told` is what the row of the totals says of ranges that are too small to see.
    """

    series: tuple[str, ...]
    ticks: tuple[tuple[float, str], ...]
    rows: dict[str, tuple[Bar, ...]]
    told: str


@dataclass(frozen=True, slots=True)
class Grid:
    """The grid of a page: titles over the labels and over the header rows, outer headers first, the statuses that occur."""

    row_title: str
    column_title: str
    headers: tuple[tuple[Header, ...], ...]
    layers: tuple[Layer, ...]
    legend: tuple[tuple[str, str], ...]
    bars: Bars | None = None

    @property
    def width(self) -> int:
        """The number of columns of numbers."""
        return sum(header.span for header in self.headers[0])

    @property
    def nested(self) -> bool:
        """Whether rows are nested below other rows or below headings."""
        return any(
            group.heading or any(line.depth for line, _ in group.rows)
            for layer in self.layers
            for group in layer.groups
        )


@dataclass(frozen=True)
class Layout:
    """A release laid out in rows, columns and layers.

    Args:
        limits: The smallest and largest true count of every cell, negative where there is none; or None.
        naming: A word of `NAMINGS`.
        shares: The smallest and largest true percentage of every cell, NaN where there is none; or None.
        ranges: Whether each number has its range below it.
    """

    release: Release
    limits: Limits | None = None
    naming: str = "labels"
    shares: Shares | None = None
    ranges: bool = False

    @cached_property
    def axes(self) -> tuple[Axis, Axis, Axis]:
        """The variables of the rows, the columns and the layers."""
        asked, by_name = self.release.request, {each.name: each for each in self.release.dimensions}
        rows, columns, layers = (
            tuple(by_name[n] for n in axis) for axis in (asked.rows, asked.columns, asked.layers)
        )
        return rows, columns, layers

    @cached_property
    def lengths(self) -> tuple[int, int, int]:
        """The numbers of rows, columns and layers."""
        rows, columns, layers = (prod(d.length for d in axis) for axis in self.axes)
        return rows, columns, layers

    def rows(self, places: range) -> list[AxisLine]:
        """Some rows, counted over all layers; the labels of a row's layer come first."""
        height = self.lengths[0]
        if not self.axes[0]:
            inner = [AxisLine((_unit(self.release),), "", (False,), 0, first=True)] * len(places)
        else:
            inner = axis_lines(self.axes[0], (place % height for place in places), self.naming)
        outer = axis_lines(self.axes[2], (place // height for place in places), self.naming)
        return [
            AxisLine(
                (*one.labels, *two.labels),
                ",".join(filter(None, (two.cell, one.cell))),
                (*one.totals, *two.totals),
                two.depth,
                two.first,
            )
            for one, two in zip(outer, inner, strict=True)
        ]

    def columns(self, places: range) -> list[AxisLine]:
        """Some columns."""
        if not self.axes[1]:
            label = _unit(self.release) if self.axes[0] else gettext("Number")
            return [AxisLine((label,), "", (False,), 0, first=False)]
        return axis_lines(self.axes[1], places, self.naming)

    def layer(self, place: int) -> AxisLine:
        """One layer."""
        return axis_lines(self.axes[2], [place], self.naming)[0]

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
        blocks += [_derived_texts(column, here, self.lengths) for column in release.derived]
        looks = [line.look for line in self.columns(columns)]
        make = partial(make_cell, ranges=self.ranges, alone=bool(release.view.alone and release.derived))
        return [tuple(map(make, *line, looks)) for line in zip(*blocks, strict=True)]

    def bars(self, rows: range) -> Bars | None:
        """The bars of some rows of one layer; None for a table that is too wide or too long for them."""
        lines, columns = self.rows(rows), self.columns(range(self.lengths[1]))
        series = [place for place, column in enumerate(columns) if not any(column.totals)]
        inner = [place for place, line in enumerate(lines) if not any(line.totals[len(self.axes[2]) :])]
        if not 0 < len(series) <= MOST_SERIES or not 1 < len(inner) <= MOST_BARRED or len(self.axes[1]) > 1:
            return None
        height = self.lengths[0]
        place = np.array([rows[each] for each in inner])[:, None]
        here = place % height, np.array(series)[None, :], place // height
        values, status = (a.reshape(self.lengths)[here] for a in (self.release.values, self.release.status))
        shown = (status == 0) | (status == UNRELIABLE)
        top = values[shown].max(initial=0)
        if top <= 0:
            return None
        step = nice_step(float(top))
        limits = [a.reshape(self.lengths)[here] for a in self.limits or ()]
        seen = limits and 100 * (limits[1] - limits[0])[shown].max(initial=0) / top > VISIBLE
        thick = min(14.0, (ROW - 12.0) / len(series))
        above = (ROW - (thick + 2) * len(series) + 2) / 2

        def percent(value: int) -> str:
            return f"{100 * max(0, value) / top:.2f}"

        def bar(at: tuple[int, int]) -> Bar:
            y = round(above + at[1] * (thick + 2), 1)
            ends = (
                [percent(min(int(a[at]), int(top))) for a in limits]
                if seen and limits[0][at] >= 0
                else [None, None]
            )
            return Bar(y, round(thick, 1), percent(int(values[at])), *ends)

        drawn = {
            lines[line].cell: tuple(bar((at, n)) for n in range(len(series)) if shown[at, n])
            for at, line in enumerate(inner)
        }
        told = "" if seen or not limits else gettext("The ranges are too small to see at this scale.")
        ticks = tuple(
            (round(100 * n * step / top, 2), display_number(n * step)) for n in range(int(top // step) + 1)
        )
        empty = dict.fromkeys((line.cell for line in lines), ())
        return Bars(tuple(columns[place].label for place in series), ticks, empty | drawn, told)


def nice_step(top: float) -> int:
    """A round step, 1, 2 or 5 times a power of ten, that divides a scale into two to five parts.

    >>> nice_step(116_960), nice_step(9), nice_step(2_100)
    (50000, 2, 500)
    """
    power = 10 ** int(np.floor(np.log10(top)))
    steps = (each * power / 10 for each in (2, 5, 10, 20, 50))
    return max(1, int(next(step for step in steps if top / step <= 5)))


def axis_lines(axis: Axis, places: Iterable[int], naming: str) -> list[AxisLine]:
    """The rows or columns at some places of an axis, categories named by a word of `NAMINGS`."""
    names = [_category_names(dimension, naming) for dimension in axis]
    inner, lengths = axis[-1].outputs if axis else (), tuple(dimension.length for dimension in axis)
    lines = []
    for place in places:
        at = [int(position) for position in np.unravel_index(place, lengths)]
        codes = [
            TOTAL if position == len(dimension.outputs) else dimension.outputs[position].code
            for dimension, position in zip(axis, at, strict=True)
        ]
        lines.append(
            AxisLine(
                tuple(labels[position] for labels, position in zip(names, at, strict=True)),
                ",".join(f"{each.name}={escape(code)}" for each, code in zip(axis, codes, strict=True)),
                tuple(code == TOTAL for code in codes),
                inner[at[-1]].depth if at and at[-1] < len(inner) else 0,
                first=len(axis) > 1 and at[-1] == 0,
            )
        )
    return lines


def _category_names(dimension: Dimension, naming: str) -> Sequence[str]:
    """The names of a dimension's categories; a total is always named by its label."""
    labels = dimension.labels
    if naming == "labels":
        return labels
    pattern = "{code}" if naming == "codes" else "{label} ({code})"
    names = [
        pattern.format(code=output.code, label=label)
        for output, label in zip(dimension.outputs, labels, strict=False)
    ]
    return [*names, *labels[len(names) :]]


def _derived_texts(
    column: Derived, here: tuple[NDArray[np.int64], ...], lengths: tuple[int, int, int]
) -> list[list[str]]:
    """Percentages, ratios, differences or ranks as text; a dash where a percentage has no base."""
    none = "\N{EN DASH} %" if column.name == "percent" else ""
    patterns = {
        "percent": "{} %",
        "ratio": "\N{MULTIPLICATION SIGN} {}",
        "rank": gettext("rank {number}", number="{}"),
    }
    pattern = patterns.get(column.name, "{}")
    values, missing = (array.reshape(lengths)[here].tolist() for array in (column.values, column.missing))
    return [
        [
            none
            if gone
            else ("+" * (column.name == "difference" and value > 0)) + pattern.format(display_number(value))
            for value, gone in zip(*line, strict=True)
        ]
        for line in zip(values, missing, strict=True)
    ]


def make_cell(
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
    ranges: bool = False,
    alone: bool = False,
) -> Cell:
    """The cell of a number, or of the letter that says why it is suppressed.

    `signed` is the number before negative ones were raised to zero. `error` and `noise` are tenths of a percent: the
    relative standard error and the noise's share of it. `low` to `high` covers the true count, `least` to `most` the
    true percentage. All of them are negative or NaN where there is none. `rest` has derived texts, then a CSS class.
    With `ranges` the range of the true count is below the number; `alone` shows the derived texts without the number.
    """
    *derived, look = rest
    letter = STATUSES[status]
    if status and status != UNRELIABLE:
        return f"[{letter}]", f"{look} s".strip(), (), gettext(STATUS_MEANING[letter])
    below = [text for text in derived if text]
    if error >= 0:
        below.append(gettext("RSE {error} %", error=format_number(error / 10, ".1f")))
        below.append(gettext("noise {percent} %", percent=_whole_percent(noise)))
    tips = []
    if low >= 0:
        limits = {"low": display_number(low), "high": display_number(high)}
        tips.append(gettext("True count: {low} to {high} (95 % sure)", **limits))
        if ranges:
            below.append(gettext("{low} to {high}", **limits))
    if least >= 0:
        low_share, high_share = display_number(round(least, 1)), display_number(round(most, 1))
        tips.append(gettext("true share: {low} to {high} %", low=low_share, high=high_share))
    text = display_number(value)
    if alone:
        text, *below = [each for each in derived if each] or ["\N{EN DASH}"]
    if status:
        text, tips = f"{text} [{letter}]", [*tips, gettext(STATUS_MEANING[letter])]
    elif signed < value == 0:
        tips.append(gettext("before it was raised to zero: {number}", number=display_number(signed)))
    return text, look, tuple(below), "; ".join(tips)


def _whole_percent(share: int) -> str:
    """Tenths of a percent as whole percent; a positive share is never shown as zero.

    >>> _whole_percent(0), _whole_percent(4), _whole_percent(125)
    ('0', '<1', '13')
    """
    return "<1" if 0 < share < 10 else str((share + 5) // 10)


def grid(
    layout: Layout, rows: range | None = None, columns: range | None = None, *, bars: bool = False
) -> Grid:
    """The grid of some rows, counted over all layers, and of some columns of a release; all of them by default."""
    height, width, depth = layout.lengths
    rows, columns = rows or range(height * depth), columns or range(width)
    layers = []
    for place in range(rows.start // height, (rows.stop - 1) // height + 1):
        mine = range(max(rows.start, place * height), min(rows.stop, (place + 1) * height))
        line = layout.layer(place)
        found = zip(layout.rows(mine), layout.cells(mine, columns), strict=True)
        layers.append(Layer(line.labels, tuple(_groups(found, len(line.labels))), line.cell))
    return Grid(
        row_title=join_labels(dimension.label for dimension in layout.axes[0]),
        column_title=join_labels(dimension.label for dimension in layout.axes[1]),
        headers=headers(layout.columns(columns)),
        layers=tuple(layers),
        legend=_legend(layout.release),
        bars=layout.bars(rows) if bars and len(layers) == 1 else None,
    )


def _groups(rows: Iterable[tuple[AxisLine, tuple[Cell, ...]]], outer: int) -> Iterator[RowGroup]:
    """Rows by the last row variable, under the headings of the ones before."""
    for _, found in groupby(rows, key=lambda row: split(row[0].cell, ",")[: len(row[0].labels) - outer - 1]):
        lines = tuple(found)
        yield RowGroup(lines[0][0].labels[outer:-1], lines)


def headers(columns: Sequence[AxisLine]) -> tuple[tuple[Header, ...], ...]:
    """One header row per variable; each category spans the columns below it."""
    *outer, _ = range(len(columns[0].labels))
    rows = []
    for depth in outer:
        groups = groupby(columns, key=lambda line: split(line.cell, ",")[: depth + 1])
        lines = [list(found) for _, found in groups]
        rows.append(
            tuple(Header(each[0].labels[depth], len(each), each[0].totals[depth], True) for each in lines)
        )
    last = tuple(Header(line.label, 1, line.total, line.first, line.cell) for line in columns)
    return (*rows, last)


def _unit(release: Release) -> str:
    unit = release.measure.unit(release.dataset)
    return unit[:1].upper() + unit[1:]


def _legend(release: Release) -> tuple[tuple[str, str], ...]:
    present = [STATUSES[status] for status in np.unique(release.status) if status]
    legend = [(f"[{letter}]", STATUS_MEANING[letter]) for letter in present]
    if release.errors is not None:
        sampling = gettext("Relative standard error, of sampling and of the noise together, rounded up")
        noise = gettext("The noise's share of that error's variance, rounded up; the rest is sampling")
        legend += [(gettext("RSE"), sampling), (gettext("noise"), noise)]
    symbols = {
        "percent": "%",
        "ratio": "\N{MULTIPLICATION SIGN}",
        "difference": "\N{PLUS-MINUS SIGN}",
        "rank": gettext("rank"),
    }
    legend += [(symbols.get(column.name, column.name), column.meaning) for column in release.derived]
    return tuple(legend)


def table_facts(dataset: Dataset, request: TableRequest) -> list[tuple[str, str]]:
    """The lines under a table's title: unit, population, filters, date and publisher."""
    about = dataset.about
    lines = [
        (gettext("Counted"), dataset.unit),
        (gettext("Population"), dataset.population),
        *((gettext("Only"), filter_in_words(dataset, name, codes, 8)) for name, codes in request.filters),
        (gettext("Reference date"), display_date(dataset.reference_date)),
        (gettext("Publisher"), about.publisher),
        (gettext("Licence"), about.licence),
        (gettext("Contact"), about.contact),
        (gettext("Area covered"), about.spatial),
        (gettext("Next update"), display_date(about.next_update)),
    ]
    if dataset.weight_column:
        weights = measure_kind(request.measure, dataset).measure.about(dataset)
        lines.append((gettext("Weights"), weights or gettext("not applied: records are counted")))
    return [(name, text) for name, text in lines if text]
