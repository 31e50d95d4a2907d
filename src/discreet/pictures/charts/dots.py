"""Dots with noise bands: each number as a dot, the interval of the true number as a band behind it.

It is refused where the noise distribution is unknown: a dot without its band would look exact.
"""

from __future__ import annotations

from typing import Any

from discreet.model.messages.text import message
from discreet.pictures.chart_data import ChartData
from discreet.pictures.charts import Chart, Misfit
from discreet.pictures.charts.bars import length, side, too_many
from discreet.pictures.charts.grouped import MOST_BARS, colour, side_and_colour, two_variables


def draw(shown: ChartData) -> Any:
    """A band and a dot a cell; the scale need not start at zero, since no length is compared."""
    from discreet.pictures.library import alt

    ink, beside, step = alt.value(shown.look.series[0]), {}, alt.Step(22)
    down = shown.axes[0]
    if len(shown.axes) == 2:
        down, across = side_and_colour(shown.axes)
        ink, step = colour(across, shown), alt.Step(14, **{"for": "offset"})
        beside = {"yOffset": alt.YOffset(f"{across.name}:N").sort(list(across.labels))}
    base = alt.Chart(alt.InlineData(values=shown.records)).encode(y=side(down), color=ink)
    number = length(shown).scale(zero=False, nice=True)
    bands = base.mark_rule(strokeWidth=7, opacity=0.4, aria=False).encode(x="_low:Q", x2="_high:Q", **beside)
    dots = base.mark_point(filled=True, size=42, opacity=1).encode(x=number, description="_said:N", **beside)
    chart = bands + dots
    for where, x in (
        ("isValid(datum._value) && datum._mark != ''", "_high:Q"),
        ("!isValid(datum._value)", alt.value(0)),
    ):
        words = base.transform_filter(where).mark_text(align="left", dx=5, fontSize=11)
        soft = alt.value(shown.look.soft)
        chart += words.encode(x=x, text="_mark:N", description="_said:N", color=soft, **beside)
    return chart.properties(width=460, height=step)


def misfit(shown: ChartData) -> Misfit | None:
    """One or two variables, and numbers with intervals."""
    if not shown.has_limits:
        return Misfit(
            message(
                "how sure its numbers are is not known: they were changed to add up, or are no counts with noise of their "
                "own."
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


CHART = Chart(
    "dots", message("Dots with noise bands"), "one or two variables", misfit, draw, message("Bands"), place=65
)
