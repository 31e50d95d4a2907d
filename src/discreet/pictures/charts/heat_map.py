"""A heat map: two variables as rows and columns, the numbers as colours of a few classes that the noise allows.

Cells that are wide enough show their number; one without a number is grey and has its mark.
"""

from typing import Any

from discreet.model.messages.text import message
from discreet.pictures.chart_data import ChartData, Classes, chart_classes, number_text
from discreet.pictures.charts import Chart, Misfit
from discreet.pictures.charts.bars import side
from discreet.pictures.library import alt
from discreet.pictures.theme import CLASSES

#: Rows and columns; more cannot be read.
MOST_ROWS, MOST_COLUMNS = 60, 40
#: Up to so many columns a cell is wide enough for its number.
MOST_TEXTS = 12
#: Colours of classes on which words are light.
DARK = CLASSES[3:]
_ON_LIGHT, _ON_DARK = "#101418", "#FAFBFC"


def draw(shown: ChartData) -> Any:
    """One rectangle per cell."""
    rows, columns = shown.axes
    classes = chart_classes(shown)
    with_text = len(columns) <= MOST_TEXTS
    records = [_colour_record(record, classes, shown) for record in shown.records]
    angle = 0 if with_text and max(map(len, columns.labels)) <= 8 else -45
    x = alt.X(f"{columns.name}:N").sort(list(columns.labels)).title(columns.label)
    x = x.axis(orient="top", labelAngle=angle, labelLimit=160)
    base = alt.Chart(alt.InlineData(values=records)).encode(y=side(rows), x=x)
    chart = base.mark_rect(stroke=shown.look.ground, strokeWidth=1).encode(
        color=class_colour(classes, shown), description="_said:N"
    )
    if with_text:
        words = base.mark_text(fontSize=11, aria=False).encode(
            text="_text:N", color=alt.Color("_ink:N").scale(None).legend(None)
        )
        chart = alt.layer(chart, words).resolve_scale(color="independent")
    return chart.properties(width=alt.Step(58 if with_text else 18), height=alt.Step(22))


def _colour_record(record: dict[str, Any], classes: Classes, shown: ChartData) -> dict[str, Any]:
    if "_value" not in record:
        return record | {"_class": shown.tell(NO_NUMBER), "_text": record["_mark"], "_ink": shown.look.ink}
    number = classes.of(record["_value"])
    ink = _ON_DARK if classes.colours[number] in DARK else _ON_LIGHT
    text = number_text(record["_value"]) + record["_mark"]
    return record | {"_class": shown.tell(classes.labels[number]), "_text": text, "_ink": ink}


#: The class of cells without a number.
NO_NUMBER = message("no number")


def class_colour(classes: Classes, shown: ChartData) -> Any:
    """Classes as colours, with a legend; the class "no number" only where it occurs."""
    missing = any("_value" not in record for record in shown.records)
    domain = [shown.tell(label) for label in (*classes.labels, *([NO_NUMBER] * missing))]
    colours = [*classes.colours, *([shown.look.absent] * missing)]
    legend = alt.Legend(
        symbolType="square", symbolStrokeColor=shown.look.domain, symbolStrokeWidth=0.8, labelLimit=220
    )
    title: str | list[str] = shown.value_title
    if not classes.limits:
        title = [shown.value_title, shown.tell(message("all differences are within the noise"))]
    return alt.Color("_class:N").title(title).sort(domain).scale(domain=domain, range=colours).legend(legend)


def misfit(shown: ChartData) -> Misfit | None:
    """Two variables, and few enough rows and columns to read."""
    if len(shown.axes) != 2:
        return Misfit(
            message("a heat map shows two variables, and it has {count}.", count=len(shown.axes)),
            message("Show two variables."),
        )
    rows, columns = map(len, shown.axes)
    if rows > MOST_ROWS or columns > MOST_COLUMNS:
        return Misfit(
            message(
                "{rows:,} rows and {columns:,} columns are more than the {most_rows} and {most_columns} that can be read.",
                rows=rows,
                columns=columns,
                most_rows=MOST_ROWS,
                most_columns=MOST_COLUMNS,
            ),
            message("Take the largest (top=20), filter, group, or show a coarser level."),
        )
    return None


CHART = Chart("heat_map", message("Heat map"), "two variables of many categories", misfit, draw, place=70)
