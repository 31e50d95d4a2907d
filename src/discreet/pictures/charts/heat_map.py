"""A heat map: two variables as rows and columns, the numbers as colours of a few classes that the noise allows.

Cells that are wide enough show their number; one without a number is grey and has its mark.
"""

from discreet.model.messages.text import message
from discreet.pictures.chart_data import ChartData, chart_classes
from discreet.pictures.charts import Chart, Misfit
from discreet.pictures.charts.bars import mark_attributes
from discreet.pictures.svg import SMALL, Attributes, Pen, Piece, element, shorten, stack, text_width

#: Rows and columns; more cannot be read.
MOST_ROWS, MOST_COLUMNS = 60, 40
#: Up to so many columns a cell is wide enough for its number.
MOST_TEXTS = 12
#: The class of cells without a number.
NO_NUMBER = message("no number")
_ROW, _LONGEST = 24.0, 200.0


def draw(shown: ChartData) -> Piece:
    """One rectangle per cell."""
    rows, columns = shown.axes
    classes, pen = chart_classes(shown), Pen(shown.look)
    with_text = len(columns) <= MOST_TEXTS
    wide = 62.0 if with_text else 19.0
    left = min(_LONGEST, max(map(text_width, [rows.label, *rows.labels]))) + 10
    longest = max(text_width(label, SMALL) for label in columns.labels)
    sloping = longest > wide - 4
    top = (min(longest, 150.0) * 0.75 if sloping else 0.0) + 40
    parts = [
        pen.text(left, 12, columns.label, "ink"),
        pen.text(left - 10, top - 8, shorten(rows.label, _LONGEST), "ink", anchor="end"),
    ]
    for place, label in enumerate(columns.labels):
        x, text = left + (place + 0.5) * wide, shorten(label, 150, SMALL)
        turn: Attributes = (
            {"transform": f"rotate(-45 {x:.6g} {top - 8:.6g})"} if sloping else {"anchor": "middle"}
        )
        parts.append(pen.text(x, top - 8, text, size=SMALL, **turn))
    for place, label in enumerate(rows.labels):
        text = shorten(label, _LONGEST)
        parts.append(pen.text(left - 10, top + (place + 0.5) * _ROW + 4, text, "ink", anchor="end"))
    for record in shown.records:
        x = left + columns.labels.index(record[columns.name]) * wide
        y = top + rows.labels.index(record[rows.name]) * _ROW
        role = classes.roles[classes.of(record["_value"])] if "_value" in record else "absent"
        box = {"x": x, "y": y, "width": wide - 1, "height": _ROW - 1}
        parts.append(element("rect", **mark_attributes(record), **pen.fill(role), **box))
        if with_text:
            text = shown.number(record["_value"]) if "_value" in record else ""
            text += record["_mark"] * (record["_mark"] != "[z]")
            ink = "ground" if role in {"m4", "m5"} else "ink"
            middle: Attributes = {
                "size": SMALL,
                "anchor": "middle",
                "aria_hidden": "true",
                "pointer_events": "none",
            }
            parts.append(pen.text(x + wide / 2, y + _ROW / 2 + 4, text, ink, **middle))
    tail = longest * 0.75 if sloping else 0
    chart = Piece("".join(parts), left + wide * len(columns) + tail, top + _ROW * len(rows) + 6)
    return stack([chart, class_legend(shown, 560)], 10)


def class_legend(shown: ChartData, width: float) -> Piece:
    """The classes and their colours; "no number" only where it occurs."""
    title = shown.value_title
    if not chart_classes(shown).limits:
        title += f": {shown.tell(message('all differences are within the noise'))}"
    entries = [(role, label) for role, label, _ in class_entries(shown)]
    return Pen(shown.look).legend(title, entries, width)


def class_entries(shown: ChartData) -> list[tuple[str, str, int]]:
    """The role, the label and the number of cells of each class."""
    classes = chart_classes(shown)
    places = [classes.of(record["_value"]) for record in shown.records if "_value" in record]
    named = zip(classes.roles, classes.labels, strict=True)
    entries = [(role, shown.tell(label), places.count(at)) for at, (role, label) in enumerate(named)]
    missing = len(shown.records) - len(places)
    return [*entries, *([("absent", shown.tell(NO_NUMBER), missing)] if missing else [])]


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
