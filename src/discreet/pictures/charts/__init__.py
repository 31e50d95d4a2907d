"""The kinds of charts, found by the registry.

A module of this folder binds `CHART` to its kind, or to several. The `misfit` of a kind decides by the dimensions of a table
whether it fits, and why not. A table without a named chart gets the first that fits, in the order of `place`.

    chart = draw(chart_data(release))        an Altair chart with title, note and legend

Whether a chart fits is known without Altair; a module imports it when it draws.
"""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.errors import BadRequest, UnknownFormat
from discreet.model.messages.text import message, printable
from discreet.model.plugins import Registry
from discreet.model.release import STATUS_MEANING, STATUSES
from discreet.pictures.chart_data import ChartData
from discreet.pictures.theme import apply_theme

#: More marks than this are not drawn, whatever the kind: nobody can make a server draw 100,000.
MOST_MARKS = 5_000
#: Characters of a line of the subtitle and of the title.
_LINE, _TITLE_LINE = 100, 72


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
        draw: The chart, without title.
        lines: The look of its intervals; empty where it shows none.
        place: Its priority when the chart of a table is chosen; the smallest first.
        chosen: Whether it may be chosen for a table without a named chart.
    """

    name: str
    label: str
    summary: str
    misfit: Callable[[ChartData], Misfit | None]
    draw: Callable[[ChartData], Any]
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


def draw(shown: ChartData) -> Any:
    """The chart of a table, with its title, the mandatory note and the meaning of its marks.

    Raises:
        BadRequest, UnknownFormat: As `chart_of`.
        MissingExtra: Altair is not installed.
    """
    chart = chart_of(shown)
    if shown.picture.bare:
        bare = apply_theme(chart.draw(shown), [], theme=shown.picture.theme)
        return bare.properties(background="transparent", padding=4)
    release = shown.release
    source = f"{release.dataset.source} Version {release.dataset.version}, {release.digest[:8]}.".strip()
    caption = [
        *textwrap.wrap(printable(release.notes[0]), _LINE),
        *legend_lines(chart, shown),
        *textwrap.wrap(printable(source), _LINE),
    ]
    title = textwrap.wrap(printable(release.title), _TITLE_LINE)
    return apply_theme(chart.draw(shown), title, caption, shown.picture.theme)


def legend_lines(chart: Chart, shown: ChartData) -> list[str]:
    """The meaning of lines and marks, in the reader's language."""
    release = shown.release
    lines: list[str] = [f"{axis.label}: {axis.labels[0]}." for axis in shown.fixed]
    if chart.lines and shown.has_limits:
        values = {"lines": chart.lines, "level": f"{100 * shown.picture.level:g}"}
        about = message("{lines}: the true number lies there with a chance of about {level} %.", **values)
        least = message("{lines}: the true number lies there with a chance of at least {level} %.", **values)
        lines.append(shown.say(about if release.measure.has_errors else least))
    marks = [STATUSES[number] for number in np.unique(release.status) if number]
    return [*lines, *(f"[{letter}] {shown.say(STATUS_MEANING[letter])}" for letter in marks)]
