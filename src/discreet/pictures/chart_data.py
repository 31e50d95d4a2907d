"""The data of a chart: the numbers of a release without totals, each with its interval, status and description.

Totals, and categories that contain others of the table, are left out. A variable with one category left has no axis.
Where the view has percentages, they are drawn. A cell without a number has no value, so that no chart draws it as zero.

    _value  _low  _high     the number and its limits
    _mark                   the letter of its status, or nothing
    _said                   the description of the cell, for tooltips and screen readers
    _cell                   layer, row and column of the cell in the table

Colour classes have round limits and are never finer than the noise. Limits are quantiles, rounded to two digits; a
class is at least as wide as the median interval of a true number, so that most true numbers lie in the class drawn or
in a neighbouring one. Where no limit is left, all numbers have one colour, and the picture says so.

Source: Slocum et al. (2022), Thematic Cartography, chapter 5, on quantiles and the number of classes.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from math import ceil, floor, isnan, log10, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.model.messages.text import Message, message, plural_message, printable
from discreet.model.release import STATUS_MEANING, STATUSES, Derived, Release
from discreet.model.selection import number_classes
from discreet.model.shape import Dimension
from discreet.model.view import Picture
from discreet.pictures.theme import PALETTES, Palette

Place = tuple[int, ...]
#: Puts a sentence into the language of the reader: `web/i18n/translation.py`.
Say = Callable[[str], str]

#: Categories of one axis; more cannot be read.
MOST_CATEGORIES = 40
#: Colour classes.
MOST_CLASSES = 5
#: A line of two categories shows no course.
LEAST_ORDERED = 3


@dataclass(frozen=True, slots=True)
class Axis:
    """A variable of a chart.

    Args:
        dimension: Of the release.
        number: The index of the dimension.
        places: The positions of the categories drawn.
        labels: Their labels, made unique.
    """

    dimension: Dimension
    number: int
    places: tuple[int, ...]
    labels: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.dimension.name

    @property
    def label(self) -> str:
        return printable(self.dimension.label)

    @property
    def ordered(self) -> bool:
        """Whether the categories are increasing numbers or classes of numbers."""
        classes = number_classes(self.labels, self.labels)
        lows = [classes[place][0] for place in sorted(classes)]
        return len(lows) == len(self.places) >= LEAST_ORDERED and lows == sorted(set(lows))

    def __len__(self) -> int:
        return len(self.places)


@dataclass(frozen=True)
class ChartData:
    """The data of a chart.

    Args:
        release: With its picture.
        axes: Variables of two or more categories, in the order of the table.
        fixed: Variables of one category.
        say: Translates a sentence.
    """

    release: Release
    axes: tuple[Axis, ...]
    fixed: tuple[Axis, ...]
    say: Say = str

    @property
    def picture(self) -> Picture:
        return self.release.picture or Picture()

    @property
    def look(self) -> Palette:
        return PALETTES[self.picture.theme]

    def tell(self, text: str) -> str:
        """A text in the reader's language."""
        return str.__str__(self.say(text))

    @cached_property
    def percent(self) -> Derived | None:
        """The percentages that are drawn instead of the numbers, if any."""
        return next((column for column in self.release.derived if column.name == "percent"), None)

    @property
    def value_title(self) -> str:
        if self.percent is not None:
            return printable(self.say(self.percent.meaning).partition(",")[0])
        return printable(self.say(self.release.measure.title(self.release.dataset)))

    def number(self, value: float) -> str:
        """A number as the reader's language writes it."""
        whole = int(value) if float(value).is_integer() else round(value, 4)
        return self.tell(Message("{value:,}", {"value": whole})).replace("-", "\N{MINUS SIGN}")

    @property
    def has_limits(self) -> bool:
        return self.picture.limits is not None

    @property
    def marks(self) -> int:
        return prod(len(axis) for axis in self.axes)

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The numbers drawn, in the order of `places`; NaN where there is none."""
        found = [record.get("_value", np.nan) for record in self.records]
        return np.array(found, dtype=np.float64)

    def along(self) -> tuple[Axis, list[Axis]]:
        """The first variable of increasing numbers, and the others."""
        along = next(axis for axis in self.axes if axis.ordered)
        return along, [axis for axis in self.axes if axis is not along]

    @property
    def negative(self) -> bool:
        return bool((self.values < 0).any())

    @cached_property
    def places(self) -> list[Place]:
        """The indices of the cells drawn in the release, the last axis running fastest."""
        return list(product(*(axis.places for axis in self._ordered)))

    @property
    def _ordered(self) -> list[Axis]:
        return sorted((*self.axes, *self.fixed), key=lambda axis: axis.number)

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """One record per cell drawn."""
        here = np.ix_(*(axis.places for axis in self._ordered))
        release, column, limits = self.release, self.percent, self.picture.limits

        def texts(array: NDArray[Any]) -> list[Any]:
            found: list[Any] = array[here].ravel().tolist()
            return found

        missing = release.missing if column is None else release.missing | column.missing
        low, high = (itertools.repeat(-1.0), itertools.repeat(-1.0)) if limits is None else map(texts, limits)
        names = [axis.name for axis in self._ordered]
        rows = zip(
            product(*(axis.labels for axis in self._ordered)),
            texts((release if column is None else column).values),
            texts(missing),
            texts(release.status),
            low,
            high,
            self._cells(),
            strict=False,
        )
        return [
            dict(zip(names, labels, strict=True)) | self._record(labels, None if gone else value, *others)
            for labels, value, gone, *others in rows
        ]

    def _cells(self) -> list[str]:
        """The layer, row and column of each cell in the table, as text."""
        request, lengths = self.release.request, self.release.values.shape
        at = [axis.ravel() for axis in np.meshgrid(*(axis.places for axis in self._ordered), indexing="ij")]
        ends = np.cumsum([0, *map(len, (request.rows, request.columns, request.layers))]).tolist()
        row, column, layer = (
            np.ravel_multi_index(tuple(at[first:last]), lengths[first:last]).tolist()
            if last > first
            else [0] * len(at[0])
            for first, last in pairwise(ends)
        )
        return [f"{z},{y},{x}" for z, y, x in zip(layer, row, column, strict=True)]

    def _record(
        self, labels: tuple[str, ...], value: float | None, status: int, low: float, high: float, cell: str
    ) -> dict[str, Any]:
        letter = STATUSES[status]
        mark = f"[{letter}]" if letter else "" if value is not None else "\N{EN DASH}"
        known: dict[str, Any] = {"_mark": mark, "_cell": cell}
        limits = None if value is None or isnan(high) or high < 0 else (low, high)
        if value is not None:
            known |= {"_value": value}
        if limits is not None:
            known |= {"_low": low, "_high": high}
        return known | {"_said": self.tell(self._said(", ".join(labels), value, limits, letter))}

    def _said(
        self, name: str, value: float | None, limits: tuple[float, float] | None, letter: str
    ) -> Message:
        if value is None:
            why = STATUS_MEANING.get(letter) or message("no percentage: its base is not above its noise")
            return message("{name}: {why}", name=name, why=why)
        sign = "" if self.percent is None else " %"
        values: dict[str, Any] = {"name": name, "value": value, "sign": sign}
        if limits is None and not letter:
            return message("{name}: {value:,}{sign}", **values)
        if letter:
            cell = message("{name}: {value:,}{sign}", **values)
            cell = message("{cell} ({meaning})", cell=cell, meaning=STATUS_MEANING[letter])
        if limits is None:
            return cell
        low, high = (floor(10 * limits[0]) / 10, ceil(10 * limits[1]) / 10) if sign else limits
        ends = {"low": low, "high": high, "sign": sign, "level": f"{100 * self.picture.level:g}"}
        if letter:
            return message(
                "{cell}; the true number lies between {low:,}{sign} and {high:,}{sign} ({level} %)",
                cell=cell,
                **ends,
            )
        return message(  # one sentence, since a map says thousands of them
            "{name}: {value:,}{sign}; the true number lies between {low:,}{sign} and {high:,}{sign} ({level} %)",
            **(values | ends),
        )


def chart_data(release: Release, say: Say = str) -> ChartData:
    """The chart data of a release.

    Raises:
        BadRequest: A variable has no category to draw.
    """
    axes = [_axis(dimension, number) for number, dimension in enumerate(release.dimensions)]
    for axis in axes:
        if not axis.places:
            raise BadRequest(
                message('The table shows the total of "{name}" alone.', name=axis.name),
                message("Show some of its categories."),
            )
    free = [axis for axis in axes if len(axis) > 1] or axes[:1]
    return ChartData(release, tuple(free), tuple(axis for axis in axes if axis not in free), say)


def _axis(dimension: Dimension, number: int) -> Axis:
    places = tuple(dimension.leaves)
    labels = [printable(" ".join(dimension.outputs[place].label.split())) for place in places]
    codes = [printable(dimension.outputs[place].code) for place in places]
    repeated = {label for label in labels if labels.count(label) > 1} if len(places) <= 1000 else set(labels)
    own = tuple(
        f"{label} ({code})" if label in repeated else label for label, code in zip(labels, codes, strict=True)
    )
    return Axis(dimension, number, places, own)


@dataclass(frozen=True, slots=True)
class Classes:
    """Colour classes: number x is in class i where i limits are at or below it.

    Args:
        limits: Increasing.
        step: The smallest difference of two numbers: 1, or 0.1 of percentages.
    """

    limits: tuple[float, ...]
    step: float

    @property
    def labels(self) -> tuple[Message, ...]:
        """The range of each class as text.

        >>> Classes((10, 20), 1).labels
        ('under 10', '10 to 19', '20 or more')
        """
        if not self.limits:
            return (message("all"),)
        ends = [round(limit - self.step, 1) if self.step < 1 else limit - 1 for limit in self.limits]
        pairs = zip(self.limits, ends[1:], strict=False)
        inner = [message("{low:,} to {high:,}", low=low, high=high) for low, high in pairs]
        first = message("under {limit:,}", limit=self.limits[0])
        return (first, *inner, message("{limit:,} or more", limit=self.limits[-1]))

    @property
    def roles(self) -> tuple[str, ...]:
        """The colour of each class, a role of the palette: the smallest numbers have `m1`, the largest `m5`."""
        count = len(self.limits) + 1
        return tuple(f"m{1 + place * (MOST_CLASSES - 1) // max(count - 1, 1)}" for place in range(count))

    def of(self, value: float) -> int:
        """The class of a number."""
        return int(np.searchsorted(self.limits, value, side="right"))


def chart_classes(shown: ChartData) -> Classes:
    """The colour classes of a chart."""
    values = shown.values[~np.isnan(shown.values)]
    step = 1 if shown.percent is None else 0.1
    widths = [record["_high"] - record["_low"] for record in shown.records if "_low" in record]
    return make_classes(values, float(np.median(widths)) if widths else 0.0, step)


def make_classes(values: NDArray[np.float64], width: float, step: float = 1) -> Classes:
    """As many classes as the noise allows, up to five.

    >>> import numpy as np
    >>> make_classes(np.arange(100.0), 5).limits
    (20, 40, 59, 79)
    >>> make_classes(np.arange(100.0), 30).limits
    (33, 66)
    >>> make_classes(np.arange(100.0), 300).limits
    ()
    """
    if values.size:
        for count in range(MOST_CLASSES, 1, -1):
            cuts = np.quantile(values, np.arange(1, count) / count)
            limits = sorted({_round_to_step(cut, step) for cut in cuts.tolist()})
            limits = [limit for limit in limits if values.min() < limit <= values.max()]
            if limits and (np.diff([values.min(), *limits, values.max()]) >= width).all():
                return Classes(tuple(limits), step)
    return Classes((), step)


def _round_to_step(number: float, step: float) -> float:
    """To two digits, and to a whole number of steps."""
    digits = 1 - floor(log10(abs(number))) if number else 0
    if step >= 1:
        return int(round(number, min(digits, 0)))
    return round(number, min(digits, 1))


def describe_chart(kind: str, shown: ChartData) -> str:
    """A chart in words for readers who do not see it: the number of values, the largest, the smallest, the total, gaps."""
    values = shown.values
    known = np.flatnonzero(~np.isnan(values))
    sentences: list[Message] = [
        message("{kind}: {title:bare}.", kind=kind, title=shown.release.title),
        plural_message("{count} number is drawn.", "{count} numbers are drawn.", known.size),
    ]
    if known.size:
        most, least = known[np.argmax(values[known])], known[np.argmin(values[known])]
        sentences.append(message("The largest is {cell}.", cell=shown.records[most]["_said"]))
        sentences.append(message("The smallest is {cell}.", cell=shown.records[least]["_said"]))
    release = shown.release
    whole = tuple(dimension.length - 1 for dimension in release.dimensions)
    totals = shown.percent is None and all(dimension.total for dimension in release.dimensions)
    if totals and not release.missing[whole]:
        sentences.append(message("The total is {total:,}.", total=release.values[whole].item()))
    if known.size < values.size:
        without = int(values.size - known.size)
        sentences.append(plural_message("{count} has no number.", "{count} have no number.", without))
    return printable(" ".join(map(shown.say, sentences)))
