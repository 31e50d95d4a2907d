"""Lines over a numeric variable, such as age or year, one per category in colours.

The interval of the true number is a band around its line. A cell without a number is a gap. Zero is on the scale.
"""

from discreet.model.messages.text import message
from discreet.pictures.chart_data import ChartData
from discreet.pictures.charts import Chart, Misfit
from discreet.pictures.charts.bars import (
    BANDS,
    MOST_COLOURS,
    Record,
    colour_legend,
    is_withheld,
    mark_attributes,
    scale_of,
)
from discreet.pictures.svg import SMALL, Attributes, Pen, Piece, element, shorten, stack, text_width

_HEIGHT, _STEP = 280.0, 24.0


def _lines(shown: ChartData) -> Piece:
    """Bands below, then lines, then a point for each number."""
    along, others = shown.along()
    across, pen = (others[0] if others else None), Pen(shown.look)
    width = max(420.0, _STEP * len(along))
    scale, step = scale_of(shown, _HEIGHT), width / len(along)
    x_of = {label: (place + 0.5) * step for place, label in enumerate(along.labels)}
    bands, lines, points = [], [], []
    for number, label in enumerate(across.labels if across else [""]):
        role = f"s{number + 1}"
        records = [record for record in shown.records if across is None or record[across.name] == label]
        records.sort(key=lambda record: along.labels.index(record[along.name]))
        for run in _runs(records):
            at = [(x_of[record[along.name]], record) for record in run]
            if all("_low" in record for record in run):
                upper = [(x, scale(record["_high"])) for x, record in at]
                lower = [(x, scale(record["_low"])) for x, record in reversed(at)]
                edge = _path([(x, _HEIGHT - y) for x, y in upper + lower])
                bands.append(element("path", **pen.fill(role), opacity=0.25, d=edge + "z"))
            way = _path([(x, _HEIGHT - scale(record["_value"])) for x, record in at])
            lines.append(pen.line(way, role, 2.0, data_line=label))
        for record in records:
            x = x_of[record[along.name]]
            if "_value" in record:
                at_point = {"cx": x, "cy": _HEIGHT - scale(record["_value"]), "r": 3.2}
                points.append(element("circle", **mark_attributes(record), **pen.fill(role), **at_point))
            elif is_withheld(record):
                words: Attributes = {"size": SMALL, "anchor": "middle", **mark_attributes(record)}
                points.append(pen.text(x, _HEIGHT - 6, record["_mark"], **words))
    grid = [pen.line(f"M0,{_HEIGHT - scale(value):.2f}h{width:.6g}", "grid") for value in scale.marks]
    names = [shown.number(value) for value in scale.marks]
    left = max(text_width(name, SMALL) for name in names) + 12
    side = [
        pen.text(-8, _HEIGHT - scale(value) + 4, name, size=SMALL, anchor="end")
        for value, name in zip(scale.marks, names, strict=True)
    ]
    longest = max(text_width(label, SMALL) for label in along.labels)
    sloping = longest > step - 4
    below = [_along_label(pen, x, label, sloping=sloping) for label, x in x_of.items()]
    depth = min(longest * 0.75, 110.0) + 16 if sloping else 24.0
    title = pen.text(width / 2, _HEIGHT + depth + 12, shorten(along.label, width), "ink", anchor="middle")
    plot = Piece("".join([*grid, *side, *below, title, *bands, *lines, *points]), 0, 0).at(left, 6)
    chart = Piece(plot, left + width + 12, _HEIGHT + depth + 26)
    heading = Piece(pen.text(0, 12, shown.value_title, "ink"), text_width(shown.value_title), 18)
    return stack([colour_legend(shown, across, width), heading, chart], 4)


def _runs(records: list[Record]) -> list[list[Record]]:
    """Neighbours that have numbers."""
    runs: list[list[Record]] = [[]]
    for record in records:
        if "_value" in record:
            runs[-1].append(record)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def _path(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.2f},{y:.2f}" for x, y in points)


def _along_label(pen: Pen, x: float, label: str, *, sloping: bool) -> str:
    text = shorten(label, 150, SMALL)
    if not sloping:
        return pen.text(x, _HEIGHT + 16, text, size=SMALL, anchor="middle")
    turn = f"rotate(-45 {x:.2f} {_HEIGHT + 12:.6g})"
    return pen.text(x, _HEIGHT + 14, text, size=SMALL, anchor="end", transform=turn)


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
            message("more than {most} lines cannot be told apart.", most=MOST_COLOURS),
            message("Filter or group the other variable."),
        )
    return None


CHART = Chart(
    "lines", message("Lines"), "a variable of numbers, such as age", _lines_misfit, _lines, BANDS, place=50
)
