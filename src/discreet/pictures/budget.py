"""A picture of a privacy budget: what each declared table gets, the error that it buys, and the error at other epsilons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.pictures.library import alt
from discreet.pictures.theme import BLUE, INK, ORANGE, themed

if TYPE_CHECKING:
    from collections.abc import Mapping

#: More tables than this are too many lines to read; the dearest are shown.
MOST_LINES = 60
#: The claim may be this much below the epsilon that was granted.
_NEAR = 0.01


def budget_over_tables(found: Mapping[str, Any]) -> Any:
    """Epsilon and expected absolute error of every table, beside each other."""
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
    panels: Any = alt.hconcat(
        _bars(records, order, "epsilon", "Epsilon", BLUE, names=True),
        _bars(records, order, "error", "Expected absolute error of a cell (persons)", ORANGE, names=False),
        spacing=18,
    )
    if "curve" in found:
        panels = alt.vconcat(panels, error_curve(found), spacing=26)
    cap, spent = found["cap"], found["spent"]
    loss = next(iter(cap))
    left = "" if len(kept) == len(tables) else f"; the {len(kept)} dearest are shown"
    return themed(
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


def _bars(
    records: list[dict[str, Any]], order: list[str], field: str, title: str, colour: str, *, names: bool
) -> Any:
    """One number of each table as bars with the number written at their end."""
    axis = alt.Axis(labelLimit=280, labelFontSize=11, title=None) if names else None
    base = alt.Chart(alt.InlineData(values=records)).encode(y=alt.Y("table:N").sort(order).axis(axis))
    length = alt.X(f"{field}:Q").title(title).axis(format=".6~g", tickCount=4)
    bars = base.mark_bar(color=colour, height=9).encode(x=length)
    words = base.mark_text(align="left", dx=4, fontSize=10.5, color=INK).encode(
        x=length, text=alt.Text(f"{field}:Q").format(".3~g")
    )
    return (bars + words).properties(width=260, height=alt.Step(17))
