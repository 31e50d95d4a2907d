"""Grouped bars: two variables; the categories of one are side by side in colours."""

from __future__ import annotations

from typing import Any

from discreet.model.messages.text import message
from discreet.pictures.chart_data import Axis, ChartData
from discreet.pictures.charts import Chart, Misfit
from discreet.pictures.charts.bars import LINES, side, too_many, with_intervals

#: More colours than this cannot be told apart.
MOST_COLOURS = 6
#: More bars than this cannot be read.
MOST_BARS = 160


def draw(shown: ChartData) -> Any:
    """Bars in groups."""
    from discreet.pictures.library import alt

    down, across = side_and_colour(shown.axes)
    base = alt.Chart(alt.InlineData(values=shown.records)).encode(y=side(down))
    offset = alt.YOffset(f"{across.name}:N").sort(list(across.labels))
    chart = with_intervals(base, shown, colour(across, shown), offset)
    return chart.properties(width=460, height=alt.Step(14, **{"for": "offset"}))


def side_and_colour(axes: tuple[Axis, ...]) -> tuple[Axis, Axis]:
    """The variable down the side and the variable in colours: the one with few enough categories."""
    first, second = axes[:2]
    return (first, second) if len(second) <= MOST_COLOURS else (second, first)


def colour(axis: Axis, shown: ChartData) -> Any:
    """The categories as colours, with a legend above."""
    from discreet.pictures.library import alt

    scale = alt.Scale(domain=list(axis.labels), range=list(shown.look.series[: len(axis)]))
    columns = 3 if max(map(len, axis.labels)) <= 18 else 2
    legend = alt.Legend(
        orient="top",
        direction="horizontal",
        columns=columns,
        labelLimit=260,
        symbolType="square",
        symbolOpacity=1,
    )
    return alt.Color(f"{axis.name}:N").title(axis.label).scale(scale).legend(legend).sort(list(axis.labels))


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
                "both variables have more than {most} categories, and no more colours can be told apart.",
                most=MOST_COLOURS,
            ),
            message("Filter or group one of them, or take the chart heat_map."),
        )
    return too_many(side_and_colour(shown.axes)[0])


def misfit(shown: ChartData) -> Misfit | None:
    """Two variables, and few enough bars to read."""
    if two_variables(shown) is None and shown.marks > MOST_BARS:
        return Misfit(
            message("it would have {marks} bars, and {most} can be read.", marks=shown.marks, most=MOST_BARS),
            message("Filter or group a variable, or take the chart heat_map."),
        )
    return two_variables(shown)


CHART = Chart("grouped", message("Grouped bars"), "two variables", misfit, draw, LINES, place=40)
