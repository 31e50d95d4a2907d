"""Bars from zero: of one variable, grouped, stacked, as a population pyramid, and in small multiples.

The interval of the true number is a line over its bar. Stacked parts cannot be negative, and have no intervals: a withheld
part makes a bar too short, and its letter is at the end. A pyramid has a numeric variable, such as age, down the middle, and
two categories, such as sex, to its sides. Small multiples have a panel per category of the last variable, all on one scale.
"""

from dataclasses import replace
from typing import Any

from discreet.model.messages.text import message
from discreet.pictures.chart_data import MOST_CATEGORIES, Axis, ChartData
from discreet.pictures.charts import Chart, Misfit
from discreet.pictures.library import alt

#: What is drawn over the bars, in words.
LINES = message("Lines")
#: Cells without a number that could have one: not those that cannot occur.
WITHHELD = "!isValid(datum._value) && datum._mark != '[z]'"
#: More colours than this cannot be told apart; more bars than this, also in panels, cannot be read.
MOST_COLOURS, MOST_BARS, MOST_PANELS, MOST_BARS_OF_PANELS = 6, 160, 12, 600


def side(axis: Axis) -> Any:
    """The categories down the side, in their order."""
    return alt.Y(f"{axis.name}:N").sort(list(axis.labels)).title(axis.label).axis(labelLimit=220)


def length(shown: ChartData) -> Any:
    """The numbers along the bottom, zero included."""
    axis = alt.Axis(format=shown.value_format, tickCount=5, grid=True)
    return alt.X("_value:Q").title(shown.value_title).axis(axis).scale(zero=True)


def side_and_colour(axes: tuple[Axis, ...]) -> tuple[Axis, Axis]:
    """The variable down the side and the variable in colours: the one with few enough categories."""
    first, second = axes[:2]
    return (first, second) if len(second) <= MOST_COLOURS else (second, first)


def colour(axis: Axis, shown: ChartData) -> Any:
    """The categories as colours, with a legend above."""
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


def offset(across: Axis) -> dict[str, Any]:
    """The encoding that sets the categories of a variable side by side."""
    return {"yOffset": alt.YOffset(f"{across.name}:N").sort(list(across.labels))}


def _intervals(base: Any, shown: ChartData, beside: dict[str, Any]) -> list[Any]:
    """The intervals over bars, on a ground that keeps them visible on a dark bar."""
    pens = ((shown.look.ground, 4.0), (shown.look.ink, 1.4)) if shown.has_limits else ()
    rules = [base.mark_rule(color=ink, strokeWidth=width, aria=False) for ink, width in pens]
    return [rule.encode(x="_low:Q", x2="_high:Q", **beside) for rule in rules]


def _with_intervals(base: Any, shown: ChartData, ink: Any, beside: dict[str, Any]) -> Any:
    """Bars from zero, their intervals, and the letter of a status at the end of its bar, or at zero."""
    chart = base.mark_bar().encode(x=length(shown), color=ink, description="_said:N", **beside)
    for rule in _intervals(base, shown, beside):
        chart += rule
    ends = base.transform_filter("datum._mark != ''").transform_calculate(
        _end="isValid(datum._value) ? max(datum._value, isValid(datum._high) ? datum._high : 0, 0) : 0"
    )
    words = ends.mark_text(align="left", dx=5, fontSize=11, color=shown.look.soft)
    return chart + words.encode(x="_end:Q", text="_mark:N", description="_said:N", **beside)


def _bars(shown: ChartData) -> Any:
    base = alt.Chart(alt.InlineData(values=shown.records)).encode(y=side(shown.axes[0]))
    chart = _with_intervals(base, shown, alt.value(shown.look.series[0]), {})
    return chart.properties(width=460, height=alt.Step(24))


def _grouped(shown: ChartData) -> Any:
    down, across = side_and_colour(shown.axes)
    base = alt.Chart(alt.InlineData(values=shown.records)).encode(y=side(down))
    chart = _with_intervals(base, shown, colour(across, shown), offset(across))
    return chart.properties(width=460, height=alt.Step(14, **{"for": "offset"}))


def _stacked(shown: ChartData) -> Any:
    down, across = side_and_colour(shown.axes)
    records = [record | {"_order": across.labels.index(record[across.name])} for record in shown.records]
    base = alt.Chart(alt.InlineData(values=records)).encode(y=side(down))
    parts = base.transform_filter("isValid(datum._value)").mark_bar(stroke=shown.look.ground, strokeWidth=0.7)
    bars = parts.encode(
        x=length(shown).stack("zero"), color=colour(across, shown), order="_order:Q", description="_said:N"
    )
    missing = base.transform_joinaggregate(_end="sum(_value)", groupby=[down.name]).transform_filter(WITHHELD)
    words = missing.mark_text(align="left", dx=5, fontSize=11, color=shown.look.soft)
    marks = words.encode(x="_end:Q", text="_mark:N", description="_said:N")
    return (bars + marks).properties(width=460, height=alt.Step(24))


def _pyramid(shown: ChartData) -> Any:
    """The first category to the left, the second to the right, the youngest at the bottom."""
    along, others = shown.along()
    largest = max((r.get("_high", r["_value"]) for r in shown.records if "_value" in r), default=1)
    left, right = (_half(shown, along, others[0], number, max(largest, 1)) for number in (0, 1))
    return alt.hconcat(left, right, spacing=6)


def _half(shown: ChartData, along: Axis, across: Axis, number: int, largest: float) -> Any:
    left, label = number == 0, across.labels[number]
    records = [record for record in shown.records if record[across.name] == label]
    words = alt.Axis(labelLimit=160, orient="left", domain=False, ticks=False) if left else None
    ages = alt.Y(f"{along.name}:N").sort(along.labels[::-1]).title(along.label if left else None).axis(words)
    base = alt.Chart(alt.InlineData(values=records)).encode(y=ages)
    scale = alt.Scale(domain=[0, largest], reverse=left, zero=True, nice=True)
    people = alt.X("_value:Q").title(label).scale(scale)
    people = people.axis(format=shown.value_format, tickCount=4, grid=True)
    chart = base.mark_bar(color=shown.look.series[number]).encode(x=people, description="_said:N")
    for rule in _intervals(base, shown, {}):
        chart += rule
    marked = base.transform_filter("datum._mark != ''").mark_text(
        fontSize=11, dx=-10 if left else 10, color=shown.look.soft
    )
    chart += marked.encode(x=alt.XDatum(0), text="_mark:N", description="_said:N")
    return chart.properties(width=230, height=alt.Step(18))


def _multiples(shown: ChartData) -> Any:
    """Three panels in a row."""
    *inner, panels = shown.axes
    down, ink, step = inner[0], alt.value(shown.look.series[0]), alt.Step(16)
    beside: dict[str, Any] = {}
    if len(inner) == 2:
        down, across = side_and_colour(tuple(inner))
        ink, beside, step = colour(across, shown), offset(across), alt.Step(10, **{"for": "offset"})
    base = alt.Chart(alt.InlineData(values=shown.records)).encode(y=side(down).axis(labelLimit=190))
    number = length(shown).axis(format=shown.value_format, tickCount=2)
    chart = base.mark_bar().encode(x=number, color=ink, description="_said:N", **beside)
    if shown.has_limits:
        rule = base.mark_rule(color=shown.look.ink, strokeWidth=1.2, aria=False)
        chart += rule.encode(x="_low:Q", x2="_high:Q", **beside)
    words = base.transform_filter("datum._mark != ''").mark_text(
        align="left", dx=4, fontSize=10, color=shown.look.soft
    )
    chart += words.encode(x=alt.XDatum(0), text="_mark:N", description="_said:N", **beside)
    header = alt.Header(labelLimit=185, title=None)
    facet = alt.Facet(f"{panels.name}:N").sort(list(panels.labels)).header(header)
    return chart.properties(width=170, height=step).facet(facet, columns=3)


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
                "both variables have more than {most} categories, and no more colours can be distinguished.",
                most=MOST_COLOURS,
            ),
            message("Filter or group one of them, or take the chart heat_map."),
        )
    return too_many(side_and_colour(shown.axes)[0])


def _bars_misfit(shown: ChartData) -> Misfit | None:
    if len(shown.axes) != 1:
        return Misfit(
            message("bars show one variable, and it has {count}.", count=len(shown.axes)),
            message("Take the chart grouped or multiples."),
        )
    return too_many(shown.axes[0])


def _grouped_misfit(shown: ChartData) -> Misfit | None:
    if two_variables(shown) is None and shown.marks > MOST_BARS:
        return Misfit(
            message("it would have {marks} bars, and {most} can be read.", marks=shown.marks, most=MOST_BARS),
            message("Filter or group a variable, or take the chart heat_map."),
        )
    return two_variables(shown)


def _stacked_misfit(shown: ChartData) -> Misfit | None:
    if two_variables(shown) is None and shown.negative:
        return Misfit(
            message("a number is below zero, as noise makes it, and cannot be a part of a bar."),
            message("Take the chart grouped or dots."),
        )
    return two_variables(shown)


def _pyramid_misfit(shown: ChartData) -> Misfit | None:
    ordered = [axis for axis in shown.axes if axis.ordered]
    if len(shown.axes) != 2 or not ordered or len(shown.along()[1][0]) != 2:
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
    return too_many(ordered[0])


def _multiples_misfit(shown: ChartData) -> Misfit | None:
    if len(shown.axes) not in {2, 3}:
        return Misfit(
            message("multiples show two or three variables, and it has {count}.", count=len(shown.axes)),
            message("Filter on the others."),
        )
    *inner, panels = shown.axes
    if len(panels) > MOST_PANELS or shown.marks > MOST_BARS_OF_PANELS:
        return Misfit(
            message(
                "it would have {panels:,} panels and {marks:,} bars; {most_panels} and {most} can be read.",
                panels=len(panels),
                marks=shown.marks,
                most_panels=MOST_PANELS,
                most=MOST_BARS_OF_PANELS,
            ),
            message("Filter or group a variable, or put one of fewer categories in the layers."),
        )
    return too_many(inner[0]) if len(inner) == 1 else two_variables(replace(shown, axes=tuple(inner)))


CHART = (
    Chart("bars", message("Bars"), "one variable", _bars_misfit, _bars, LINES, place=30),
    Chart("grouped", message("Grouped bars"), "two variables", _grouped_misfit, _grouped, LINES, place=40),
    Chart(
        "stacked",
        message("Stacked bars"),
        "two variables, no number below zero",
        _stacked_misfit,
        _stacked,
        place=60,
    ),
    Chart(
        "pyramid", message("Population pyramid"), "age and sex", _pyramid_misfit, _pyramid, LINES, place=10
    ),
    Chart(
        "multiples",
        message("Small multiples"),
        "two or three variables",
        _multiples_misfit,
        _multiples,
        LINES,
        place=80,
    ),
)
