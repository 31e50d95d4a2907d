"""Lines over a numeric variable, such as age or year; one line, or one per category in colours.

The band is the interval of each true number. A cell without a number is a gap in the line.
"""

from __future__ import annotations

from typing import Any

from discreet.model.messages.text import message
from discreet.pictures.chart_data import Axis, ChartData
from discreet.pictures.charts import Chart, Misfit
from discreet.pictures.charts.bars import WITHHELD
from discreet.pictures.charts.grouped import MOST_COLOURS, colour


def draw(shown: ChartData) -> Any:
    """One line a category; zero is on the scale."""
    from discreet.pictures.library import alt

    along, others = _split(shown)
    inks = [colour(axis, shown) for axis in others] or [alt.value(shown.look.series[0])]
    base = alt.Chart(alt.InlineData(values=shown.records)).encode(
        x=alt.X(f"{along.name}:N").sort(list(along.labels)).title(along.label).axis(labelAngle=-45),
        color=inks[0],
    )
    number = alt.Y("_value:Q").title(shown.value_title).scale(zero=True)
    number = number.axis(format=shown.value_format, grid=True, tickCount=6)
    chart = base.mark_line(strokeWidth=2, aria=False, invalid="break-paths-show-path-domains").encode(
        y=number
    )
    if shown.has_limits:
        lines = base.mark_rule(strokeWidth=5, opacity=0.35, aria=False).encode(y="_low:Q", y2="_high:Q")
        chart = lines + chart
    points = base.mark_point(filled=True, size=36, opacity=1).encode(y=number, description="_said:N")
    gaps = base.transform_filter(WITHHELD).mark_text(dy=-8, fontSize=11, color=shown.look.soft)
    marks = gaps.encode(
        y=alt.YDatum(0), text="_mark:N", description="_said:N", color=alt.value(shown.look.soft)
    )
    return (chart + points + marks).properties(width=max(360, 22 * len(along)), height=300)


def _split(shown: ChartData) -> tuple[Axis, list[Axis]]:
    along = next(axis for axis in shown.axes if axis.ordered)
    return along, [axis for axis in shown.axes if axis is not along]


def misfit(shown: ChartData) -> Misfit | None:
    """A numeric variable, and at most one of few categories."""
    if not 1 <= len(shown.axes) <= 2:
        return Misfit(
            message("lines show one or two variables, and it has {count}.", count=len(shown.axes)),
            message("Take the chart multiples."),
        )
    if not any(axis.ordered for axis in shown.axes):
        return Misfit(
            message(
                "none of its variables has numbers for categories, such as age or year, in rising order."
            ),
            message("Take bars or dots: a line between categories without an order would mean nothing."),
        )
    if any(len(axis) > MOST_COLOURS for axis in _split(shown)[1]):
        return Misfit(
            message("more than {most} lines cannot be told apart.", most=MOST_COLOURS),
            message("Filter or group the other variable."),
        )
    return None


CHART = Chart(
    "lines", message("Lines"), "a variable of numbers, such as age", misfit, draw, message("Bands"), place=50
)
