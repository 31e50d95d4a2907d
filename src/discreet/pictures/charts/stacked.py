"""Stacked bars: two variables; the categories of one are parts of a bar.

Negative parts cannot be stacked and are refused. A withheld part makes a bar too short: its letter is at the end.
"""

from __future__ import annotations

from typing import Any

from discreet.model.messages.text import message
from discreet.pictures.chart_data import ChartData
from discreet.pictures.charts import Chart, Misfit
from discreet.pictures.charts.bars import WITHHELD, length, side
from discreet.pictures.charts.grouped import colour, side_and_colour, two_variables


def draw(shown: ChartData) -> Any:
    """Parts of one bar, in the order of their variable."""
    from discreet.pictures.library import alt

    down, across = side_and_colour(shown.axes)
    records = [record | {"_order": across.labels.index(record[across.name])} for record in shown.records]
    base = alt.Chart(alt.InlineData(values=records)).encode(y=side(down))
    bars = (
        base.transform_filter("isValid(datum._value)")
        .mark_bar(stroke=shown.look.ground, strokeWidth=0.7)
        .encode(
            x=length(shown).stack("zero"),
            color=colour(across, shown),
            order="_order:Q",
            description="_said:N",
        )
    )
    missing = base.transform_joinaggregate(_end="sum(_value)", groupby=[down.name]).transform_filter(WITHHELD)
    words = missing.mark_text(align="left", dx=5, fontSize=11, color=shown.look.soft)
    marks = words.encode(x="_end:Q", text="_mark:N", description="_said:N")
    return (bars + marks).properties(width=460, height=alt.Step(24))


def misfit(shown: ChartData) -> Misfit | None:
    """Two variables, and no part below zero."""
    if two_variables(shown) is None and shown.negative:
        return Misfit(
            message("a number is below zero, as noise makes it, and cannot be a part of a bar."),
            message("Take the chart grouped or dots."),
        )
    return two_variables(shown)


CHART = Chart(
    "stacked", message("Stacked bars"), "two variables, no number below zero", misfit, draw, place=60
)
