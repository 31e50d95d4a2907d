"""Rows of bars or dots: of one variable, grouped, stacked, as a population pyramid, and in small multiples.

Categories run down the side in the order of the table. Bars start at zero, and the interval of the true number is a whisker
over its bar. Stacked parts cannot be negative, and have no intervals: a withheld part makes a bar too short, and its letter
is at the end. A pyramid has a numeric variable, such as age, down the middle, the youngest at the bottom, and two
categories, such as sex, to its sides. Small multiples have a panel per category of the last variable, all on one scale. Dots
have their interval as a band; their scale need not start at zero, since no length is compared. A cell that cannot occur is
left empty.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from discreet.model.messages.text import message
from discreet.pictures.chart_data import MOST_CATEGORIES, Axis, ChartData
from discreet.pictures.charts import Chart, Misfit
from discreet.pictures.svg import SMALL, Attributes, Pen, Piece, element, shorten, stack, text_width, ticks

#: How intervals look, in words.
WHISKERS, BANDS = message("Whiskers"), message("Bands")
#: More colours than this cannot be told apart; more bars than this, also in panels, cannot be read.
MOST_COLOURS, MOST_BARS, MOST_PANELS, MOST_BARS_OF_PANELS = 6, 160, 12, 600
#: The longest label at the side, in pixels.
_SIDE = 220.0
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers as pixels along a line; `turned` runs to the left."""

    marks: tuple[float, ...]
    length: float
    turned: bool = False

    def __call__(self, value: float) -> float:
        """The pixel of a number."""
        low, high = self.marks[0], self.marks[-1]
        share = (value - low) / (high - low)
        return self.length * (1 - share if self.turned else share)


def scale_of(shown: ChartData, length: float, *, zero: bool = True, count: int = 5) -> Scale:
    """A scale that holds all numbers and their intervals."""
    ends = [record[key] for record in shown.records for key in ("_value", "_low", "_high") if key in record]
    ends = [*ends, 0] if zero or not ends else ends
    return Scale(tuple(ticks(min(ends), max(ends), count)), length)


def mark_attributes(record: Record) -> Attributes:
    """The attributes of the mark of a number: its cell and its words."""
    return {"role": "img", "data_cell": record["_cell"], "aria_label": record["_said"]}


def is_withheld(record: Record) -> bool:
    """Whether a number is missing that could be there."""
    return "_value" not in record and record["_mark"] != "[z]"


@dataclass(frozen=True)
class Rows:
    """Categories down the side with their marks to the right.

    Args:
        shown: The data.
        records: Those of the panel.
        down: The variable down the side.
        across: The variable whose categories share a row; None for one mark a row.
        scale: Of the numbers.
        size: The height of a mark.
        labels: The labels at the side; empty for none.
    """

    shown: ChartData
    records: Sequence[Record]
    down: Axis
    across: Axis | None
    scale: Scale
    size: float
    labels: tuple[str, ...]
    roles: tuple[str, ...] = ("s1", "s2", "s3", "s4", "s5", "s6")

    @property
    def pen(self) -> Pen:
        return Pen(self.shown.look)

    @cached_property
    def band(self) -> float:
        """The height of a row."""
        return self.size * (len(self.across) if self.across else 1) + max(6.0, self.size * 0.45)

    @cached_property
    def left(self) -> float:
        """The width of the labels."""
        return min(_SIDE, max(map(text_width, self.labels), default=0.0)) + 10 if self.labels else 0.0

    def place(self, record: Record) -> tuple[float, str]:
        """The upper edge of a mark, and its role."""
        row = self.down.labels.index(record[self.down.name])
        number = self.across.labels.index(record[self.across.name]) if self.across else 0
        gap = self.band - self.size * (len(self.across) if self.across else 1)
        return row * self.band + gap / 2 + number * self.size, self.roles[number]

    def bar(self, record: Record, start: float = 0.0, role: str = "") -> str:
        """The bar of a number, with its whisker, or the letter that says why there is none."""
        top, own = self.place(record)
        parts, end = [], self.scale(max(start, 0.0))
        if "_value" in record:
            first, end = self.scale(start), self.scale(start + record["_value"])
            at = {**mark_attributes(record), **self.pen.fill(role or own)}
            path = f"M{min(first, end):.2f},{top:.2f}h{abs(end - first):.2f}v{self.size - 1:.6g}H{min(first, end):.2f}z"
            parts.append(element("path", **at, d=path))
            end = max(end, first)
        if "_low" in record:
            low, high = sorted((self.scale(record["_low"]), self.scale(record["_high"])))
            middle, cap = top + (self.size - 1) / 2, min(3.0, self.size / 3)
            path = f"M{low:.2f},{middle:.6g}H{high:.2f}" + "".join(
                f"M{x:.2f},{middle - cap:.6g}v{2 * cap:.6g}" for x in (low, high)
            )
            parts += [self.pen.line(path, "ground", 3.6), self.pen.line(path, "ink", 1.2)]
            end = max(end, high)
        return "".join([*parts, self.letter(record, end, top)])

    def dot(self, record: Record) -> str:
        """The dot of a number on the band of its interval."""
        top, role = self.place(record)
        middle, parts, end = top + self.size / 2, [], 0.0
        if "_low" in record:
            low, end = self.scale(record["_low"]), self.scale(record["_high"])
            path = f"M{low:.2f},{middle:.6g}H{end:.2f}"
            parts.append(self.pen.line(path, role, 7.0, opacity=0.4, data_band=record["_cell"]))
        if "_value" in record:
            at = {"cx": self.scale(record["_value"]), "cy": middle, "r": 3.6}
            parts.append(element("circle", **mark_attributes(record), **self.pen.fill(role), **at))
        return "".join([*parts, self.letter(record, end, top)])

    def letter(self, record: Record, x: float, top: float) -> str:
        """The letter of a status."""
        if not record["_mark"] or record["_mark"] == "[z]":
            return ""
        named: Attributes = {} if "_value" in record else mark_attributes(record)
        x, anchor = (x - 5, "end") if self.scale.turned else (x + 5, None)
        return self.pen.text(
            x, top + self.size / 2 + 3.5, record["_mark"], size=SMALL, anchor=anchor, **named
        )

    def draw(self, mark: Callable[[Record], str], axis: str, title: str = "") -> Piece:
        """The panel: its title, labels, grid, marks, axis and the title of the axis."""
        top, pen = 22.0 if title else 4.0, self.pen
        height, width = self.band * len(self.down), self.scale.length
        parts = [pen.text(0, 14, shorten(title, width), "ink", bold=True)] if title else []
        for value in self.scale.marks:
            x = self.scale(value)
            parts.append(pen.line(f"M{x:.2f},0v{height:.6g}", "domain" if value == 0 else "grid"))
            parts.append(pen.text(x, height + 16, self.shown.number(value), size=SMALL, anchor="middle"))
        parts += map(mark, self.records)
        parts.append(pen.text(width / 2, height + 35, shorten(axis, width + 40), "ink", anchor="middle"))
        side = "".join(
            pen.text(
                self.left - 10, top + (row + 0.5) * self.band + 4, shorten(label, _SIDE), "ink", anchor="end"
            )
            for row, label in enumerate(self.labels)
        )
        edge = text_width(self.shown.number(self.scale.marks[-1]), SMALL) / 2
        plot = Piece("".join(parts[bool(title) :]), 0, 0).at(self.left, top)
        name = Piece(parts[0], 0, 0).at(self.left, 0) if title else ""
        return Piece(side + name + plot, self.left + width + max(edge, 24.0), top + height + 42)


def side_and_colour(axes: tuple[Axis, ...]) -> tuple[Axis, Axis]:
    """The variable down the side, the first if it can be, and the one in colours, which has few enough categories."""
    first, second = axes[:2]
    return (first, second) if len(second) <= MOST_COLOURS else (second, first)


def colour_legend(shown: ChartData, axis: Axis | None, width: float) -> Piece:
    """The categories of a variable and their colours; nothing without one."""
    if axis is None:
        return Piece("", 0, 0)
    entries = [(f"s{place}", label) for place, label in enumerate(axis.labels, 1)]
    return Pen(shown.look).legend(axis.label, entries, width)


def _rows(shown: ChartData, size: float, *, zero: bool = True) -> tuple[Rows, Axis | None]:
    down, across = side_and_colour(shown.axes) if len(shown.axes) > 1 else (shown.axes[0], None)
    return Rows(
        shown, shown.records, down, across, scale_of(shown, 460, zero=zero), size, down.labels
    ), across


def _bars(shown: ChartData) -> Piece:
    rows, across = _rows(shown, 16 if len(shown.axes) == 1 else 13)
    return stack([colour_legend(shown, across, 620), rows.draw(rows.bar, shown.value_title)], 6)


def _dots(shown: ChartData) -> Piece:
    rows, across = _rows(shown, 16 if len(shown.axes) == 1 else 13, zero=False)
    return stack([colour_legend(shown, across, 620), rows.draw(rows.dot, shown.value_title)], 6)


def _stacked(shown: ChartData) -> Piece:
    down, across = side_and_colour(shown.axes)
    sums = {label: [r for r in shown.records if r[down.name] == label] for label in down.labels}
    largest = max(sum(record.get("_value", 0) for record in records) for records in sums.values())
    rows = Rows(shown, shown.records, down, None, Scale(tuple(ticks(0, largest)), 460), 16, down.labels)
    parts = {}
    for records in sums.values():
        end = 0.0
        for record in sorted(records, key=lambda record: across.labels.index(record[across.name])):
            part = {key: value for key, value in record.items() if key not in {"_low", "_high"}}
            role = f"s{across.labels.index(record[across.name]) + 1}"
            parts[record["_cell"]] = rows.bar(part, end, role) if "_value" in record else ""
            end += record.get("_value", 0)
        for record in filter(is_withheld, records):
            parts[record["_cell"]] = rows.letter(record, rows.scale(end), rows.place(record)[0])
    chart = rows.draw(lambda record: parts[record["_cell"]], shown.value_title)
    return stack([colour_legend(shown, across, 620), chart], 6)


def _pyramid(shown: ChartData) -> Piece:
    """The first category to the left, the second to the right, the youngest at the bottom."""
    along, others = shown.along()
    upwards = replace(along, labels=along.labels[::-1])
    whole, halves = scale_of(shown, 230, count=4), []
    for number, label in enumerate(others[0].labels):
        records = [record for record in shown.records if record[others[0].name] == label]
        scale = replace(whole, turned=not number)
        names = () if number else upwards.labels
        rows = Rows(shown, records, upwards, None, scale, 13, names, (f"s{number + 1}",))
        halves.append(rows.draw(rows.bar, label))
    return stack(halves, 0, columns=2)


def _multiples(shown: ChartData) -> Piece:
    """Three panels in a row, whose first has the labels."""
    *inner, panels = shown.axes
    down, across = side_and_colour(tuple(inner)) if len(inner) == 2 else (inner[0], None)
    scale, drawn = scale_of(shown, 170, count=2), []
    for number, label in enumerate(panels.labels):
        records = [record for record in shown.records if record[panels.name] == label]
        names = () if number % 3 else down.labels
        rows = Rows(shown, records, down, across, scale, 9 if across else 13, names)
        drawn.append(rows.draw(rows.bar, "" if number < len(panels) - 3 else shown.value_title, label))
    return stack([colour_legend(shown, across, 620), stack(drawn, 6, columns=3)], 8)


def too_many(axis: Axis) -> Misfit | None:
    """The misfit of an axis with too many categories."""
    if len(axis) <= MOST_CATEGORIES:
        return None
    return Misfit(
        message(
            '"{name}" has {count:,} categories, and {most} can be read.',
            name=axis.name,
            count=len(axis),
            most=MOST_CATEGORIES,
        ),
        message("Take the largest (top=20), filter, group, or show a coarser level."),
    )


def two_variables(shown: ChartData) -> Misfit | None:
    """Two variables, one of them with few categories."""
    if len(shown.axes) != 2:
        return Misfit(
            message(
                "it has {count} variables of two or more categories, and this chart shows two.",
                count=len(shown.axes),
            ),
            message("Take the chart bars for one variable, multiples for three."),
        )
    if min(map(len, shown.axes)) > MOST_COLOURS:
        return Misfit(
            message(
                "both variables have more than {most} categories, and no more colours can be distinguished.",
                most=MOST_COLOURS,
            ),
            message("Filter or group one of them, or take the chart heat_map."),
        )
    return too_many(side_and_colour(shown.axes)[0])


def _bars_misfit(shown: ChartData) -> Misfit | None:
    if len(shown.axes) != 1:
        return Misfit(
            message("bars show one variable, and it has {count}.", count=len(shown.axes)),
            message("Take the chart grouped or multiples."),
        )
    return too_many(shown.axes[0])


def _grouped_misfit(shown: ChartData) -> Misfit | None:
    if two_variables(shown) is None and shown.marks > MOST_BARS:
        return Misfit(
            message("it would have {marks} bars, and {most} can be read.", marks=shown.marks, most=MOST_BARS),
            message("Filter or group a variable, or take the chart heat_map."),
        )
    return two_variables(shown)


def _stacked_misfit(shown: ChartData) -> Misfit | None:
    if two_variables(shown) is None and shown.negative:
        return Misfit(
            message("a number is below zero, as noise makes it, and cannot be a part of a bar."),
            message("Take the chart grouped or dots."),
        )
    return two_variables(shown)


def _pyramid_misfit(shown: ChartData) -> Misfit | None:
    ordered = [axis for axis in shown.axes if axis.ordered]
    if len(shown.axes) != 2 or not ordered or len(shown.along()[1][0]) != 2:
        return Misfit(
            message(
                "a pyramid needs a variable of numbers, such as age, and one of two categories, such as sex."
            ),
            message("Show these two, or take the chart grouped."),
        )
    if shown.negative:
        return Misfit(
            message("a number is below zero and would point to the other side."),
            message("Take the chart grouped or dots."),
        )
    return too_many(ordered[0])


def _multiples_misfit(shown: ChartData) -> Misfit | None:
    if len(shown.axes) not in {2, 3}:
        return Misfit(
            message("multiples show two or three variables, and it has {count}.", count=len(shown.axes)),
            message("Filter on the others."),
        )
    *inner, panels = shown.axes
    if len(panels) > MOST_PANELS or shown.marks > MOST_BARS_OF_PANELS:
        return Misfit(
            message(
                "it would have {panels:,} panels and {marks:,} bars; {most_panels} and {most} can be read.",
                panels=len(panels),
                marks=shown.marks,
                most_panels=MOST_PANELS,
                most=MOST_BARS_OF_PANELS,
            ),
            message("Filter or group a variable, or put one of fewer categories in the layers."),
        )
    return too_many(inner[0]) if len(inner) == 1 else two_variables(replace(shown, axes=tuple(inner)))


def _dots_misfit(shown: ChartData) -> Misfit | None:
    if not shown.has_limits:
        return Misfit(
            message(
                "the uncertainty of its numbers is unknown: they were changed to add up, or are not counts with "
                "independent noise."
            ),
            message("Ask with additivity=independent, or take the chart bars."),
        )
    if len(shown.axes) == 1:
        return too_many(shown.axes[0])
    if two_variables(shown) is None and shown.marks > MOST_BARS:
        return Misfit(
            message("it would have {marks} dots, and {most} can be read.", marks=shown.marks, most=MOST_BARS),
            message("Filter or group a variable."),
        )
    return two_variables(shown)


CHART = (
    Chart("bars", message("Bars"), "one variable", _bars_misfit, _bars, WHISKERS, place=30),
    Chart("grouped", message("Grouped bars"), "two variables", _grouped_misfit, _bars, WHISKERS, place=40),
    Chart(
        "dots", message("Dots with noise bands"), "one or two variables", _dots_misfit, _dots, BANDS, place=65
    ),
    Chart(
        "stacked",
        message("Stacked bars"),
        "two variables, no number below zero",
        _stacked_misfit,
        _stacked,
        place=60,
    ),
    Chart(
        "pyramid", message("Population pyramid"), "age and sex", _pyramid_misfit, _pyramid, WHISKERS, place=10
    ),
    Chart(
        "multiples",
        message("Small multiples"),
        "two or three variables",
        _multiples_misfit,
        _multiples,
        WHISKERS,
        place=80,
    ),
)
