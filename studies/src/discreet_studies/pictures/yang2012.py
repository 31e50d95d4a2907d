"""Pictures of what the mechanism of Yang, Fienberg & Rinaldo does to their tables, and of their Theorem 2.

The paper splits every plot at ε = 1; a logarithmic axis shows both halves at once. Lines are means, bands one
standard deviation of the runs; the two colours are the published scale and the one that is needed.

Source: Yang, Fienberg & Rinaldo (2012), figures 1-6.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.pictures.library import alt
from discreet.pictures.theme import BLUE, INK, ORANGE, SOFT_INK, apply_theme

_TICKS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2]
_RANGE = (0.005, 2.0)
_SCALES = alt.Scale(domain=["as published", "scale that is needed"], range=[ORANGE, BLUE])


def runs_by_epsilon(
    records: Sequence[Mapping[str, Any]],
    title: str,
    axis: str,
    promises: Mapping[str, str],
    levels: Mapping[str, tuple[str, float]],
    *,
    reps: int,
    scale: str,
    spread: bool,
) -> Any:
    """One panel a table: mean and one standard deviation against ε, for both scales.

    Args:
        records: Keys table, scale, epsilon, mean, sd.
        title: Of the picture.
        axis: Title of the vertical axis.
        promises: For each table, in order: what its published scale really is.
        levels: A dashed line for each table, with its words.
        reps: Runs at each ε, for the subtitle.
        scale: Of the vertical axis: "log", "symlog" or "linear".
        spread: Whether to draw one standard deviation.
    """
    panels: list[Any] = []
    for name, promise in promises.items():
        own = [dict(r) for r in records if r["table"] == name]
        chart = _panel(
            own, axis if len(panels) % 2 == 0 else None, levels.get(name), kind=scale, spread=spread
        )
        words = alt.Title(
            name, subtitle=promise, fontSize=13, subtitleFontSize=11.5, subtitlePadding=2, offset=8
        )
        panels.append(chart.properties(title=words))
    shown = "Mean and one standard deviation" if spread else "Share"
    subtitle = f"{shown} of {reps} runs at each ε; neighbours: add or remove one person"
    return apply_theme(alt.concat(*panels, columns=2, spacing=30), title, subtitle)


def _panel(
    records: list[dict[str, Any]],
    axis: str | None,
    level: tuple[str, float] | None,
    *,
    kind: str,
    spread: bool,
) -> Any:
    seen = [r for r in records if _RANGE[0] * 0.999 <= r["epsilon"] <= _RANGE[1] * 1.001]
    scale, floor, ticks = _vertical(seen, level, kind, spread=spread)
    for record in records:
        record["low"] = max(record["mean"] - record["sd"], floor)
        record["high"] = max(record["mean"] + record["sd"], floor)
        record["shown"] = max(record["mean"], floor)
    base = alt.Chart(alt.InlineData(values=records)).encode(
        x=_epsilon_axis(),
        color=alt.Color("scale:N", scale=_SCALES).title(None).legend(orient="top", symbolOpacity=1),
    )
    y = alt.Y("shown:Q", scale=scale).title(axis).axis(labelExpr="format(datum.value, ',')", values=ticks)
    band = base.mark_area(opacity=0.16, clip=True).encode(y=alt.Y("low:Q", scale=scale), y2="high:Q")
    line = base.mark_line(strokeWidth=2.5, clip=True).encode(y=y)
    marks = [*([band] if spread else []), line, *([_level(*level, scale)] if level else [])]
    return alt.layer(*marks).properties(width=330, height=220)


def _vertical(
    records: list[dict[str, Any]], level: tuple[str, float] | None, kind: str, *, spread: bool
) -> tuple[Any, float, list[float]]:
    """The vertical scale, the least value that it can show, and its ticks."""
    levels = [level[1]] if level else []
    top = max([r["mean"] + spread * r["sd"] for r in records] + levels)
    if kind == "linear":
        top = max(1.0, top)
        return alt.Scale(domain=[0, 1.03 * top], nice=False), 0.0, [0, 0.5, 1, 1.5, 2]
    powers = range(-3, math.ceil(math.log10(top)) + 1)
    if kind == "symlog":
        ticks = [0.0, *(10.0**power for power in powers if power >= 0)]
        return alt.Scale(type="symlog", domain=[0, 1.1 * top], nice=False), 0.0, ticks
    least = min(v for v in [r["mean"] for r in records] + levels if v > 0)
    floor = max(least / 2, top * 1e-5)
    steps = (1,) if math.log10(top / floor) > 2.2 else (1, 2, 5)
    ticks = [step * 10.0**power for power in powers for step in steps]
    kept = [tick for tick in ticks if floor <= tick <= 1.1 * top]
    return alt.Scale(type="log", domain=[floor, 1.1 * top], nice=False), floor, kept


def _level(words: str, value: float, scale: Any) -> Any:
    """A dashed line with its words at the left, where the curves are far above or below."""
    text = f"{words}: {value:,.0f}" if value >= 10 else f"{words}: {value:.2f}"
    base = alt.Chart(alt.InlineData(values=[{"level": value, "text": text, "epsilon": _RANGE[0]}]))
    line = base.mark_rule(color=INK, strokeDash=[4, 4]).encode(y=alt.Y("level:Q", scale=scale))
    place = base.encode(x=_epsilon_axis(), y=alt.Y("level:Q", scale=scale), text="text:N")
    ways: dict[str, Any] = {"align": "left", "baseline": "top", "dx": 6, "dy": 5, "fontSize": 12}
    halo = place.mark_text(**ways, stroke="white", strokeWidth=4, strokeOpacity=0.85)
    return line + halo + place.mark_text(**ways, color=INK)


def _epsilon_axis() -> Any:
    scale = alt.Scale(type="log", domain=list(_RANGE), nice=False)
    return (
        alt.X("epsilon:Q", scale=scale).title("Epsilon").axis(values=_TICKS, format="~g", labelOverlap=True)
    )


def real_epsilon(records: Sequence[Mapping[str, Any]]) -> Any:
    """What the scale of Theorem 2 really gives for one k × k margin, against k.

    Args:
        records: Keys k, neighbours, epsilon.
    """
    most = max(r["k"] for r in records)
    scale = alt.Scale(domain=[1.5, most + 0.5], nice=False, zero=False)
    x = alt.X("k:Q", scale=scale).title("Categories of each variable, k")
    x = x.axis(values=list(range(2, most + 1)), format="d")
    base = alt.Chart(alt.InlineData(values=[dict(r) for r in records])).encode(x=x)
    colour = alt.Color("neighbours:N").scale(domain=["add-remove", "replace-one"], range=[BLUE, ORANGE])
    y = alt.Y("epsilon:Q").title("Real epsilon over stated epsilon").axis(format="~g", tickCount=6)
    y = y.scale(domain=[0, 2.5], nice=False)
    line = base.mark_line(strokeWidth=2.5, point={"size": 45}).encode(y=y, color=colour.legend(None))
    ends = base.transform_filter(alt.datum.k == most).mark_text(align="left", dx=9, fontSize=12)
    words = ends.encode(y=y, text="neighbours:N", color=colour.legend(None))
    rule = alt.Chart(alt.InlineData(values=[{"one": 1, "k": most, "text": "what is promised"}]))
    promised = rule.mark_rule(color=SOFT_INK, strokeDash=[4, 4]).encode(y="one:Q")
    label = rule.mark_text(align="right", baseline="top", dy=6, color=SOFT_INK, fontSize=12)
    chart = alt.layer(promised, label.encode(x=x, y="one:Q", text="text:N"), line, words)
    title = "Theorem 2 gives too little noise where variables have many categories"
    subtitle = "One k × k margin with the noise of Theorem 2: above the dashed line it is not ε-DP"
    return apply_theme(chart.properties(width=520, height=300), title, subtitle)
