"""Pictures of Shlomo, Krenzke & Li (2019), recomputed: the PRAM matrices and Figures 1-4."""

from collections.abc import Callable, Mapping
from typing import Any

from discreet.pictures.library import alt
from discreet.pictures.theme import BLUE, GREEN, INK, ORANGE, SOFT_INK, apply_theme
from discreet_studies.pictures.boxes import box_layers, five_numbers, outside

_METHODS = alt.Scale(domain=["Original", "DP", "PRAM", "Q"], range=[INK, BLUE, GREEN, ORANGE])
_FULL = {"DP": "Differential privacy", "PRAM": "Post-randomisation", "Q": "Drop/add-up-to-q"}


def transitions(small: list[list[float]], large: list[list[float]]) -> Any:
    """Tables 2 and 3: both matrices as heat maps on a logarithmic scale."""
    panels = alt.hconcat(
        _heat(small, "Count", "Released value", "Small counts (Table 2)"),
        _heat(large, "Residual by 15", "Drawn value", "Large counts (Table 3)"),
        spacing=36,
    )
    subtitle = "Probability of a transition, logarithmic shades; white: impossible. ε = 2, cap 7"
    return apply_theme(panels, "PRAM keeps small counts from going below zero", subtitle)


def _heat(matrix: list[list[float]], row: str, column: str, heading: str) -> Any:
    cells = [
        {"from": i, "to": j, "p": p} for i, line in enumerate(matrix) for j, p in enumerate(line) if p > 0
    ]
    scale = alt.Scale(type="log", domain=[6e-7, 1], scheme="viridis")
    legend = alt.Legend(title="Probability", format="~g", values=[1e-6, 1e-4, 1e-2, 1])
    return (
        alt.Chart(alt.InlineData(values=cells))
        .mark_rect()
        .encode(
            x=alt.X("to:O").title(column).axis(labelAngle=0),
            y=alt.Y("from:O").title(row),
            color=alt.Color("p:Q", scale=scale).legend(legend),
        )
        .properties(width=300, height=300, title=alt.TitleParams(heading, fontSize=13, offset=6))
    )


def risk_utility_map(points: list[dict[str, Any]]) -> Any:
    """Figure 1: risk against utility; right is better, up is riskier."""
    named = [{**p, "name": _FULL[p["method"]]} for p in points]
    base = alt.Chart(alt.InlineData(values=named)).encode(
        x=alt.X("distance:Q")
        .title("Hellinger's distance, reversed: more utility to the right")
        .scale(reverse=True, zero=False, padding=40)
        .axis(format=".2f", tickCount=6),
        y=alt.Y("risk:Q")
        .title("RM = 1 - H(a|b)/H(a): more risk upwards")
        .scale(zero=False, padding=30)
        .axis(format=".3f", tickCount=6),
        color=alt.Color("method:N", scale=_METHODS).legend(None),
    )
    dots = base.mark_point(filled=True, size=170, opacity=1)
    labels = base.mark_text(dy=-16, fontSize=12.5).encode(text="name:N")
    return apply_theme(
        (dots + labels).properties(width=480, height=320),
        "More utility, more risk",
        "Means over simulated dependent tables, weighted counts (Figure 1)",
    )


def chi_square_boxes(values: Mapping[str, list[float]], what: str, kind: str) -> Any:
    """Figures 2-4: box plots of chi-square statistics or p-values by method."""
    colour = alt.Color("method:N", scale=_METHODS).legend(None)
    x = alt.X("name:N", sort=list(values)).title(None).axis(labelAngle=0)
    y = alt.Y("low:Q").title("Chi-square statistic" if what == "pearson" else "p-value")
    base = alt.Chart(_named(values, five_numbers)).encode(x=x, color=colour)
    far = alt.Chart(_named(values, outside)).transform_flatten(["out"]).encode(x=x, color=colour)
    layers = [
        *box_layers(base, y, 44),
        base.mark_point(shape="diamond", filled=True, size=46, opacity=1).encode(y="mean:Q"),
        far.mark_point(size=14, opacity=0.6).encode(y="out:Q"),
    ]
    if what != "pearson":
        level = alt.Chart(alt.InlineData(values=[{"level": 0.05}]))
        layers.append(level.mark_rule(color=SOFT_INK, strokeDash=[4, 3]).encode(y="level:Q"))
    heading = {
        ("pearson", "dependent"): "A strong relation is seen under every method",
        ("pearson", "independent"): "Noise makes independent attributes look related",
        ("p_value", "independent"): "Naive p-values fall where nothing is to be found",
    }[what, kind]
    note = "dashed: 5 %" if what != "pearson" else "diamond: mean"
    subtitle = f"{len(next(iter(values.values()))):,} tables with {kind} attributes, weighted counts; {note}"
    return apply_theme(alt.layer(*layers).properties(width=620, height=320), heading, subtitle)


def _named(values: Mapping[str, list[float]], summary: Callable[[list[float]], Any]) -> Any:
    """One record a method: its five numbers, or the list of its runs beyond the whiskers."""
    records = []
    for name, runs in values.items():
        found = summary(runs)
        own = found if isinstance(found, dict) else {"out": found}
        records.append({"name": name, "method": name.split(" ")[0], **own})
    return alt.InlineData(values=records)
