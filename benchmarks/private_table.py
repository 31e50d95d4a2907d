"""One table under `dp`, region x age x occupation of a million records at epsilon 1: ours beside OpenDP if installed.

    python benchmarks/private_table.py [--rows 1000000] [--repeats 5] [--no-opendp] [--json]

Ours is a released table through the whole pipeline: the ledger is asked, records are counted by DuckDB, totals and
zeros have noise, and tomorrow's answer is the same. OpenDP counts the cells of a list that is ready in memory, without
totals, and its answer is another one each time. Seconds are the best of the repeats; compare the ratio.
"""
# ruff: noqa: INP001, PLC0415, T201 - a script, and OpenDP is optional

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.workspace.demo import census_batches, census_description
from discreet.model.request import TableRequest
from discreet.answer.pipeline import release_table
from discreet.workspace.load import load_dataset
from discreet.workspace.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE = ("region", "age", "occupation")
PROTECTION = """
[protection]
method = "dp"
[protection.universe]
variables = []
up_to = 0
tables = [["region", "age", "occupation"]]
margins = "sums"
[protection.budget]
family = "bench"
epsilon = 1.0
"""


def best(work: Callable[[], Any], repeats: int) -> float:
    """The shortest of some runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def ours(rows: int, repeats: int) -> dict[str, Any]:
    """Load a census under `dp` and ask for the table; the first answer warms nothing that is measured twice."""
    text = census_description(rows)
    start = min(text.index(section) for section in ("[[rule]]", "[protection]"))
    with tempfile.TemporaryDirectory() as folder:
        load_dataset(Path(folder), text[:start] + PROTECTION, census_batches(rows))
        workspace = Workspace(Path(folder))
        stored = workspace.stored("census")
        request = TableRequest("census", TABLE)
        seconds = best(lambda: release_table(stored, request), repeats)
        release = release_table(stored, request)
        noise = release.laws.margins[0][1] if release.laws is not None else None
        workspace.close()
    error = sum(abs(v) * float(p) for v, p in noise.rows[0].probabilities().items()) if noise else None
    return {"who": "discreet", "seconds": round(seconds, 4), "cells": release.cells, "expected_error": error}


def opendp(rows: int, repeats: int) -> dict[str, Any]:
    """OpenDP's count-by-categories and Laplace noise on the same table."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    codes, cells = [], 1
    for batch in census_batches(rows):
        place = np.zeros(batch.num_rows, dtype=np.int64)
        cells = 1
        for name in TABLE:
            column = batch.column(name)
            place = place * len(column.dictionary) + column.indices.to_numpy()
            cells *= len(column.dictionary)
        codes.append(place)
    values = np.concatenate(codes).tolist()
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    measure = (
        space
        >> dp.t.then_count_by_categories(
            list(range(cells)), null_category=False, MO="L1Distance<i32>", TOA=int
        )
        >> dp.m.then_laplace(scale=1.0)
    )
    seconds = best(lambda: measure(values), repeats)
    return {"who": "OpenDP", "seconds": round(seconds, 4), "cells": cells, "expected_error": None}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000, help="records")
    parser.add_argument("--repeats", type=int, default=5, help="runs of which the best counts")
    parser.add_argument("--no-opendp", action="store_true", help="leave out OpenDP")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    results = [ours(options.rows, options.repeats)]
    if not options.no_opendp:
        results.append(opendp(options.rows, options.repeats))
    if options.json:
        print(json.dumps(results, indent=2))
        return
    for result in results:
        print(f"{result['who']:<10}{result['seconds']:>9.4f} s  {result['cells']:>6,} cells")
    if len(results) == 2:
        print(f"OpenDP / ours: {results[1]['seconds'] / results[0]['seconds']:.0f}")


if __name__ == "__main__":
    main()
