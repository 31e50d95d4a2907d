"""The kinds of charts, found by the registry.

A module of this folder binds `CHART` to its kind, or to several. The `misfit` of a kind decides by the dimensions of a table
whether it fits, and why not. A table without a named chart gets the first that fits, in the order of `place`.

    svg = draw(chart_data(release))        with title, note and legend
"""

from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import numpy as np

from discreet.errors import BadRequest, UnknownFormat
from discreet.model.messages.text import message, printable
from discreet.model.plugins import Registry
from discreet.model.release import NOT_APPLICABLE, STATUS_MEANING, STATUSES
from discreet.pictures.chart_data import ChartData, describe_chart
from discreet.pictures.svg import SMALL, Attributes, Pen, Piece, document, element, stack, wrap

#: More marks than this are not drawn, whatever the kind: nobody can make a server draw 100,000.
MOST_MARKS = 5_000
#: The least width of a picture with title and note, and the size of its title.
_LEAST, _TITLE = 620.0, 17.0


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a table does not fit a kind of chart, and advice."""

    why: str
    advice: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A kind of chart.

    Args:
        name: The value of `--chart` and `chart=`.
        label: Its name for people.
        summary: The tables it is for, in a few words.
        misfit: Why it does not fit a table; None where it does.
        draw: The chart, without title and note.
        lines: The look of its intervals; empty where it shows none.
        place: Its priority when the chart of a table is chosen; the smallest first.
        chosen: Whether it may be chosen for a table without a named chart.
    """

    name: str
    label: str
    summary: str
    misfit: Callable[[ChartData], Misfit | None]
    draw: Callable[[ChartData], Piece]
    lines: str = ""
    place: int = 100
    chosen: bool = True


_REGISTRY: Registry[Chart] = Registry("discreet.pictures.charts", "CHART", "chart", UnknownFormat)


def charts() -> tuple[Chart, ...]:
    """All kinds, in the order in which they are tried."""
    return tuple(sorted(_REGISTRY.members(), key=lambda chart: chart.place))


def fitting(shown: ChartData) -> tuple[Chart, ...]:
    """The kinds that fit a table, the best first."""
    return tuple(chart for chart in charts() if _misfit(chart, shown) is None)


def chart_of(shown: ChartData) -> Chart:
    """The named kind, or the first that fits.

    Raises:
        UnknownFormat: There is no such kind; with the nearest.
        BadRequest: It does not fit the table; why, and advice.
    """
    if shown.picture.chart:
        chart = _REGISTRY.named(shown.picture.chart)
        misfit = _misfit(chart, shown)
        if misfit is not None:
            why = message(
                'The table does not fit the chart "{chart}": {why}', chart=chart.name, why=misfit.why
            )
            raise BadRequest(why, misfit.advice)
        return chart
    found = next((chart for chart in fitting(shown) if chart.chosen), None)
    if found is None:
        names = tuple(axis.name for axis in shown.axes)
        raise BadRequest(
            message("No chart fits {marks:,} numbers by {names}.", marks=shown.marks, names=names),
            message(
                "Show fewer variables or categories: filter, group, show a coarser level, or take the largest (top=20)."
            ),
        )
    return found


def _misfit(chart: Chart, shown: ChartData) -> Misfit | None:
    if shown.marks > MOST_MARKS:
        return Misfit(
            message(
                "it would have {marks:,} marks, and {most:,} are drawn at most.",
                marks=shown.marks,
                most=MOST_MARKS,
            ),
            message("Filter, group, show a coarser level, or take the largest (top=20)."),
        )
    return chart.misfit(shown)


def draw(shown: ChartData) -> str:
    """The chart of a table as SVG, with its title, the mandatory note and the meaning of its marks.

    A bare picture has none of them: its page has.

    Raises:
        BadRequest, UnknownFormat: As `chart_of`.
    """
    chart, release, look = chart_of(shown), shown.release, shown.look
    piece = chart.draw(shown)
    named: Attributes = {"role": "img", "data_chart": chart.name}
    if shown.picture.bare:
        return document(piece, aria_labelledby="chart-told", **named)
    width, pen = max(piece.width, _LEAST), Pen(look)
    source = f"{release.dataset.source} Version {release.dataset.version}, {release.digest[:8]}.".strip()
    caption = [release.notes[0], *legend_lines(chart, shown), source]
    lines = [line for text in caption for line in wrap(text, width, SMALL)]
    title = pen.paragraph(wrap(release.title, width, _TITLE), "ink", size=_TITLE, bold=True)
    whole = stack([title, piece, pen.paragraph(lines, "soft", size=SMALL)], 14)
    words = element("title", _text(release.title)) + element(
        "desc", _text(describe_chart(chart.label, shown))
    )
    return document(whole, words, ground=look.ground, margin=16, **named)


def _text(words: str) -> str:
    return escape(printable(words), quote=False)


def legend_lines(chart: Chart, shown: ChartData) -> list[str]:
    """The meaning of lines and marks, in the reader's language."""
    release = shown.release
    lines: list[str] = [f"{axis.label}: {axis.labels[0]}." for axis in shown.fixed]
    if chart.lines and shown.has_limits:
        values = {"lines": chart.lines, "level": f"{100 * shown.picture.level:g}"}
        about = message("{lines}: the true number lies there with a chance of about {level} %.", **values)
        least = message("{lines}: the true number lies there with a chance of at least {level} %.", **values)
        lines.append(shown.say(about if release.measure.has_errors else least))
    marks = [STATUSES[number] for number in np.unique(release.status) if number not in {0, NOT_APPLICABLE}]
    return [*lines, *(f"[{letter}] {shown.say(STATUS_MEANING[letter])}" for letter in marks)]
