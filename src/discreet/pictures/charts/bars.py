"""Bars: one variable, each bar from zero, with the interval of the true number as a line over it."""

from __future__ import annotations

from typing import Any

from discreet.model.messages.text import message
from discreet.pictures.chart_data import MOST_CATEGORIES, Axis, ChartData
from discreet.pictures.charts import Chart, Misfit

#: What is drawn over the bars, in words.
LINES = message("Lines")
#: Cells without a number that could have one: not those that cannot occur.
WITHHELD = "!isValid(datum._value) && datum._mark != '[z]'"


def draw(shown: ChartData) -> Any:
    """One bar per category."""
    from discreet.pictures.library import alt

    (axis,) = shown.axes
    base = alt.Chart(alt.InlineData(values=shown.records)).encode(y=side(axis))
    return with_intervals(base, shown, alt.value(shown.look.series[0])).properties(
        width=460, height=alt.Step(24)
    )


def side(axis: Axis) -> Any:
    """The categories down the side, in their order."""
    from discreet.pictures.library import alt

    return alt.Y(f"{axis.name}:N").sort(list(axis.labels)).title(axis.label).axis(labelLimit=220)


def length(shown: ChartData) -> Any:
    """The numbers along the bottom, zero included."""
    from discreet.pictures.library import alt

    axis = alt.Axis(format=shown.value_format, tickCount=5, grid=True)
    return alt.X("_value:Q").title(shown.value_title).axis(axis).scale(zero=True)


def with_intervals(base: Any, shown: ChartData, colour: Any, offset: Any = None) -> Any:
    """Bars from zero, the intervals over them, and marks where a cell has a status.

    Args:
        base: The data and the side.
        shown: The chart data.
        colour: Of the bars.
        offset: Of grouped bars.
    """
    beside = {} if offset is None else {"yOffset": offset}
    chart = base.mark_bar().encode(x=length(shown), color=colour, description="_said:N", **beside)
    if shown.has_limits:
        for ink, width in ((shown.look.ground, 4.0), (shown.look.ink, 1.4)):  # a dark bar hides no line
            rule = base.mark_rule(color=ink, strokeWidth=width, aria=False)
            chart += rule.encode(x="_low:Q", x2="_high:Q", **beside)
    return chart + status_marks(base, shown, beside)


def status_marks(base: Any, shown: ChartData, beside: dict[str, Any]) -> Any:
    """The letter of a status at the end of its bar, or at zero."""
    ends = base.transform_filter("datum._mark != ''").transform_calculate(
        _end="isValid(datum._value) ? max(datum._value, isValid(datum._high) ? datum._high : 0, 0) : 0"
    )
    words = ends.mark_text(align="left", dx=5, fontSize=11, color=shown.look.soft)
    return words.encode(x="_end:Q", text="_mark:N", description="_said:N", **beside)


def misfit(shown: ChartData) -> Misfit | None:
    """One variable, with few enough categories to read."""
    if len(shown.axes) != 1:
        return Misfit(
            message("bars show one variable, and it has {count}.", count=len(shown.axes)),
            message("Take the chart grouped or multiples."),
        )
    return too_many(shown.axes[0])


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


CHART = Chart("bars", message("Bars"), "one variable", misfit, draw, LINES, place=30)
