"""The page "How it scales": measured curves, and on paper a plan for 1.4 billion records with its arithmetic.

Every number of the page follows from the results of one run, which stand beside it as JSON; a test makes the page again.
"""

import math
from itertools import groupby

from discreet_studies.bench.part import Result

#: The plan: records, seconds for a load and for one count of all records, records of a part.
PEOPLE, LOAD_WITHIN, COUNT_WITHIN, PART_OF = 1_400_000_000, 600, 1.0, 50_000_000
_HEADINGS = {
    "records": "## As the records grow",
    "cells": "## As the cells grow",
    "dimensions": "## As variables are crossed",
    "load": "## Loads",
    "reading": "## What no count can do without",
    "peers": "## Beside other programs",
}
_WORDS = {
    "records": "![A table's time as the records grow](how-it-scales-records.svg)\n\nThe ratio is ours over the bare count. "
    "Other engines, where the run had any, count the same records; their ratio is to DuckDB's bare count, too.",
    "cells": "![A table's time as its cells grow](how-it-scales-cells.svg)\n\nSmall tables by a district or area take the "
    "time of a pass over the records, large ones that of their cells: noise, rules and totals are paid by the cell.",
    "dimensions": "The census without its rules; a cube serves all of these tables.",
    "load": "![A load from Parquet as the records grow](how-it-scales-loads.svg)\n\nTime and memory of a process of its "
    "own. What a record takes on disk is all of the workspace; PostgreSQL keeps the records itself, and those are not "
    "counted.",
    "reading": "The table area x sex x age of the most records. A count must look at the codes of its variables and at "
    "the record keys once; the ratio is to that.",
    "peers": "One three-way table. The ratio is the peer's time over ours. R cellKey is left out where R does not have it.",
}
_COLUMNS = {
    "records": ("what", "by", "records", "cells", "seconds", "bare_s", "ratio", "cpu_ratio", "peak_mb"),
    "cells": ("what", "cells", "seconds", "bare_s", "ratio", "cpu_ratio"),
    "dimensions": ("what", "cells", "seconds", "bare_s", "ratio", "cpu_ratio"),
    "load": ("by", "records", "seconds", "peak_mb", "bytes_a_record"),
    "reading": ("what", "records", "seconds", "ratio", "cpu_ratio"),
    "peers": ("by", "records", "seconds", "ratio"),
}
_SHOWN = {
    "what": ("table", "{}"),
    "by": ("by", "{}"),
    "records": ("records", "{:,}"),
    "cells": ("cells", "{:,}"),
    "seconds": ("time", "{:.3f} s"),
    "bare_s": ("bare count", "{:.3f} s"),
    "ratio": ("ratio", "{:.2f}"),
    "cpu_ratio": ("of processor time", "{:.2f}"),
    "peak_mb": ("peak memory", "{:.0f} MB"),
    "bytes_a_record": ("a record on disk", "{:.1f} bytes"),
}


def document(_table: list[str], results: list[Result]) -> str:
    """The page of docs/evidence that has the results."""
    machine = _one(results, "machine")
    curves = {
        curve: list(points)
        for curve, points in groupby(sorted(results, key=_order), lambda r: r["curve"])
        if curve in _HEADINGS
    }
    lines = ["# How it scales", "", *_about(machine, results)]
    for curve, points in curves.items():
        lines += ["", _HEADINGS[curve], "", _WORDS[curve], "", *_grid(curve, points)]
    return "\n".join([*lines, "", *_plan(results, machine), "", *_again(), ""])


def _order(result: Result) -> int:
    return [*_HEADINGS, "machine"].index(result["curve"])


def _about(machine: Result, results: list[Result]) -> list[str]:
    most = max(r["records"] for r in results)
    return [
        f"One run of `discreet bench scale` on {machine['by']}, {machine['what']}; it took "
        f"{machine['seconds'] / 60:.0f} minutes, and a load average above the number of cores means that others used the "
        f"machine, too. The records are those of the demo census, up to {most:,}, with at most 25,000 small areas. "
        "Ours and "
        "DuckDB's bare `SELECT ..., count(*) ... GROUP BY` of the same stored records alternate, and each time is a "
        "median: "
        "compare the ratios, machines differ. The ratio of processor time counts all threads, and hardly changes when "
        "others use "
        "the machine. Ours has zeros, all totals, noise and the rules of the demo, as for the "
        "first "
        "time; the bare count has none of them.",
        "",
        "Three things make the cost grow. A **load** reads every record. A **live count** reads the codes of the variables "
        "of the table and the record keys, by the [compiled count](../decisions/0012-compiled-count.md) where "
        "`discreet[fast]` is installed. A **cube** has one row for each combination that occurs, so a table from "
        "it does "
        "not depend on the number of people.",
    ]


def _grid(curve: str, points: list[Result]) -> list[str]:
    names = _COLUMNS[curve]
    rows = [[_SHOWN[name][0] for name in names], ["---"] * len(names)]
    rows += [
        ["" if point[name] is None else _SHOWN[name][1].format(point[name]) for name in names]
        for point in points
    ]
    return [f"| {' | '.join(row)} |" for row in rows]


def _plan(results: list[Result], machine: Result) -> list[str]:
    """The arithmetic for 1.4 billion records, from the rates of the most records that were measured."""
    cores = int(machine["by"].split()[0])
    load = max((r for r in results if r["curve"] == "load" and r["by"] == "duckdb"), key=_records)
    counted = _one(results, "reading", "counted")
    rolled = max((r for r in results if r["what"] == "region x age x occupation"), key=_records)
    load_rate, count_rate = (r["records"] / r["seconds"] / cores for r in (load, counted))
    load_cores = math.ceil(PEOPLE / load_rate / LOAD_WITHIN)
    count_cores = math.ceil(PEOPLE / count_rate / COUNT_WITHIN)
    disk, codes = PEOPLE * load["bytes_a_record"] / 1e9, PEOPLE * 8 / 1e9
    parts = math.ceil(PEOPLE / PART_OF)
    tables = sum(math.comb(9, size) for size in (1, 2, 3))
    return [
        "## On paper: 1.4 billion records",
        "",
        "Nobody has run this. It is arithmetic with the rates above, and supposes that work on separate parts of the "
        "records "
        "grows with the cores, which holds for loads and counts (sums of integers) and not for disks and networks.",
        "",
        f"- **Fits.** A dataset has at most 2^31 = 2,147,483,648 records; {PEOPLE:,} are "
        f"{PEOPLE / 2**31:.0%} of that, and key sums stay exact.",
        f"- **Disk.** {load['bytes_a_record']:.1f} bytes a record: {disk:,.0f} GB.",
        f"- **Partition** by the finest geography, in {parts} parts of {PART_OF / 1e6:.0f} million. Counts, key sums "
        "and weights of "
        "parts add up, so no number depends on the parts.",
        f"- **Load.** {load_rate:,.0f} records a second and core by DuckDB: {PEOPLE / load_rate / 3600:,.1f} hours of one "
        f"core, or {LOAD_WITHIN / 60:.0f} minutes on {load_cores:,} cores. Spark spreads the same work over machines: ids "
        "are keyed where they are read, and only codes and keys are written. Its rate is its own: most of its time above "
        "is its start.",
        f"- **Live count.** {count_rate / 1e6:,.0f} million records a second and core: {PEOPLE / count_rate:,.1f} "
        "seconds of one core, "
        f"or {COUNT_WITHIN:g} second on {count_cores} cores, with {codes:,.1f} GB of codes and keys in memory for a "
        "table of three "
        "variables by area.",
        f"- **Cubes** by all declared margins are built once, in one pass over the parts. A table from one took "
        f"{1000 * rolled['seconds']:.0f} ms with {rolled['records']:,} people and takes as long with {PEOPLE:,}: its "
        "rows are "
        "combinations of categories, not people. Build them for everything that is asked often; live counts remain "
        "for the rest.",
        "- **Small areas.** One for 400 people would be 3.5 million areas, more than a table may have cells. Ask by "
        "region, or "
        "keep a dataset for each region.",
        f"- **Publish.** All tables of up to three of nine variables are {tables}. From cubes they are written in "
        f"{tables * rolled['seconds']:.1f} seconds of counting; a server of published tables needs no record, and any "
        "number of "
        "readers is a matter of files.",
    ]


def _again() -> list[str]:
    return [
        "## Measure it again",
        "",
        "```sh",
        "discreet bench scale --out docs/evidence/how-it-scales.md   # this page, its JSON and pictures",
        "discreet bench scale --json > scale.json                    # the results alone",
        "discreet bench scale --rows 1000000,10000000,100000000      # a hundred million: half an hour, 20 GB of disk",
        "discreet bench tables --rows 30000000 --json                # the tables of the benchmarks page with other records",
        "```",
        "",
        "`DISCREET_POSTGRES` names a server that is measured as well, and an installed engine is found by itself. The "
        "extra "
        "`fast` belongs to these figures: without it DuckDB counts live tables.",
    ]


def _records(result: Result) -> int:
    return int(result["records"])


def _one(results: list[Result], curve: str, what: str = "") -> Result:
    return next(r for r in results if r["curve"] == curve and what in ("", r["what"]))
