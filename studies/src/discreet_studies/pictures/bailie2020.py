"""A picture of Bailie (2020), Table 2: one estimate, published with and without an invariant."""

from typing import Any

from discreet.pictures.library import alt
from discreet.pictures.theme import BLUE, INK, ORANGE, apply_theme


def two_intervals(records: list[dict[str, Any]], estimate: int) -> Any:
    """The published values with their intervals, each on its own axis: one is 1,500 times wider."""
    panels = []
    for record, colour in zip(records, (ORANGE, BLUE), strict=True):
        base = alt.Chart(alt.InlineData(values=[{**record, "estimate": estimate}]))
        x = alt.X("low:Q").title("Potato lovers").scale(zero=False, nice=True).axis(format=",d", tickCount=5)
        bar = base.mark_rule(color=colour, strokeWidth=9, opacity=0.45).encode(x=x, x2="high:Q")
        dot = base.mark_point(filled=True, size=130, color=colour, opacity=1).encode(x="published:Q")
        truth = base.mark_tick(color=INK, thickness=2.5, size=34).encode(x="estimate:Q")
        heading = alt.TitleParams(record["name"], fontSize=13, offset=6)
        panels.append(alt.layer(bar, dot, truth).properties(width=640, height=56, title=heading))
    return apply_theme(
        alt.vconcat(*panels, spacing=26),
        "An invariant makes the estimate useful",
        "Dot and bar: published value and its 90 % interval, ε = 1; black: the estimate before noise (Table 2)",
    )
