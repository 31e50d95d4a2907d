"""Pictures of how the cost grows: tables by records, by cells and by dimensions, and loads."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.pictures.library import alt
from discreet.pictures.theme import BLUE, ORANGE, apply_theme

Records = Sequence[dict[str, Any]]

_WAYS = ("protected, with zeros and totals", "DuckDB's bare count")
_SIZES = "replace(replace(format(datum.value, '~s'), 'k', ' k'), 'M', ' M')"


def pictures(records: Records) -> Mapping[str, Any]:
    """Every picture by its name."""
    own = [r for r in records if r["by"] == "duckdb"]
    return {
        "records": _by_records([r for r in own if r["curve"] == "records"]),
        "cells": _by_cells(own),
        "loads": _loads([r for r in own if r["curve"] == "load"]),
    }


def _by_records(records: Records) -> Any:
    names = list(dict.fromkeys(r["what"] for r in records))
    seconds = [r[key] for r in records for key in ("seconds", "bare_s")]
    panels = [
        _lines(
            [r for r in records if r["what"] == name],
            "records",
            "Records",
            log=True,
            first=not number,
            seconds=seconds,
        ).properties(width=150, height=210, title=alt.Title(_short(name), fontSize=12.5, offset=8))
        for number, name in enumerate(names)
    ]
    return apply_theme(
        alt.hconcat(*panels, spacing=18).resolve_scale(y="shared"),
        "A table's time as the records grow",
        "Logarithmic axes; medians of runs in turns. A cube serves the first three tables, the compiled count the last",
    )


def _by_cells(records: Records) -> Any:
    cells = _lines([r for r in records if r["curve"] == "cells"], "cells", "Cells", log=True, first=True)
    crossed = [{**r, "dimensions": r["what"].count(" x ") + 1} for r in records if r["curve"] == "dimensions"]
    dimensions = _lines(crossed, "dimensions", "Variables crossed", log=False, first=False)
    several = {r["records"] for r in records}
    return apply_theme(
        alt.hconcat(
            cells.properties(width=330, height=250, title=_small(f"{max(several):,} records: more cells")),
            dimensions.properties(
                width=330, height=250, title=_small(f"{min(several):,} records: more variables")
            ),
            spacing=26,
        ),
        "A table's time as its cells grow",
        "Seconds on a logarithmic axis; totals of every variable are among the cells",
    )


def _loads(records: Records) -> Any:
    base = alt.Chart(alt.InlineData(values=list(records)))
    x = alt.X("records:Q").title("Records").scale(nice=False)
    x = x.axis(labelExpr=_SIZES, values=[0, *sorted({r["records"] for r in records})])
    drawn = base.mark_line(strokeWidth=2.5, color=BLUE, point={"size": 50, "filled": True, "color": BLUE})
    time = drawn.encode(x=x, y=alt.Y("seconds:Q").title("Seconds").scale(zero=True))
    memory = drawn.encode(x=x, y=alt.Y("peak_mb:Q").title("Peak memory, MB").scale(zero=True))
    return apply_theme(
        alt.hconcat(
            time.properties(width=330, height=220), memory.properties(width=330, height=220), spacing=26
        ),
        "A load from Parquet as the records grow",
        "Read, checked, keyed, sorted, stored and sealed, in a process of its own",
    )


def _lines(
    records: Records, x: str, title: str, *, log: bool, first: bool, seconds: Sequence[float] = ()
) -> Any:
    """Ours and the bare count as two lines over one axis."""
    values = [
        {x: r[x], "way": way, "seconds": r[key]}
        for r in records
        for way, key in zip(_WAYS, ("seconds", "bare_s"), strict=True)
    ]
    across = alt.X(f"{x}:Q").title(title)
    ticks = sorted({r[x] for r in records}) if x == "records" else _decades([r[x] for r in records])
    across = (
        across.scale(type="log", nice=False).axis(labelExpr=_SIZES, values=ticks)
        if log
        else across.axis(tickMinStep=1, format="d")
    )
    up = alt.Y("seconds:Q").title("Seconds" if first else None).scale(type="log")
    colour = alt.Color("way:N").scale(domain=list(_WAYS), range=[BLUE, ORANGE]).title(None)
    dash = alt.StrokeDash("way:N").scale(domain=list(_WAYS), range=[[1, 0], [5, 4]]).title(None)
    return (
        alt.Chart(alt.InlineData(values=values))
        .mark_line(strokeWidth=2.5, point={"size": 40, "filled": True})
        .encode(
            x=across,
            y=up.axis(
                format="~g", values=_decades(seconds or [value["seconds"] for value in values], more=(2, 5))
            ),
            color=colour.legend(orient="bottom", symbolType="stroke", symbolSize=200),
            strokeDash=dash.legend(None),
        )
    )


def _decades(values: Sequence[float], more: tuple[int, ...] = ()) -> list[float]:
    """Powers of ten, and some between them, from just below the smallest value to just above the largest."""
    powers = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
    return [float(f"{step}e{power}") for power in powers for step in (1, *more)]


def _short(name: str) -> list[str]:
    """The name of a table on two lines."""
    first, *others = name.split(" x ")
    return [first, "x " + " x ".join(others)] if others else [first, " "]


def _small(text: str) -> Any:
    return alt.Title(text, fontSize=13, offset=8)
