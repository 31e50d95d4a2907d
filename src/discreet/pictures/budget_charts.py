"""Charts of privacy budgets and margins: epsilon and error per table, and the error of each method by epsilon.

They are drawn from a budget's document, from the wanted margins alone, or from a study of public counts.

Source: Yang, Fienberg & Rinaldo (2012), figures 1 (sample size) and 2 (largest L1 distance).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.margins.margin_set import Axes, MarginSet
from discreet.margins.study import METHODS, advise, study
from discreet.pictures.library import alt
from discreet.pictures.theme import BLUE, GREEN, INK, ORANGE, SKY, SOFT_INK, apply_theme

#: The range of ε that the paper looks at, in even ratios.
EPSILONS = tuple(float(f"{e:.3g}") for e in np.geomspace(0.05, 2.0, 12))
_COLOURS = dict(zip(METHODS, (ORANGE, SOFT_INK, SKY, GREEN, BLUE), strict=True))
_TICKS = [0.05, 0.1, 0.2, 0.5, 1, 2]


def error_by_epsilon(
    wanted: MarginSet,
    delta: float = 0.0,
    *,
    neighbours: str = "add-remove",
    weights: str | Mapping[Axes, float] = "cells",
    epsilons: tuple[float, ...] = EPSILONS,
) -> Any:
    """The expected absolute error of a margin's cell against ε, one line a method."""
    records = []
    for epsilon in epsilons:
        advice = advise(wanted, epsilon, delta, neighbours=neighbours, weights=weights)
        records += [{"epsilon": epsilon, "method": m, "error": error} for m, error in advice.overall.items()]
    shown = [method for method in METHODS if any(r["method"] == method for r in records)]
    colour = alt.Color("method:N").scale(domain=shown, range=[_COLOURS[m] for m in shown]).title(None)
    y = (
        alt.Y("error:Q")
        .scale(type="log")
        .title("Mean absolute error of a cell")
        .axis(format="~g", tickCount=6)
    )
    lines = alt.Chart(alt.InlineData(values=records)).mark_line(strokeWidth=2.5, point={"size": 28})
    chart = lines.encode(x=_epsilon_axis(), y=y, color=colour.legend(orient="right"))
    chart = chart.properties(width=480, height=320)
    budget = f"{f'delta {delta:g}' if delta else 'Pure epsilon'}, {neighbours} neighbours"
    return apply_theme(chart, "What each method's error will be", f"{budget}; known before anything is spent")


def runs_by_epsilon(
    counts: NDArray[np.int64],
    wanted: MarginSet,
    method: str,
    *,
    neighbours: str = "add-remove",
    as_published: bool = False,
    reps: int = 10,
    seed: int | None = None,
    epsilons: tuple[float, ...] = EPSILONS,
) -> Any:
    """Sample size and largest L1 distance against ε: the mean and one standard deviation of some runs."""
    records = []
    for place, epsilon in enumerate(epsilons):
        own = None if seed is None else seed + place
        done = study(
            counts, wanted, method, epsilon,
            neighbours=neighbours, as_published=as_published, reps=reps, seed=own,
        )  # fmt: skip
        for what in ("sample_size", "max_l1"):
            values = [getattr(run, what) for run in done.runs]
            mean, spread = float(np.mean(values)), float(np.std(values))
            ends = {"mean": mean, "low": mean - spread, "high": mean + spread}
            records.append({"epsilon": epsilon, "what": what, **ends})
    total = int(counts.sum())
    panels = alt.hconcat(
        _panel(records, "sample_size", "Sample size", total),
        _panel(records, "max_l1", "Largest L1 distance of a margin", total),
        spacing=36,
    )
    scale = "the paper's scale" if as_published else "the true sensitivity"
    subtitle = f"{method}, {scale}, {reps} runs each: mean and one standard deviation; dashed: n = {total:,}"
    return apply_theme(panels, "What the mechanism does to the table", subtitle)


def _epsilon_axis() -> Any:
    x = alt.X("epsilon:Q", scale=alt.Scale(type="log", nice=False, padding=12)).title("Epsilon")
    return x.axis(values=_TICKS, format="~g", labelOverlap=False)


def _panel(records: list[dict[str, Any]], what: str, title: str, total: int) -> Any:
    own = [r for r in records if r["what"] == what]
    base = alt.Chart(alt.InlineData(values=own)).encode(x=_epsilon_axis())
    y = alt.Y("mean:Q").title(title).axis(format=",d", tickCount=5)
    band = base.mark_area(color=SKY, opacity=0.35).encode(y=alt.Y("low:Q").title(title), y2="high:Q")
    line = base.mark_line(color=BLUE, strokeWidth=2.5, point={"size": 28, "color": BLUE}).encode(y=y)
    truth = alt.Chart(alt.InlineData(values=[{"n": total}])).mark_rule(color=INK, strokeDash=[4, 4])
    return alt.layer(band, line, truth.encode(y=alt.Y("n:Q"))).properties(width=300, height=260)


#: More tables than this are too many lines to read; the dearest are shown.
MOST_LINES = 60
#: The claim may be this much below the epsilon that was granted.
_NEAR = 0.01


def budget_over_tables(found: Mapping[str, Any]) -> Any:
    """Epsilon and expected absolute error of every table, side by side."""
    tables = sorted(found["tables"], key=lambda table: (len(table["variables"]), table["variables"]))
    shown = sorted(tables, key=lambda table: -table["epsilon"])[:MOST_LINES]
    kept = [table for table in tables if any(table is each for each in shown)]
    records = [
        {
            "table": " x ".join(table["variables"]) or "(grand total)",
            "place": place,
            "epsilon": table["epsilon"],
            "error": table["expected_abs_error"],
        }
        for place, table in enumerate(kept)
    ]
    order = [record["table"] for record in records]
    words = "Expected absolute error of a cell (persons)"
    panels: Any = alt.hconcat(
        _bar_chart(records, order, "epsilon", "Epsilon", BLUE, names=True),
        _bar_chart(records, order, "error", words, ORANGE, names=False),
        spacing=18,
    )
    if "curve" in found:
        panels = alt.vconcat(panels, error_curve(found), spacing=26)
    cap, spent = found["cap"], found["spent"]
    loss = next(iter(cap))
    left = "" if len(kept) == len(tables) else f"; the {len(kept)} dearest are shown"
    return apply_theme(
        panels,
        f"Where the privacy budget of this version goes: {len(tables)} tables{left}",
        f"Budget {found['family']}: lifetime {loss} {cap[loss]:g}, spent {spent[loss]:.3g}; {found['neighbours']} "
        "neighbours",
    )


def error_curve(found: Mapping[str, Any]) -> Any:
    """The mean error of all tables of a joint universe by epsilon; the epsilon that was chosen is marked."""
    chosen = found["total"]["joint"]["epsilon"] if "joint" in found["total"] else None
    records = [
        {**each, "chosen": chosen is not None and abs(each["epsilon"] - chosen) < _NEAR * each["epsilon"]}
        for each in found["curve"]
    ]
    base = alt.Chart(alt.InlineData(values=records)).encode(
        x=alt.X("epsilon:Q").title("Epsilon of all tables together").scale(type="log").axis(format=".3~g"),
        y=alt.Y("expected_abs_error:Q").title("Mean expected absolute error (persons)").scale(zero=True),
    )
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        color=alt.Color("chosen:N").scale(domain=[False, True], range=[BLUE, ORANGE]).legend(None)
    )
    words = base.mark_text(align="left", dx=6, dy=-7, fontSize=10.5, color=INK).encode(
        text=alt.Text("expected_abs_error:Q").format(".3~g")
    )
    return (base.mark_line(color=BLUE) + points + words).properties(width=540, height=190)


def _bar_chart(
    records: list[dict[str, Any]], order: list[str], field: str, title: str, colour: str, *, names: bool
) -> Any:
    axis = alt.Axis(labelLimit=280, labelFontSize=11, title=None) if names else None
    base = alt.Chart(alt.InlineData(values=records)).encode(y=alt.Y("table:N").sort(order).axis(axis))
    length = alt.X(f"{field}:Q").title(title).axis(format=".6~g", tickCount=4)
    bars = base.mark_bar(color=colour, height=9).encode(x=length)
    words = base.mark_text(align="left", dx=4, fontSize=10.5, color=INK).encode(
        x=length, text=alt.Text(f"{field}:Q").format(".3~g")
    )
    return (bars + words).properties(width=260, height=alt.Step(17))
