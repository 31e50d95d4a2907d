"""A picture of a table of one or two variables: bars, and around each the interval of the true number.

Totals are left out: beside them all else is small. A cell without a number is marked with its status. The mandatory note
stands below the title.

Comes from: a `Release` and the limits of its cells. Goes to: `Table.plot()`.
"""

from __future__ import annotations

import textwrap
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import BadRequest
from discreet.model.release import STATUS_MEANING, STATUSES
from discreet.pictures.library import alt
from discreet.pictures.theme import AMBER, BLUE, GREEN, INK, ORANGE, ROSE, SKY, SOFT_INK, themed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.model.release import Release
    from discreet.model.shape import Dimension

    Limits = tuple[NDArray[np.generic], NDArray[np.generic]]

#: More bars than this cannot be read.
MOST_BARS = 200
_COLOURS = (BLUE, ORANGE, GREEN, AMBER, SKY, ROSE)
#: Characters of a line of the subtitle and of the title.
_LINE, _TITLE_LINE = 100, 72


def table_chart(release: Release, limits: Limits | None, level: float) -> Any:
    """The chart of a release.

    Args:
        release: What was released.
        limits: The smallest and the largest true number of every cell; None where they are not known.
        level: The chance that the limits hold the true number.

    Raises:
        BadRequest: More than two variables, or too many categories.
    """
    shown = _places(release)
    names = {dimension.name: _names(dimension) for dimension in release.dimensions}
    records = [
        {name: each[p] for (name, each), p in zip(names.items(), place, strict=True)}
        | _bar(release, limits, place)
        for place in product(*(range(n) for n in shown))
    ]
    first, *second = _ordered(release)
    base = alt.Chart(alt.InlineData(values=records)).encode(
        y=alt.Y(f"{first.name}:N").sort(names[first.name]).title(first.label).axis(labelLimit=280)
    )
    colour: Any = alt.value(BLUE)
    if second:
        own = names[second[0].name]
        colours = alt.Scale(domain=own, range=list(_COLOURS[: len(own)]))
        base = base.encode(yOffset=alt.YOffset(f"{second[0].name}:N").sort(own))
        colour = alt.Color(f"{second[0].name}:N").title(second[0].label).scale(colours)
    chart = _layers(base, colour, release, intervals=limits is not None)
    step = alt.Step(13, **{"for": "offset"}) if second else alt.Step(22)
    return themed(
        chart.properties(width=520, height=step),
        textwrap.wrap(release.title, _TITLE_LINE),
        _subtitle(release, limits, level),
    )


def _places(release: Release) -> list[int]:
    """The number of categories of each variable, totals not counted."""
    dimensions = release.dimensions
    if len(dimensions) > 2:
        raise BadRequest(
            f"The table has {len(dimensions)} variables, and a picture shows one or two.",
            "Leave some out, or filter on them.",
        )
    lengths = [len(dimension.outputs) for dimension in dimensions]
    if len(lengths) == 2 and min(lengths) > len(_COLOURS):
        raise BadRequest(
            f"Both variables have more than {len(_COLOURS)} categories.", "Filter or group one of them."
        )
    if not 0 < int(np.prod(lengths)) <= MOST_BARS:
        raise BadRequest(
            f"The picture would have {int(np.prod(lengths))} bars; it has 1 to {MOST_BARS}.",
            "Filter or group a variable, or show a coarser level.",
        )
    return lengths


def _ordered(release: Release) -> list[Dimension]:
    """The variables, the one whose categories get colours last."""
    dimensions = list(release.dimensions)
    if len(dimensions) == 2 and len(dimensions[1].outputs) > len(_COLOURS):
        dimensions.reverse()
    return dimensions


def _names(dimension: Dimension) -> list[str]:
    """Labels in order, with the code where two are the same."""
    labels = [output.label for output in dimension.outputs]
    return [
        output.label if labels.count(output.label) == 1 else f"{output.label} ({output.code})"
        for output in dimension.outputs
    ]


def _bar(release: Release, limits: Limits | None, place: tuple[int, ...]) -> dict[str, Any]:
    """The length of one bar, its interval and its mark."""
    letter = STATUSES[release.status[place]]
    if release.missing[place]:
        return {"_end": 0, "_mark": f"[{letter}]"}
    value = release.values[place].item()
    record = {"_value": value, "_end": value, "_mark": f"[{letter}]" if letter else ""}
    if limits is not None and limits[1][place] >= 0:
        low, high = (limit[place].item() for limit in limits)
        record |= {"_low": low, "_high": high, "_end": max(value, high)}
    return record


def _layers(base: Any, colour: Any, release: Release, *, intervals: bool) -> Any:
    """Bars, the intervals over them, and marks where a cell has a status."""
    length = alt.X("_value:Q").title(release.measure.title(release.dataset)).axis(format=",d", tickCount=5)
    chart = base.mark_bar().encode(x=length, color=colour)
    if intervals:
        for ink, width in (("white", 4.0), (INK, 1.4)):  # a dark bar hides no line
            chart += base.mark_rule(color=ink, strokeWidth=width).encode(x="_low:Q", x2="_high:Q")
    words = base.transform_filter("datum._mark != ''").mark_text(align="left", dx=4, color=SOFT_INK)
    return chart + words.encode(x="_end:Q", text="_mark:N")


def _subtitle(release: Release, limits: Limits | None, level: float) -> list[str]:
    """The mandatory note, what the lines are, and what the marks mean."""
    sure = "about" if release.measure.has_errors else "at least"
    lines = textwrap.wrap(release.notes[0], _LINE)
    if limits is not None:
        lines.append(f"Lines: the true number lies there with a chance of {sure} {100 * level:g} %.")
    marks = [STATUSES[number] for number in np.unique(release.status) if number]
    return [*lines, *(f"[{letter}] {STATUS_MEANING[letter]}" for letter in marks)]
