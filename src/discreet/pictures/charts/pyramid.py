"""A population pyramid: a numeric variable, such as age, down the middle; two categories, such as sex, to its sides."""

from __future__ import annotations

from typing import Any

from discreet.model.messages.text import message
from discreet.pictures.chart_data import Axis, ChartData
from discreet.pictures.charts import Chart, Misfit
from discreet.pictures.charts.bars import LINES, too_many


def draw(shown: ChartData) -> Any:
    """The first category to the left, the second to the right, the youngest at the bottom."""
    from discreet.pictures.library import alt

    along, across = _split(shown)
    largest = max((r.get("_high", r["_value"]) for r in shown.records if "_value" in r), default=1)
    left, right = (
        _half(shown, along, across, number, max(largest, 1), axis=number == 0) for number in (0, 1)
    )
    return alt.hconcat(left, right, spacing=6)


def _half(shown: ChartData, along: Axis, across: Axis, number: int, largest: float, *, axis: bool) -> Any:
    from discreet.pictures.library import alt

    label = across.labels[number]
    records = [record for record in shown.records if record[across.name] == label]
    bottom_up = list(reversed(along.labels))
    words = alt.Axis(labelLimit=160, orient="left", domain=False, ticks=False) if axis else None
    side = alt.Y(f"{along.name}:N").sort(bottom_up).title(along.label if axis else None).axis(words)
    base = alt.Chart(alt.InlineData(values=records)).encode(y=side)
    scale = alt.Scale(domain=[0, largest], reverse=number == 0, zero=True, nice=True)
    length = alt.X("_value:Q").title(label).scale(scale)
    length = length.axis(format=shown.value_format, tickCount=4, grid=True)
    chart = base.mark_bar(color=shown.look.series[number]).encode(x=length, description="_said:N")
    if shown.has_limits:
        for ink, width in ((shown.look.ground, 4.0), (shown.look.ink, 1.4)):
            chart += base.mark_rule(color=ink, strokeWidth=width, aria=False).encode(x="_low:Q", x2="_high:Q")
    marked = base.transform_filter("datum._mark != ''").mark_text(
        fontSize=11, dx=-10 if number == 0 else 10, color=shown.look.soft
    )
    chart += marked.encode(x=alt.XDatum(0), text="_mark:N", description="_said:N")
    return chart.properties(width=230, height=alt.Step(18))


def _split(shown: ChartData) -> tuple[Axis, Axis]:
    along = next(axis for axis in shown.axes if axis.ordered)
    return along, next(axis for axis in shown.axes if axis is not along)


def misfit(shown: ChartData) -> Misfit | None:
    """A variable of numbers and one of two categories; nothing below zero."""
    if len(shown.axes) != 2 or not any(axis.ordered for axis in shown.axes) or len(_split(shown)[1]) != 2:
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
    return too_many(_split(shown)[0])


CHART = Chart("pyramid", message("Population pyramid"), "age and sex", misfit, draw, LINES, place=10)
