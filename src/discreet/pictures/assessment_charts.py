"""Charts of an assessment: box plots by epsilon, the risk-utility map, small counts, conclusions.

Every function takes plain records, one per case (and measure), with the keys it names; nothing is computed here.

Source: Rinott et al. (2018), figures 1 to 3 (box plots); Shlomo, Krenzke & Li (2019), figure 1 (the map).
"""

import math
from collections.abc import Sequence
from typing import Any

from discreet.noise import families as registry
from discreet.pictures.library import alt
from discreet.pictures.theme import BLUE, INK, ORANGE, apply_theme

Record = dict[str, Any]

#: A family has its own colour; so has what a dataset uses today, and files take the spare ones.
_CURRENT = "#B3123F"
_SPARE = ("#4D7C8A", "#7A5C00", "#5B7F00")
#: Shapes beside the colours, for readers who see no colours.
_SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
_PERCENT = "~%"
#: With fewer round numbers a plain axis says more than a logarithmic one.
_FEWEST_TICKS = 3


def boxes(records: Sequence[Record], truths: Sequence[Record], subtitle: str) -> Any:
    """Box plots by epsilon, one panel per measure.

    Args:
        records: `measure`, `family`, `place` (the epsilon as text), `low`, `lower`, `median`, `upper`, `high`, and
            `scale`: "log", "plain" or "share".
        truths: `measure`, `value`: the value of the true table, where it has one.
        subtitle: The meaning of the boxes.
    """
    panels = []
    for measure in _in_order(records, "measure"):
        own, true = ([r for r in each if r["measure"] == measure] for each in (records, truths))
        panels.append(_box_panel(own, true, measure, records))
    chart = alt.concat(*panels, columns=2, spacing=34)
    return apply_theme(chart, "How the releases vary, by epsilon", subtitle)


def _box_panel(records: list[Record], truths: list[Record], measure: str, every: Sequence[Record]) -> Any:
    places, families = _in_order(every, "place"), _in_order(every, "family")
    width = max(6, min(13, 200 // max(1, len(places) * len(families))))
    x = alt.X("place:N", sort=places, scale=alt.Scale(paddingInner=0.25)).title("Epsilon")
    base = alt.Chart(alt.InlineData(values=records)).encode(
        x=x.axis(labelAngle=0, ticks=False),
        xOffset=alt.XOffset("family:N", sort=families),
        color=_colour(families),
    )
    scale, ticks = _box_scale(records, truths)
    axis = alt.Axis(values=ticks, format=",.6~g") if ticks else alt.Axis(tickCount=5, format=",.6~g")
    y = alt.Y("median:Q", scale=scale, axis=axis).title(None)
    ends = base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q", scale=scale).title(None), y2="high:Q")
    # The border keeps a narrow box visible.
    middle = base.mark_bar(size=width, strokeWidth=2).encode(
        y=alt.Y("lower:Q", scale=scale), y2="upper:Q", stroke=_colour(families).legend(None)
    )
    line = base.mark_tick(size=width, thickness=1.2).encode(y=y, color=alt.value("white"))
    marks = [ends, middle, line]
    if truths:
        rule = alt.Chart(alt.InlineData(values=truths)).mark_rule(
            color=INK, strokeDash=[5, 4], strokeWidth=1.5
        )
        marks.append(rule.encode(y=alt.Y("value:Q")))
    title = alt.Title(measure, fontSize=13, fontWeight=600, offset=8)
    return alt.layer(*marks).properties(width=330, height=170, title=title)


def _box_scale(records: list[Record], truths: list[Record]) -> tuple[Any, list[float]]:
    """Shares and p-values on a linear axis; unbounded measures on a logarithmic one, unless a value is zero."""
    values = [record[mark] for record in records for mark in ("low", "high")] + [t["value"] for t in truths]
    if records[0]["scale"] == "share":
        return alt.Scale(domain=[0, 1]), []
    if records[0]["scale"] == "log" and min(values) > 0:
        low, high = min(values) / 1.2, max(values) * 1.2
        ticks = log_ticks(low, high)
        if len(ticks) >= _FEWEST_TICKS:
            return alt.Scale(type="log", domain=[low, high], nice=False), ticks
    return alt.Scale(zero=not truths, nice=True), []


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers on a logarithmic axis: powers of ten, with their doubles and halves where there is room.

    >>> log_ticks(0.3, 25), log_ticks(0.001, 90)
    ([0.5, 1.0, 2.0, 5.0, 10.0, 20.0], [0.01, 0.1, 1.0, 10.0])
    """
    factors = (1, 2, 5) if math.log10(high / low) < 2.2 else (1,)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [float(f"{factor}e{decade}") for decade in decades for factor in factors]
    return [tick for tick in ticks if low * 1.0001 < tick <= high]


def risk_utility(records: Sequence[Record], subtitle: str | list[str]) -> Any:
    """The risk-utility map: risk upwards, utility to the right, one point a case.

    Args:
        records: `family`, `place`, `loss` (Hellinger's distance), `risk` (RM), `unbeaten`.
        subtitle: How to read it.
    """
    families = _in_order(records, "family")
    x = alt.X("loss:Q").title("Hellinger distance from the true table (utility grows to the right)")
    y = alt.Y("risk:Q").title("RM: information given away").axis(format="~g", tickCount=6)
    base = alt.Chart(alt.InlineData(values=list(records))).encode(
        x=x.scale(reverse=True, zero=True, nice=True),
        y=y.scale(zero=False, nice=True),
        color=_colour(families),
    )
    line = base.mark_line(strokeWidth=1.5, opacity=0.55).encode(order="order:Q")
    shapes = [_SHAPES[place % len(_SHAPES)] for place in range(len(families))]
    shape = alt.Shape("family:N").scale(domain=families, range=shapes).legend(None)
    points = base.mark_point(size=85, filled=True, opacity=1).encode(shape=shape)
    labels = [
        base.mark_text(dy=dy, fontSize=11)
        .encode(text="place:N")
        .transform_filter(alt.FieldOneOfPredicate(field="family", oneOf=chosen))
        for dy, chosen in ((-12, families[::2]), (15, families[1::2]))
    ]
    chart = alt.layer(line, points, *labels).properties(width=560, height=330)
    return apply_theme(chart, "Risk against utility", subtitle)


def shares(
    records: Sequence[Record], title: str, axis: str, subtitle: str, *, most: float | None = None
) -> Any:
    """A share for every case, as bars.

    Args:
        records: `case`, `family`, `share` (None where there is none) and `note`, shown at the bar's end.
        title: Of the picture.
        axis: What the share is.
        subtitle: What to know besides.
        most: Where the axis ends.
    """
    families, order = _in_order(records, "family"), _in_order(records, "case")
    end = most or max([0.01, *(record["share"] for record in records if record["share"] is not None)])
    scale = alt.Scale(domain=[0, end], nice=most is None)
    base = alt.Chart(alt.InlineData(values=list(records))).encode(y=_cases_axis(order))
    bars = base.mark_bar(height=13).encode(
        x=alt.X("share:Q", scale=scale).title(axis).axis(format=_PERCENT, tickCount=5, grid=True),
        color=_colour(families).legend(None),
    )
    notes = base.mark_text(align="left", dx=5, fontSize=11, color=INK).encode(x=alt.X("end:Q"), text="note:N")
    return apply_theme(alt.layer(bars, notes).properties(width=430, height=alt.Step(21)), title, subtitle)


def conclusions(records: Sequence[Record], subtitle: list[str]) -> Any:
    """How often a reader's test agrees with the test on the true table: naive and noise-aware.

    Args:
        records: `case`, `reader` ("naive" or "noise-aware"), `share`.
        subtitle: The result of the test on the true table.
    """
    order, readers = _in_order(records, "case"), ["naive", "noise-aware"]
    colour = alt.Color("reader:N").scale(domain=readers, range=[ORANGE, BLUE]).title(None)
    shape = alt.Shape("reader:N").scale(domain=readers, range=["diamond", "circle"]).title(None)
    x = alt.X("share:Q", scale=alt.Scale(domain=[0, 1]))
    dots = alt.Chart(alt.InlineData(values=list(records))).mark_point(filled=True, size=80, opacity=0.9)
    chart = dots.encode(
        y=_cases_axis(order),
        yOffset=alt.YOffset("reader:N", sort=readers, scale=alt.Scale(paddingOuter=0.6)),
        x=x.title("Releases whose test agrees with the true table").axis(
            format=_PERCENT, tickCount=5, grid=True
        ),
        color=colour.legend(orient="top"),
        shape=shape,
    ).properties(width=430, height=23 * len(order))
    return apply_theme(chart, "What a reader would conclude", subtitle)


def _cases_axis(order: list[str]) -> Any:
    return alt.Y("case:N", sort=order).title(None).axis(labelLimit=200, labelPadding=8)


def _in_order(records: Sequence[Record], key: str) -> list[str]:
    return list(dict.fromkeys(str(record[key]) for record in records))


def _colour(families: list[str]) -> Any:
    spare = iter(_SPARE * len(families))
    colours = [_family_colour(family) or next(spare) for family in families]
    legend = alt.Legend(orient="top", title=None, columns=6, symbolType="circle")
    return alt.Color("family:N").scale(domain=families, range=colours).legend(legend)


def _family_colour(name: str) -> str | None:
    if name == "current":
        return _CURRENT
    return registry.family(name).colour if name in registry.names() else None
