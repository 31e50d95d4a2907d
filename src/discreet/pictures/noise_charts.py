"""Charts of a noise table: its distribution, its transitions, its guarantee, and the effect of quantisation.

Source: Sadeghi & Chien (2022), figures 1 and 3, for the curve and the distribution.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from discreet.noise.table import NoiseTable
from discreet.pictures.library import alt
from discreet.pictures.theme import BLUE, GREEN, INK, ORANGE, SKY, SOFT_INK, apply_theme
from discreet.privacy.audit import curve, curve_above_largest
from discreet.privacy.audit import delta as exact_delta
from discreet.privacy.frontier import PlacedTable

MOST_PANELS = 9
RAISED_DIGITS = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
RAISED = str.maketrans("0123456789", RAISED_DIGITS)
_EXPONENT = "round(-log(datum.value) / LN10)"
#: 1, 0.1, 0.01, then powers of ten with raised exponents.
POWER_OF_TEN = (
    "datum.value >= 0.005 ? format(datum.value, '~g') : '10\u207b'"
    f" + ({_EXPONENT} > 9 ? '{RAISED_DIGITS}'[floor({_EXPONENT} / 10)] : '')"
    f" + '{RAISED_DIGITS}'[{_EXPONENT} % 10]"
)
TITLE = "What is added to a count"
#: Signs as typographers set them; zero without one.
SIGNED = "(datum.value > 0 ? '+' : datum.value < 0 ? '\u2212' : '') + abs(datum.value)"
CURVE_POINTS = 240


def pmf(table: NoiseTable) -> Any:
    """The noise distribution: one panel for a table of one row, small multiples for more."""
    noisy = [count for count, row in enumerate(table.rows) if row.values != (0,)] or [0]
    if len(table.rows) == 1:
        noisy = [0]
    elif len(noisy) > MOST_PANELS:
        noisy = [*noisy[: MOST_PANELS - 1], noisy[-1]]
    last = len(table.rows) - 1 if table.repeats == 1 else -1
    names = {count: f"Count {count}" + (" and more" if count == last else "") for count in noisy}
    records: list[dict[str, Any]] = [
        {"row": name, "noise": v, "probability": float(p), "kind": "no change" if v == 0 else "change"}
        for count, name in names.items()
        for v, p in table.row(count).probabilities().items()
    ]
    if len(noisy) == 1:
        bars = _noise_bars(records, table.largest, width=520, height=280)
        return apply_theme(bars, TITLE, _describe(table))
    top = max(record["probability"] for record in records)
    columns = 4 if len(noisy) in {4, 7, 8} else 3
    panels = [
        _noise_bars(
            [r for r in records if r["row"] == name],
            table.largest,
            width=190,
            height=120,
            top=top,
            first=not k % columns,
        ).properties(title=alt.Title(name, fontSize=12.5, offset=6))
        for k, name in enumerate(names.values())
    ]
    return apply_theme(alt.concat(*panels, columns=columns, spacing=24), TITLE, _describe(table))


def transition(table: NoiseTable, largest: int | None = None) -> Any:
    """From true counts to released counts: a heat map of the transition probabilities."""
    top = min(30, len(table.rows) - 1 + max(4, table.repeats) + table.largest) if largest is None else largest
    cells: list[dict[str, Any]] = [
        {"true": count, "released": count + value, "probability": float(p)}
        for count in range(top + 1)
        for value, p in table.row(count).probabilities().items()
    ]
    low, high = (pick(cell["released"] for cell in cells) for pick in (min, max))
    size = max(9, min(24, 620 // (high - low + 1)))
    most = max(cell["probability"] for cell in cells)
    marks = [0, *(mark for mark in (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 1) if mark <= most)]
    colour = alt.Color("probability:Q").title("Probability")
    colour = colour.scale(type="sqrt", scheme="viridis", reverse=True, domain=[0, most])
    released = list(range(int(low), int(high) + 1))
    step = 1 if size >= 17 else 5
    ticks = alt.Axis(
        labelAngle=0, labelOverlap=False, labelExpr=f"datum.value % {step} == 0 ? datum.label : ''"
    )
    chart = (
        alt.Chart(alt.InlineData(values=cells))
        .mark_rect(stroke="white", strokeWidth=1)
        .encode(
            x=alt.X("released:O", axis=ticks, scale=alt.Scale(domain=released)).title("Released count"),
            y=alt.Y("true:O", axis=ticks).title("True count"),
            color=colour.legend(values=marks, format=".2~g", gradientLength=200, gradientThickness=14),
        )
        .properties(width=size * int(high - low + 1), height=size * (top + 1))
    )
    return apply_theme(chart, "From true counts to released counts", _describe(table))


def delta_curve(table: NoiseTable, *, epsilon: float | None = None, largest: float | None = None) -> Any:
    """Delta against epsilon on a logarithmic axis: all counts, and counts above D."""
    if epsilon is not None and not math.isfinite(epsilon):
        epsilon = None  # there is no such point on the axis
    end = largest if largest is not None else _curve_end(table, epsilon)
    grid = [end * k / CURVE_POINTS for k in range(CURVE_POINTS + 1)]
    every, above = "All counts", f"Counts above D = {table.largest}"
    points = [curve(table, grid), curve_above_largest(table, grid)]
    same = all(a.delta == b.delta for a, b in zip(*points, strict=True))
    names = [every] if same else [every, above]
    records: list[dict[str, Any]] = [
        {"epsilon": p.epsilon, "delta": float(p.delta), "counts": name}
        for name, line in zip(names, points, strict=False)
        for p in line
        if p.delta > 0
    ]
    marks = [_curve_lines(records, names)]
    floor = float(exact_delta(table, epsilon=math.inf))
    if 0 < floor < 1:
        text = {"floor": floor, "at": end, "text": f"never below {_readable(floor)}"}
        base = alt.Chart(alt.InlineData(values=[text]))
        line = base.mark_rule(strokeDash=[4, 4], color=SOFT_INK).encode(y="floor:Q")
        words = base.mark_text(align="right", baseline="top", dy=6, color=SOFT_INK, fontSize=12)
        marks += [line, words.encode(x="at:Q", y="floor:Q", text="text:N")]
    delta = 0.0 if epsilon is None else float(exact_delta(table, epsilon=epsilon))
    if epsilon is not None and delta > 0 and epsilon <= end:
        point = {"epsilon": epsilon, "delta": delta, "text": f"({epsilon:.4g}, {_readable(delta)})"}
        base = alt.Chart(alt.InlineData(values=[point])).encode(x="epsilon:Q", y="delta:Q")
        right = epsilon < end * 0.85
        words = base.mark_text(
            align="left" if right else "right", dx=9 if right else -9, dy=-14, color=INK, fontSize=12
        )
        marks += [base.mark_point(filled=True, size=90, color=GREEN, opacity=1), words.encode(text="text:N")]
    subtitle = [_describe(table), "One counting query, one person added or removed; exact, both directions"]
    chart = alt.layer(*marks).properties(width=540, height=320)
    return apply_theme(chart, "What the table promises", subtitle)


def quantisation_error(table: NoiseTable, ideal: Mapping[int, float]) -> Any:
    """The noise distribution as quantised and as designed, and their difference in keys.

    Args:
        table: The integers.
        ideal: The design of the row of large counts: noise value to probability.
    """
    distribution = table.row(len(table.rows) - 1).probabilities()
    records = [
        {
            "noise": value,
            "ideal": ideal.get(value, 0.0),
            "quantised": float(distribution.get(value, 0)),
            "keys": float(distribution.get(value, 0)) * table.modulus - ideal.get(value, 0.0) * table.modulus,
            "lost": "lost" if value not in distribution else "kept",
        }
        for value in sorted({*ideal, *distribution})
    ]
    base = alt.Chart(alt.InlineData(values=records))
    x = alt.X("noise:O").title(None).axis(labelAngle=0, labelOverlap=True)
    y = alt.Y("quantised:Q").title("Probability").axis(tickCount=5, format=".2~g")
    dots = base.mark_point(filled=True, color=INK, size=34, opacity=1).encode(x=x, y="ideal:Q")
    upper = (base.mark_bar(color=SKY).encode(x=x, y=y) + dots).properties(width=540, height=210)
    legend = None
    if any(record["lost"] == "lost" for record in records):
        legend = alt.Legend(
            orient="bottom", title="Value of the design", symbolType="square", direction="horizontal"
        )
    keys = alt.Y("keys:Q").title("Difference in keys").axis(tickCount=4, format="~g")
    kept = alt.Color("lost:N").scale(domain=["kept", "lost"], range=[BLUE, ORANGE]).legend(legend)
    lower = base.mark_bar().encode(x=x.title("Noise"), y=keys, color=kept).properties(width=540, height=110)
    subtitle = [
        _describe(table),
        f"Bars: {table.modulus:,} keys as shipped; dots: the design before quantisation",
    ]
    return apply_theme(alt.vconcat(upper, lower, spacing=18), "Quantised against ideal", subtitle)


def _noise_bars(
    records: list[dict[str, Any]],
    largest: int,
    *,
    width: int,
    height: int,
    top: float | None = None,
    first: bool = True,
) -> Any:
    bar = max(2.0, min(30.0, 0.72 * width / (2 * largest + 1)))
    step = max(1, math.ceil((2 * largest + 1) / (width / 30)))
    ticks = [v for v in range(-largest, largest + 1) if v % step == 0]
    colour = alt.Color("kind:N").scale(domain=["no change", "change"], range=[SKY, BLUE]).title(None)
    height_scale = alt.Scale(domain=[0, top]) if top else alt.Scale()
    y = alt.Y("probability:Q", scale=height_scale).title("Probability" if first else None)
    x = alt.X("noise:Q").title("Noise").scale(domain=[-largest - 0.6, largest + 0.6], nice=False)
    bars = alt.Chart(alt.InlineData(values=records)).mark_bar(size=bar)
    return bars.encode(
        x=x.axis(values=ticks, labelOverlap=False, labelExpr=SIGNED),
        y=y.axis(tickCount=4, format=".2~g"),
        color=colour.legend(orient="top", symbolType="square"),
    ).properties(width=width, height=height)


def _curve_lines(records: list[dict[str, Any]], names: list[str]) -> Any:
    legend = alt.Legend(orient="top", title=None) if len(names) > 1 else None
    colour = alt.Color("counts:N").scale(domain=names, range=[BLUE, ORANGE][: len(names)]).legend(legend)
    deltas = [record["delta"] for record in records]
    least, high = math.log10(min(deltas)), math.ceil(math.log10(max(deltas)))
    low = min(math.floor(least - 0.4), high - 1)  # room for words below the lowest value
    step = max(1, math.ceil((high - low) / 10))
    low -= (high - low) % step
    decades = [10.0**exponent for exponent in range(low, high + 1, step)]
    y = alt.Y("delta:Q").title("Delta").scale(type="log", domain=[decades[0], decades[-1]], nice=False)
    lines = alt.Chart(alt.InlineData(values=records)).mark_line(strokeWidth=2.5, interpolate="linear")
    x = alt.X("epsilon:Q").title("Epsilon").scale(nice=False)
    return lines.encode(x=x, y=y.axis(values=decades, labelExpr=POWER_OF_TEN), color=colour)


def _readable(number: float) -> str:
    if number >= 1e-3 or number == 0:
        return f"{number:.3g}"
    digits, exponent = f"{number:.2e}".split("e")
    return f"{digits}\u00d710\u207b{str(abs(int(exponent))).translate(RAISED)}"


def _describe(table: NoiseTable) -> str:
    numbers = [
        f"{k} = {v:g}" for k, v in table.parameters.items() if isinstance(v, int | float) and v is not True
    ]
    exponent = table.modulus.bit_length() - 1
    modulus = f"2{str(exponent).translate(RAISED)}" if table.modulus == 2**exponent else f"{table.modulus:,}"
    source = str(table.parameters.get("file", table.family))
    return ", ".join([source, *numbers[:5], f"{modulus} keys"])


def _curve_end(table: NoiseTable, epsilon: float | None) -> float:
    """Where the curve is flat: the smallest epsilon at which only the unmatched support is left."""
    ratios = [
        math.log(distribution[v] / distribution[v - 1])
        for row in table.rows
        for distribution in [row.probabilities()]
        for v in row.values
        if v - 1 in distribution
    ]
    flat = max([abs(ratio) for ratio in ratios], default=1.0)
    return max(0.5, min(12.0, 1.25 * flat), 1.3 * (epsilon or 0))


def frontier_chart(
    epsilon: float, lines: Mapping[str, Sequence[PlacedTable]], tables: Sequence[PlacedTable]
) -> Any:
    """The least variance for each delta, one line for each support, and where tables lie.

    Args:
        epsilon: The common epsilon.
        lines: The frontier of each support.
        tables: The tables to compare.
    """
    points = [asdict(each) | {"line": name} for name, line in lines.items() for each in line]
    shown = [asdict(each) | {"line": each.support} for each in tables]
    colour = alt.Color("line:N").scale(domain=list(lines), range=[BLUE, ORANGE][: len(lines)])
    colour = colour.title("Released counts").legend(orient="top")
    x = alt.X("delta:Q").title(f"Delta at epsilon {epsilon:g}").scale(type="log")
    y = alt.Y("variance:Q").title("Largest variance").scale(type="log")
    line = alt.Chart(alt.InlineData(values=points)).mark_line(strokeWidth=2.5, point=True)
    base = alt.Chart(alt.InlineData(values=shown))
    dots = base.mark_point(filled=True, size=90, opacity=1, shape="diamond")
    words = base.mark_text(align="left", dx=8, dy=-8, color=INK, fontSize=12)
    layers = [each.encode(x=x, y=y, color=colour) for each in (line, dots)]
    chart = alt.layer(*layers, words.encode(x=x, y=y, text="name:N")).properties(width=540, height=340)
    subtitle = (
        "Lines: unbiased noise of the least variance; diamonds: tables in use. All figures from integers"
    )
    return apply_theme(chart, "How much noise a promise needs", subtitle)
