"""Small multiples: one panel of bars per category of a third variable, all on one scale.

The variable of the layers makes the panels; without layers the last of the table does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet.model.messages.text import message
from discreet.pictures.chart_data import Axis, ChartData
from discreet.pictures.charts import Chart, Misfit
from discreet.pictures.charts.bars import LINES, length, side, too_many
from discreet.pictures.charts.grouped import colour, side_and_colour, two_variables

MOST_PANELS = 12
#: More bars than this in all panels cannot be read.
MOST_BARS = 600


def draw(shown: ChartData) -> Any:
    """A panel a category, three in a row."""
    from discreet.pictures.library import alt

    panels, inner = _split(shown)
    base = alt.Chart(alt.InlineData(values=shown.records))
    if len(inner) == 1:
        (down,), beside = inner, {}
        ink = alt.value(shown.look.series[0])
    else:
        down, across = side_and_colour(inner)
        ink = colour(across, shown)
        beside = {"yOffset": alt.YOffset(f"{across.name}:N").sort(list(across.labels))}
    base = base.encode(y=side(down).axis(labelLimit=190))
    chart = base.mark_bar().encode(
        x=length(shown).axis(format=shown.value_format, tickCount=2),
        color=ink,
        description="_said:N",
        **beside,
    )
    if shown.has_limits:
        rule = base.mark_rule(color=shown.look.ink, strokeWidth=1.2, aria=False)
        chart += rule.encode(x="_low:Q", x2="_high:Q", **beside)
    words = base.transform_filter("datum._mark != ''").mark_text(
        align="left", dx=4, fontSize=10, color=shown.look.soft
    )
    chart += words.encode(x=alt.XDatum(0), text="_mark:N", description="_said:N", **beside)
    step = alt.Step(10, **{"for": "offset"}) if beside else alt.Step(16)
    header = alt.Header(labelLimit=185, title=None)
    facet = alt.Facet(f"{panels.name}:N").sort(list(panels.labels)).header(header)
    return chart.properties(width=170, height=step).facet(facet, columns=3)


def _split(shown: ChartData) -> tuple[Axis, tuple[Axis, ...]]:
    *inner, panels = shown.axes
    return panels, tuple(inner)


def misfit(shown: ChartData) -> Misfit | None:
    """Two or three variables; few panels, and in each what bars can show."""
    if len(shown.axes) not in {2, 3}:
        return Misfit(
            message("multiples show two or three variables, and it has {count}.", count=len(shown.axes)),
            message("Filter on the others."),
        )
    panels, inner = _split(shown)
    if len(panels) > MOST_PANELS or shown.marks > MOST_BARS:
        return Misfit(
            message(
                "it would have {panels:,} panels and {marks:,} bars; {most_panels} and {most} can be read.",
                panels=len(panels),
                marks=shown.marks,
                most_panels=MOST_PANELS,
                most=MOST_BARS,
            ),
            message("Filter or group a variable, or put one of fewer categories in the layers."),
        )
    return too_many(inner[0]) if len(inner) == 1 else two_variables(replace(shown, axes=inner))


CHART = Chart(
    "multiples", message("Small multiples"), "two or three variables", misfit, draw, LINES, place=80
)
