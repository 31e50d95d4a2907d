"""A release as the grid of a page: header cells with their spans, groups of rows, one grid a layer.

The release's axes are rows, columns, layers; each is the product of its variables, the last running fastest.
The outer row variables become headings of groups of rows, so that one narrow column of labels stands beside
the numbers however many variables there are; the column variables become header rows with spans.

Comes from: a `Release`. Goes to: `templates/_grid.html`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.release import STATUS_MEANING, STATUSES, UNRELIABLE
from discreet.model.variable import TOTAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.model.release import Derived, Release
    from discreet.model.shape import Dimension

    Axis = tuple[Dimension, ...]
    Cells = tuple[tuple[str, str, tuple[str, ...], str], ...]

#: A label of so many characters fits the narrow column on one line.
SHORT_LABEL = 18


@dataclass(frozen=True, slots=True)
class Header:
    """One header cell over columns: its label, how many columns it heads, and how it looks."""

    label: str
    span: int
    total: bool
    starts_group: bool


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its label and its cells, each as text, its look's class, what is said of its error, its interval."""

    label: str
    total: bool
    cells: Cells
    depth: int = 0


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


def grid(release: Release, intervals: Mapping[int, str] | None = None) -> Grid:
    """Lay a release out.

    Args:
        release: What is shown.
        intervals: For a count with its noise, the interval of the true count in words.
    """
    rows, columns, layers = _axes(release)
    lengths = [prod(d.length for d in axis) for axis in (rows, columns, layers)]
    values = release.values.reshape(lengths).transpose(2, 0, 1).tolist()
    status = release.status.reshape(lengths).transpose(2, 0, 1).tolist()
    errors = _shown(release, release.errors).reshape(lengths).transpose(2, 0, 1).tolist()
    shares = _shown(release, release.noise_shares).reshape(lengths).transpose(2, 0, 1).tolist()
    signed = release.before_clipping.reshape(lengths).transpose(2, 0, 1).tolist()
    unit = release.dataset.unit[:1].upper() + release.dataset.unit[1:]
    classes = _column_classes(columns)
    beside = [_texts(column).reshape(lengths).transpose(2, 0, 1).tolist() for column in release.derived]

    cell = partial(_cell, intervals or {})

    def layer(label: tuple[str, ...], *arrays: list[list[Any]]) -> Layer:
        cells = [tuple(map(cell, *line, classes)) for line in zip(*arrays, strict=True)]
        return Layer(label, _groups(rows, cells, unit))

    return Grid(
        row_title=_listed(rows),
        column_title=_listed(columns),
        headers=_headers(columns) if columns else ((Header(unit if rows else "Number", 1, False, False),),),
        layers=tuple(map(layer, _labels(layers), values, signed, status, errors, shares, *beside)),
        legend=_legend(release),
    )


def _axes(release: Release) -> tuple[Axis, Axis, Axis]:
    request = release.request
    by_name = {dimension.name: dimension for dimension in release.dimensions}

    def axis(names: tuple[str, ...]) -> Axis:
        return tuple(by_name[name] for name in names)

    return axis(request.rows), axis(request.columns), axis(request.layers)


def _labels(axis: Axis) -> list[tuple[str, ...]]:
    """The labels of every place along an axis."""
    return list(product(*(dimension.labels for dimension in axis)))


def _totals(dimension: Dimension) -> list[bool]:
    return [code == TOTAL for code in dimension.codes]


def _groups(rows: Axis, cells: list[Cells], unit: str) -> tuple[RowGroup, ...]:
    """Rows by the last row variable, under the headings of the ones before."""
    if not rows:
        return (RowGroup((), (Row(unit, False, cells[0]),)),)
    inner = rows[-1]
    groups = []
    for place, heading in enumerate(_labels(rows[:-1])):
        lines = cells[place * inner.length : (place + 1) * inner.length]
        depths = [output.depth for output in inner.outputs] + [0] * inner.total
        groups.append(RowGroup(heading, tuple(map(Row, inner.labels, _totals(inner), lines, depths))))
    return tuple(groups)


def _headers(columns: Axis) -> tuple[tuple[Header, ...], ...]:
    """One header row a variable; each category spans all that stands below it."""
    levels = []
    for depth, dimension in enumerate(columns):
        span = prod(d.length for d in columns[depth + 1 :])
        repeats = prod(d.length for d in columns[:depth])
        grouped = len(columns) > 1
        level = [
            Header(label, span, total, grouped and (depth < len(columns) - 1 or place == 0))
            for place, (label, total) in enumerate(zip(dimension.labels, _totals(dimension), strict=True))
        ]
        levels.append(tuple(level * repeats))
    return tuple(levels)


def _column_classes(columns: Axis) -> tuple[str, ...]:
    """The classes of each column's cells: `t` in a total, `g` where a group of columns starts."""
    if not columns:
        return ("",)
    inner = columns[-1]
    one_group = [
        " ".join(name for name, holds in (("t", total), ("g", place == 0 and len(columns) > 1)) if holds)
        for place, total in enumerate(_totals(inner))
    ]
    return tuple(one_group * prod(d.length for d in columns[:-1]))


def _shown(release: Release, tenths: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Errors or shares in tenths of a percent; negative where none is shown."""
    if tenths is None:
        return np.full(release.values.shape, -1, dtype=np.int64)
    return np.where(release.missing, -1, tenths)


def _texts(column: Derived) -> NDArray[np.object_]:
    """Percentages or ranks for the eye; a dash where a percentage has no base."""
    if column.name == "percent":
        texts = [f"{number(value)} %" for value in column.values.ravel().tolist()]
    else:
        texts = [f"{column.name} {number(value)}" for value in column.values.ravel().tolist()]
    none = "\N{EN DASH} %" if column.name == "percent" else ""
    return np.where(column.missing.ravel(), none, np.array(texts, dtype=object))


def _cell(
    intervals: Mapping[int, str], value: int, signed: int, status: int, error: int, share: int, *rest: str
) -> tuple[str, str, tuple[str, ...], str]:
    """A number with separators for the eye, or the letter of why there is none, and what stands below it.

    The rest is what was derived from it, and its look.
    """
    *beside, look = rest
    errors = (f"RSE {error // 10}.{error % 10} %", f"noise {_whole(share)} %") if error >= 0 else ()
    notes = tuple(filter(None, (*beside, *errors)))
    if not status:
        raised = f"before it was raised to zero: {number(signed)}" if signed < value == 0 else ""
        return number(value), look, notes, "; ".join(filter(None, (intervals.get(signed, ""), raised)))
    mark = f"[{STATUSES[status]}]"
    if status == UNRELIABLE:
        return f"{number(value)} {mark}", look, notes, ""
    return mark, f"{look} s".strip(), (), ""


def number(value: float) -> str:
    """A number for the eye: separators, and a real minus sign.

    >>> number(-1234)
    '−1,234'
    """
    return f"{value:,}".replace("-", "\N{MINUS SIGN}")


def _whole(share: int) -> str:
    """Tenths of a percent as whole percent; what is there at all is never called nothing.

    >>> _whole(0), _whole(4), _whole(125)
    ('0', '<1', '13')
    """
    return "<1" if 0 < share < 10 else str((share + 5) // 10)


def _listed(axis: Axis) -> str:
    """The variables of an axis, outer first, as in "Region and sex"."""
    names = [axis[0].label, *(dimension.label.lower() for dimension in axis[1:])] if axis else [""]
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _legend(release: Release) -> tuple[tuple[str, str], ...]:
    present = [STATUSES[number] for number in np.unique(release.status) if number]
    legend = [(f"[{letter}]", STATUS_MEANING[letter]) for letter in present]
    if release.errors is not None:
        legend += [
            ("RSE", "Relative standard error, of sampling and of the noise together, rounded up"),
            ("noise", "The noise's share of that error's variance, rounded up; the rest is sampling"),
        ]
    symbols = {"percent": "%"}
    legend += [(symbols.get(column.name, column.name), column.meaning) for column in release.derived]
    return tuple(legend)
