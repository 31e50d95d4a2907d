"""Pictures of Sadeghi & Chien: δ against ε, the distribution of their example, and what the size of keys does.

Source: Sadeghi & Chien (2022), figures 1-5.
"""

import math
from collections.abc import Sequence
from typing import Any

from discreet.pictures.library import alt
from discreet.pictures.noise_charts import POWER_OF_TEN, SIGNED
from discreet.pictures.theme import BLUE, GREEN, INK, ORANGE, SKY, SOFT_INK, apply_theme

Records = Sequence[dict[str, Any]]

#: Room for labels in pixels: Vega measures powers of ten before they are written as such.
_LABELS = 44
_KEYS = {"2^8": "2⁸ keys", "2^16": "2¹⁶ keys", "2^32": "2³² keys"}


def fixed_variance(records: Records) -> Any:
    """Figure 1: δ against ε for two variances, one panel a width; keys D, V, epsilon, delta."""
    panels: list[Any] = []
    for width in sorted({r["D"] for r in records}):
        own = [{**r, "line": f"V = {r['V']}"} for r in records if r["D"] == width]
        chart = _lines(own, "epsilon", "delta", "line", "δ" if not panels else None, domain=_deltas(records))
        panels.append(chart.properties(width=310, height=280, title=_small(f"Noise on [-{width}, {width}]")))
    subtitle = (
        "Beyond its plateau a larger ε buys no smaller δ; the exact divergence between neighbouring counts"
    )
    return apply_theme(
        alt.hconcat(*panels, spacing=30), "δ against ε for noise of a fixed variance", subtitle
    )


def chosen_variance(records: Records) -> Any:
    """Figure 2: δ by the paper's choice of γ and the least δ, and V; keys D, epsilon, analytic, least, V, V_least."""
    ways = (("analytic", "V", "the paper's choice"), ("least", "V_least", "least δ"))
    long = [
        {
            "line": f"D = {r['D']}",
            "epsilon": r["epsilon"],
            "way": way,
            "delta": r[delta],
            "variance": r[variance],
        }
        for r in records
        for delta, variance, way in ways
    ]
    dash = alt.StrokeDash("way:N").scale(domain=[way for *_, way in ways], range=[[1, 0], [5, 4]])
    dash = dash.title(None).legend(orient="top")
    left = _lines(long, "epsilon", "delta", "line", "δ", domain=_deltas(long)).encode(strokeDash=dash)
    right = _lines(long, "epsilon", "variance", "line", "Variance V").encode(strokeDash=dash)
    panels = [
        left.properties(width=310, height=280, title=_small("δ")),
        right.properties(width=310, height=280, title=_small("Variance")),
    ]
    subtitle = "γ = ε/(2D-1), so that δ is the end value only; dashed: the γ of least δ for the same support"
    return apply_theme(alt.hconcat(*panels, spacing=30), "A variance chosen by ε has no plateau", subtitle)


def distribution(records: Records, variance: float) -> Any:
    """Figure 3: the distribution of Example 1; keys noise, probability."""
    widest, top = max(r["noise"] for r in records), max(r["probability"] for r in records)
    deviation = math.sqrt(variance)
    x = alt.X("noise:Q").title("Noise").scale(domain=[-widest - 1, widest + 1], nice=False)
    x = x.axis(values=list(range(-widest, widest + 1, 5)), labelExpr=SIGNED)
    y = alt.Y("probability:Q").title("Probability").scale(domain=[0, 1.17 * top], nice=False)
    bars = (
        alt.Chart(alt.InlineData(values=list(records)))
        .mark_bar(size=7, color=BLUE)
        .encode(x=x, y=y.axis(tickCount=5, format=".2~g"))
    )
    span = {
        "noise": -deviation,
        "end": deviation,
        "at": 1.07 * top,
        "text": f"one standard deviation: ±{deviation:.2f}",
    }
    base = alt.Chart(alt.InlineData(values=[span]))
    rule = base.mark_rule(color=INK, strokeWidth=1.5).encode(x=x, x2="end:Q", y="at:Q")
    words = base.mark_text(baseline="bottom", dy=-5, color=INK, fontSize=12)
    words = words.encode(x=alt.XDatum(0), y="at:Q", text="text:N")
    chart = alt.layer(bars, rule, words).properties(width=560, height=300)
    return apply_theme(chart, "The law of Example 1", f"ε = 0.5, δ = 10⁻⁴: D = {widest}, V = {variance:.2f}")


def epsilon_after(records: Records) -> Any:
    """Figure 4: ε after quantisation, by the paper's formula and exactly, against ε of the design."""
    full = [{**r, "line": _KEYS[r["keys"]]} for r in records if r["full_support"]]
    panels = [
        _after(full, "epsilon", "paper_epsilon", "ε of the design", "ε after quantisation"),
        _after(full, "epsilon", "exact_epsilon", "ε of the design", None),
    ]
    names = ("ε^Q of the paper: one direction", "Exact: both directions, at the same δ^Q")
    return _two(
        panels,
        names,
        "ε after quantisation",
        "Noise on [-10, 10]; a line ends where a value loses its last key",
    )


def delta_after(records: Records) -> Any:
    """Figure 5: δ after quantisation, by the paper's formula and exactly, against δ of the design."""
    full = [
        {**r, "line": _KEYS[r["keys"]], "exact": max(r["delta_forward"], r["delta_backward"])}
        for r in records
        if r["full_support"]
    ]
    panels = [
        _after(full, "delta", "paper_delta", "δ of the design", "δ after quantisation", log=True),
        _after(full, "delta", "exact", "δ of the design", None, log=True),
    ]
    names = ("δ^Q of the paper: one direction", "Exact: both directions, at the same ε^Q")
    return _two(
        panels,
        names,
        "δ after quantisation",
        "Noise on [-10, 10]; a line ends where a value loses its last key",
    )


def _two(panels: list[Any], names: tuple[str, str], title: str, subtitle: str) -> Any:
    titled = [
        panel.properties(width=310, height=300, title=_small(name))
        for panel, name in zip(panels, names, strict=True)
    ]
    return apply_theme(alt.hconcat(*titled, spacing=30), title, f"{subtitle}; dashed: unchanged")


def _after(records: Records, x: str, y: str, across: str, up: str | None, *, log: bool = False) -> Any:
    """Lines of three key sizes, and the diagonal on which nothing is changed."""
    low, high = min(r[x] for r in records), max(r[x] for r in records)
    values = _decades(low, high) if log else [0, 0.5, 1, 1.5, 2, 2.5]
    scale = (
        alt.Scale(type="log", domain=[values[0], values[-1]], nice=False)
        if log
        else alt.Scale(domain=[0, 2.6])
    )
    shape: dict[str, Any] = (
        {"values": values, "labelExpr": POWER_OF_TEN} if log else {"values": values, "format": "~g"}
    )
    horizontal = alt.X(f"{x}:Q", scale=scale).title(across).axis(**shape)
    vertical = alt.Y(f"{y}:Q", scale=scale).title(up).axis(**shape, maxExtent=_LABELS)
    ends = [{x: values[0], y: values[0]}, {x: values[-1], y: values[-1]}]
    same = alt.Chart(alt.InlineData(values=ends)).mark_line(
        color=SOFT_INK, strokeDash=[4, 4], strokeWidth=1.2
    )
    colour = alt.Color("line:N").scale(domain=list(_KEYS.values()), range=[ORANGE, GREEN, BLUE]).title(None)
    lines = alt.Chart(alt.InlineData(values=list(records))).mark_line(
        strokeWidth=2, point={"size": 26, "filled": True}
    )
    drawn = lines.encode(x=horizontal, y=vertical, color=colour.legend(orient="top"))
    return alt.layer(same.encode(x=horizontal, y=vertical), drawn)


def _lines(
    records: Records, x: str, y: str, by: str, title: str | None, *, domain: list[float] | None = None
) -> Any:
    """Lines in two colours with their names at the top; a logarithmic axis where a domain of decades is given."""
    names = list(dict.fromkeys(r[by] for r in records))
    vertical = alt.Y(f"{y}:Q").title(title)
    if domain is not None:
        vertical = vertical.scale(type="log", domain=[domain[0], domain[-1]], nice=False)
        vertical = vertical.axis(values=domain, labelExpr=POWER_OF_TEN, maxExtent=_LABELS)
    colour = alt.Color(f"{by}:N").scale(domain=names, range=[BLUE, ORANGE, SKY][: len(names)]).title(None)
    return (
        alt.Chart(alt.InlineData(values=list(records)))
        .mark_line(strokeWidth=2.5)
        .encode(
            x=alt.X(f"{x}:Q").title("ε").scale(nice=False).axis(format="~g"),
            y=vertical,
            color=colour.legend(orient="top"),
        )
    )


def _deltas(records: Records) -> list[float]:
    deltas = [r["delta"] for r in records if r["delta"] > 0]
    return _decades(min(deltas), max(deltas))


def _decades(low: float, high: float) -> list[float]:
    """Powers of ten around two numbers, thinned where there are many."""
    last = math.ceil(math.log10(high))
    step = max(1, math.ceil((last - math.floor(math.log10(low))) / 7))
    first = last - step * math.ceil((last - math.log10(low)) / step)
    return [10.0**power for power in range(first, last + 1, step)]


def _small(text: str) -> Any:
    return alt.Title(text, fontSize=13, offset=8)
