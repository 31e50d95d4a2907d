"""Lines over a numeric variable, and dots: each number with the interval of the true number as a band.

Lines run over age or year, one per category in colours; a cell without a number is a gap. Dots are refused where the noise
distribution is unknown: a dot without its band would look exact.
"""

from typing import Any

from discreet.model.messages.text import message
from discreet.pictures.chart_data import ChartData
from discreet.pictures.charts import Chart, Misfit
from discreet.pictures.charts.bars import (
    MOST_BARS,
    MOST_COLOURS,
    WITHHELD,
    colour,
    length,
    offset,
    side,
    side_and_colour,
    too_many,
    two_variables,
)
from discreet.pictures.library import alt

_BANDS = message("Bands")


def _lines(shown: ChartData) -> Any:
    """One line a category; zero is on the scale."""
    along, others = shown.along()
    inks = [colour(axis, shown) for axis in others] or [alt.value(shown.look.series[0])]
    base = alt.Chart(alt.InlineData(values=shown.records)).encode(
        x=alt.X(f"{along.name}:N").sort(list(along.labels)).title(along.label).axis(labelAngle=-45),
        color=inks[0],
    )
    number = alt.Y("_value:Q").title(shown.value_title).scale(zero=True)
    number = number.axis(format=shown.value_format, grid=True, tickCount=6)
    line = base.mark_line(strokeWidth=2, aria=False, invalid="break-paths-show-path-domains")
    chart = line.encode(y=number)
    if shown.has_limits:
        bands = base.mark_rule(strokeWidth=5, opacity=0.35, aria=False).encode(y="_low:Q", y2="_high:Q")
        chart = bands + chart
    points = base.mark_point(filled=True, size=36, opacity=1).encode(y=number, description="_said:N")
    soft = shown.look.soft
    gaps = base.transform_filter(WITHHELD).mark_text(dy=-8, fontSize=11, color=soft)
    marks = gaps.encode(y=alt.YDatum(0), text="_mark:N", description="_said:N", color=alt.value(soft))
    return (chart + points + marks).properties(width=max(360, 22 * len(along)), height=300)


def _lines_misfit(shown: ChartData) -> Misfit | None:
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
    if any(len(axis) > MOST_COLOURS for axis in shown.along()[1]):
        return Misfit(
            message("more than {most} lines cannot be distinguished.", most=MOST_COLOURS),
            message("Filter or group the other variable."),
        )
    return None


def _dots(shown: ChartData) -> Any:
    """A band and a dot a cell; the scale need not start at zero, since no length is compared."""
    ink, beside, step = alt.value(shown.look.series[0]), {}, alt.Step(22)
    down = shown.axes[0]
    if len(shown.axes) == 2:
        down, across = side_and_colour(shown.axes)
        ink, beside, step = colour(across, shown), offset(across), alt.Step(14, **{"for": "offset"})
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


def _dots_misfit(shown: ChartData) -> Misfit | None:
    if not shown.has_limits:
        return Misfit(
            message(
                "the uncertainty of its numbers is unknown: they were changed to add up, or are not counts with "
                "independent noise."
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


CHART = (
    Chart(
        "lines",
        message("Lines"),
        "a variable of numbers, such as age",
        _lines_misfit,
        _lines,
        _BANDS,
        place=50,
    ),
    Chart(
        "dots",
        message("Dots with noise bands"),
        "one or two variables",
        _dots_misfit,
        _dots,
        _BANDS,
        place=65,
    ),
)
