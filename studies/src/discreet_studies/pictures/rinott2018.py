"""Pictures of Rinott et al. (2018), recomputed: Table 2, Table 3, Figures 1-4 and section 7."""

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.pictures.library import alt
from discreet.pictures.theme import BLUE, GREEN, INK, ORANGE, SKY, SOFT_INK, apply_theme
from discreet_studies.pictures.boxes import box_layers, five_numbers

Records = list[dict[str, Any]]

_DISTRIBUTIONS = alt.Scale(domain=["Laplace", "Normal"], range=[BLUE, ORANGE])
_TITLES = {
    "p": "p-value of Pearson's test",
    "V": "Cramér's V",
    "l1": "Loss l1",
    "l2": "Loss l2",
    "l3": "Loss l3",
}


def within_ranges(records: Records) -> Any:
    """Table 2: the chance to be within a range of the count, one panel a count and epsilon."""
    data = [{**r, "name": r["law"].split(",")[0]} for r in records]
    order = ["0", "1", "5 and over"]

    def panel(epsilon: float) -> Any:
        own = alt.InlineData(values=[r for r in data if r["epsilon"] == epsilon])
        line = (
            alt.Chart(own)
            .mark_line(strokeWidth=2.5, point={"size": 40})
            .encode(
                x=alt.X("range:O").title("Within ±").axis(labelAngle=0),
                y=alt.Y("chance:Q").title("Probability").scale(domain=[0, 1]).axis(format=".0%", tickCount=5),
                color=alt.Color("name:N", scale=_DISTRIBUTIONS).title(None).legend(orient="top"),
            )
            .properties(width=190, height=190)
        )
        columns = alt.Column("count:N", sort=order).title(None).header(labelExpr="'Count ' + datum.value")
        return line.encode(column=columns).properties(
            title=alt.TitleParams(f"ε = {epsilon:g}", fontSize=13, offset=4)
        )

    return apply_theme(
        alt.vconcat(panel(1.5), panel(0.5), spacing=24),
        "Laplace noise stays nearer to small counts",
        "Equal ε and δ; negative releases set to zero (Table 2)",
    )


def rejected_shares(records: Records) -> Any:
    """Table 3: the share of tables rejected by each test, ours and printed."""
    tests = ["Original", "Naive", "LR test"]
    names = {"Original": "True counts", "Naive": "Naive test", "LR test": "Noise-aware test"}
    data = [{**r, "name": names[r["test"]]} for r in records]

    def panel(kind: str, title: str) -> Any:
        own = [
            {**r, "setting": r["setting"].replace(f", {kind}", "")}
            for r in data
            if f", {kind}" in r["setting"]
        ]
        y = alt.Y("name:N", sort=[names[t] for t in tests]).title(None)
        x = (
            alt.X("ours:Q")
            .title("Tables rejected at 5 %, %")
            .scale(domain=[0, 100])
            .axis(values=[0, 25, 50, 75, 100], labelOverlap=False)
        )
        bars = alt.Chart().mark_bar(color=SKY, height=14).encode(x=x, y=y)
        ticks = (
            alt.Chart()
            .mark_tick(color=INK, thickness=2.5, size=20)
            .encode(x=alt.X("printed:Q").title("Tables rejected at 5 %, %"), y=y)
        )
        level = (
            alt.Chart().mark_rule(color=ORANGE, strokeDash=[4, 3]).encode(x=alt.datum(5, type="quantitative"))
        )
        layered = alt.layer(bars, level, ticks, data=alt.InlineData(values=own)).properties(
            width=230, height=80
        )
        heads = alt.Header(labelAnchor="start", labelOrient="top", labelPadding=0, labelFontWeight=500)
        rows = alt.Row("setting:N").title(None).header(heads)
        return layered.facet(row=rows, title=alt.TitleParams(title, fontSize=13), spacing=14)

    return apply_theme(
        alt.hconcat(
            panel("independent", "Independent attributes"),
            panel("dependent", "Dependent attributes, as printed"),
            spacing=40,
        ),
        "Ignoring the noise rejects independence far too often",
        "Bars: ours; black ticks: printed; dashed: the nominal 5 % (Table 3)",
    )


def risk_utility(records: Records, measures: Sequence[str], truth: Mapping[str, float], title: str) -> Any:
    """Figures 1-3: box plots of each measure by epsilon, Laplace beside normal noise."""
    panels = [_boxes(records, measure, truth.get(measure)) for measure in measures]
    wide = 2 if len(panels) == 4 else 3
    lines = [alt.hconcat(*panels[at : at + wide], spacing=28) for at in range(0, len(panels), wide)]
    subtitle = (
        "Laplace and normal noise of equal ε and δ, negative counts set to zero; dashed: the original table"
    )
    return apply_theme(alt.vconcat(*lines, spacing=26).resolve_scale(color="shared"), title, subtitle)


def _boxes(records: Records, measure: str, truth: float | None) -> Any:
    """Five-number boxes, computed here so that the picture does not carry every run."""
    own = [r for r in records if r["measure"] == measure]
    runs: dict[tuple[str, str], list[float]] = {}
    for record in own:
        runs.setdefault((record["law"], record["epsilon"]), []).append(record["value"])
    boxes = [
        {"law": distribution, "epsilon": e, **five_numbers(values)}
        for (distribution, e), values in runs.items()
    ]
    colour = alt.Color("law:N", scale=_DISTRIBUTIONS).title(None).legend(orient="top")
    base = alt.Chart(alt.InlineData(values=boxes)).encode(
        x=alt.X("epsilon:N", sort=list(dict.fromkeys(e for _, e in runs))).title("ε").axis(labelAngle=0),
        xOffset=alt.XOffset("law:N").scale(paddingInner=0.2, paddingOuter=0.15),
        color=colour,
    )
    y = alt.Y("low:Q").title(_TITLES[measure]).scale(zero=measure != "V").axis(tickCount=5)
    layers = box_layers(base, y, 11)
    if truth is not None:
        line = alt.Chart(alt.InlineData(values=[{"truth": truth}]))
        layers.insert(0, line.mark_rule(color=INK, strokeDash=[4, 3]).encode(y="truth:Q"))
    return alt.layer(*layers).properties(width=250, height=200)


def ratio_histograms(draws: Mapping[float, list[float]], critical: float) -> Any:
    """Figure 4: histograms of twice the log likelihood ratio for the true and a wrong hypothesis."""
    panels = []
    for hypothesis, values in draws.items():
        step = 0.5 if max(values) < 20 else 2.0
        data = alt.InlineData(values=[{"t": value} for value in values])
        bars = (
            alt.Chart(data)
            .mark_bar(color=BLUE if hypothesis == min(draws) else ORANGE, stroke="white", strokeWidth=0.5)
            .encode(
                x=alt.X("t:Q").bin(step=step).title("2 log(likelihood ratio)").axis(tickCount=8, format="~g"),
                y=alt.Y("count()").title("Draws").axis(tickCount=5),
            )
        )
        line = alt.Chart(alt.InlineData(values=[{"c": critical, "says": "5 % critical value 3.84"}]))
        rule = line.mark_rule(color=INK, strokeDash=[4, 3]).encode(x="c:Q")
        label = line.mark_text(align="left", dx=-2, dy=-7, color=SOFT_INK, fontSize=11.5).encode(
            x="c:Q", y=alt.value(0), text="says:N"
        )
        true = "true" if hypothesis == min(draws) else "false"
        heading = alt.TitleParams(f"H0: p = {hypothesis:g} ({true})", fontSize=13, offset=20)
        panels.append(alt.layer(bars, rule, label).properties(width=310, height=220, title=heading))
    return apply_theme(
        alt.hconcat(*panels, spacing=36),
        "With the noise in the likelihood the test of a proportion keeps its size and its power",
        "500 draws; 80 people, p = 0.5, Laplace noise ε = 0.5, m = 5; values above 50 shown at 50 (Figure 4)",
    )


def deviations_by_margin(records: Records) -> Any:
    """Section 7: the spread of a k-way margin's cell under three ways to spend the budget."""
    names = list(dict.fromkeys(r["scheme"] for r in records))
    colour = alt.Color("scheme:N").scale(domain=names, range=[BLUE, GREEN, ORANGE]).title(None)
    chart = (
        alt.Chart(alt.InlineData(values=records))
        .mark_line(strokeWidth=2.5, point={"size": 50})
        .encode(
            x=alt.X("ways:O").title("Variables of the margin").axis(labelAngle=0),
            y=alt.Y("deviation:Q")
            .scale(type="log", domain=[1, 60])
            .title("Standard deviation of a cell, times ε")
            .axis(values=[1, 2, 5, 10, 20, 50], format="~g"),
            color=colour.legend(orient="top", columns=1),
        )
        .properties(width=420, height=280)
    )
    return apply_theme(
        chart,
        "How to spend ε depends on which margins matter",
        "4-way table of 10 categories each (section 7)",
    )
