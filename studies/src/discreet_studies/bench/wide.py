"""A table of eight variables with all its margins, of which the cells that are not 0 are listed: time, cells and memory.

    region x district x sex x age x employment x occupation x education x birthplace   of the demo census

Each format is written by `discreet table --nonzero` in a process of its own, start included: its peak of memory is its own.
"""

import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from subprocess import DEVNULL, Popen
from typing import Any

from discreet.model.request import TableRequest
from discreet.release.nonzero_listing import check_nonzero, list_nonzero
from discreet.workspace.demo import census_batches, census_description
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace
from discreet_studies.bench.part import Part, Result, Wish, figure

ROWS = 1_000_000
TABLE = ("region", "district", "sex", "age", "employment", "occupation", "education", "birthplace")
FORMATS = ("parquet", "csv")


def measure(wish: Wish) -> Iterator[Result]:
    """Each format, at each number of records."""
    for rows in wish.rows or (ROWS,):
        with tempfile.TemporaryDirectory() as name:
            folder, text = Path(name), census_description(rows)
            start = min(text.index(section) for section in ("[[rule]]", "[protection]"))
            wish.say(f"{rows:,} records are loaded")
            load_dataset(folder, f"{text[:start]}[protection]\nmax_variables = 8\n", census_batches(rows))
            sizes = _sizes(folder)
            for form in FORMATS:
                wish.say(f"{rows:,} records as {form}")
                runs = [_run(folder, form) for _ in range(wish.repeats or 1)]
                yield {"format": form, "rows": rows, **sizes, **min(runs, key=lambda run: run["seconds"])}


def _sizes(folder: Path) -> dict[str, int]:
    workspace = Workspace(folder)
    question = check_nonzero(workspace.stored("census"), TableRequest("census", TABLE))
    listed = sum(cells.values.size for cells in list_nonzero(question).cells)
    workspace.close()
    return {"cells": question.cells, "listed": listed}


def _run(folder: Path, form: str) -> dict[str, Any]:
    """One process that writes the table; Linux tells its own time and memory when it ends."""
    out, rows = folder / f"wide.{form}", ",".join(TABLE)
    command = [
        sys.executable,
        "-c",
        "from discreet.cli.main import run; run()",
        "table",
        "census",
        "--nonzero",
    ]
    start = time.perf_counter()
    child = Popen([*command, "--rows", rows, "-w", str(folder), "--out", str(out)], stderr=DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise RuntimeError("the table was not written")
    return {
        "seconds": round(seconds, 2),
        "cpu_s": round(used.ru_utime + used.ru_stime, 2),
        "file_mb": round(out.stat().st_size / 1e6, 1),
        "peak_mb": round(used.ru_maxrss / 1024),
    }


PART = Part(
    measure,
    {
        "format": lambda result: str(result["format"]),
        "records": figure("rows", "{:,}"),
        "cells": figure("cells", "{:,}"),
        "listed": figure("listed", "{:,}"),
        "seconds": figure("seconds", "{:.1f}"),
        "processor": figure("cpu_s", "{:.1f} s"),
        "file": figure("file_mb", "{:.0f} MB"),
        "memory": figure("peak_mb", "{:.0f} MB"),
    },
    takes_rows=True,
)
