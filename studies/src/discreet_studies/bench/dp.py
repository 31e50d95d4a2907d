"""One table under `dp`, region x age x occupation of a million records at epsilon 1: ours beside OpenDP if installed.

Ours is a released table through the whole pipeline: the ledger is asked, records are counted by DuckDB, totals and
zeros have noise, and tomorrow's answer is the same. OpenDP counts the cells of a list that is ready in memory, without
totals, and its answer is another one each time. Seconds are the best of the repeats; compare the ratio.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from discreet.model.request import TableRequest
from discreet.release.pipeline import release_table
from discreet.workspace.demo import census_batches, census_description
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace
from discreet_studies.bench.part import Part, Result, Wish, best, figure
from discreet_studies.bench.peers import load_opendp

ROWS, REPEATS = 1_000_000, 5
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
calibrate = false
name = "bench"
epsilon = 1.0
cap_epsilon = 1.0
"""


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
        workspace.close()
    # A cell of the declared table has one noise, the smallest there is; a total adds up many.
    one = min(
        (distribution for distribution in release.distribution.distributions if distribution.variance),
        key=lambda distribution: distribution.variance,
    )
    first, chances = one.distributions[0].distribution()
    error = float(np.abs(first + np.arange(len(chances))) @ chances)
    return {"who": "discreet", "seconds": round(seconds, 4), "cells": release.cells, "expected_error": error}


def opendp(rows: int, repeats: int) -> dict[str, Any]:
    """OpenDP's count-by-categories and Laplace noise on the same table."""
    dp = load_opendp()
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


def measure(wish: Wish) -> Iterator[Result]:
    """Ours, then OpenDP's, at each number of records."""
    if wish.peers:
        load_opendp()  # what is missing is told before the work
    repeats = wish.repeats or REPEATS
    for rows in wish.rows or (ROWS,):
        wish.say(f"{rows:,} records under dp")
        yield (mine := ours(rows, repeats)) | {"ratio": None}
        if wish.peers:
            wish.say(f"{rows:,} records: OpenDP")
            theirs = opendp(rows, repeats)
            yield theirs | {"ratio": round(theirs["seconds"] / mine["seconds"], 1)}


PART = Part(
    measure,
    {
        "who": lambda result: str(result["who"]),
        "seconds": figure("seconds", "{:.4f}"),
        "cells": figure("cells", "{:,}"),
        "OpenDP / ours": figure("ratio", "{:.0f}"),
    },
    takes_rows=True,
)
