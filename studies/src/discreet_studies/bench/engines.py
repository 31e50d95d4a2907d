"""Each engine beside itself: a protected table, and the engine's own count of the same groups.

The protected table has zeros, all totals, noise and rules. The bare query is the `GROUP BY` with `count(*)` of the engine,
without keys, and hands its rows over to Python. Both alternate in one run; no cube answers. An engine that is not installed,
or has no database to work with, is left out.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median

import duckdb

from discreet.model.request import TableRequest
from discreet.model.shape import table_shape
from discreet.records.compiled_count import prepare_kernel
from discreet.records.engine import engine_kinds
from discreet.records.engines.duckdb import DATABASE
from discreet.records.engines.parquet import RECORDS
from discreet.records.engines.postgres import ENVIRONMENT, PLACE
from discreet.records.engines.spark import spark_address, spark_session
from discreet.workspace.operate.make_cubes import make_cubes
from discreet.workspace.operate.manage_versions import remove_dataset
from discreet.workspace.workspace import Workspace
from discreet_studies.bench.part import Part, Result, Wish, figure, in_turns
from discreet_studies.bench.tables import DATASET, WORK, bare_count, ours, peak_of, write_census

ROWS, REPEATS = (1_000_000,), 7
#: A bare query: from the names of the grouped variables to their counts.
Bare = Callable[[tuple[str, ...]], object]


@dataclass(frozen=True, slots=True)
class Timing:
    """A protected table and the engine's own count; medians of one run."""

    work: str
    engine: str
    records: int
    cells: int
    ours_s: float
    bare_s: float
    ratio: float


def measure(wish: Wish) -> Iterator[Result]:
    """Every table on every engine that answers here."""
    prepare_kernel(wait=True)
    with tempfile.TemporaryDirectory() as name:
        for rows in wish.rows or ROWS:
            parquet = Path(name) / f"{rows}.parquet"
            write_census(parquet, rows)
            for engine in (kind.name for kind in engine_kinds()):
                workspace = Path(name) / f"{rows}-{engine}"
                try:
                    peak_of("load", workspace, parquet, rows, engine)
                except subprocess.CalledProcessError:
                    wish.say(f"{engine}: left out, since it is not installed or does not answer")
                    continue
                make_cubes(workspace, DATASET, within=0)
                for timing in timings(workspace, engine, rows, wish.repeats or REPEATS):
                    wish.say(f"{engine}, {rows:,} records: {timing.work}: {timing.ratio:.2f}")
                    yield asdict(timing)
                remove_dataset(workspace, DATASET)


def timings(workspace: Path, engine: str, records: int, repeats: int) -> Iterator[Timing]:
    """Every piece of work on one engine."""
    with ExitStack() as opened:
        stored = opened.enter_context(closing(Workspace(workspace))).stored(DATASET)
        bare = BARE[engine](workspace / "datasets" / DATASET / stored.digest, opened)
        for work, (side, top) in WORK.items():
            request = TableRequest(DATASET, side, top)
            turns = in_turns([partial(ours, stored, request), partial(bare, side + top)], repeats)
            own, plain = map(median, turns)
            cells = table_shape(request, stored.dataset).cells
            yield Timing(work, engine, records, cells, own, plain, own / plain)


def _duckdb(folder: Path, opened: ExitStack) -> Bare:
    connection = opened.enter_context(duckdb.connect(str(folder / DATABASE), read_only=True))
    return lambda names: bare_count(connection, group_by_sql(names, "records"))


def _parquet(folder: Path, opened: ExitStack) -> Bare:
    connection = opened.enter_context(duckdb.connect())
    files = f"read_parquet('{folder / RECORDS}/*.parquet')"
    return lambda names: bare_count(connection, group_by_sql(names, files))


def _postgres(folder: Path, opened: ExitStack) -> Bare:
    import psycopg  # noqa: PLC0415 - an extra

    place = json.loads((folder / PLACE).read_text("utf-8"))
    connection = opened.enter_context(psycopg.connect(os.environ.get(ENVIRONMENT) or place["database"]))
    records = f"{place['schema']}.records"
    return lambda names: connection.execute(group_by_sql(names, records), binary=True).fetchall()


def _spark(folder: Path, _opened: ExitStack) -> Bare:
    frame = spark_session().read.parquet(spark_address(folder / RECORDS))
    return lambda names: frame.groupBy(*names).count().toArrow()


def group_by_sql(names: tuple[str, ...], records: str) -> str:
    """The engine's own count.

    >>> group_by_sql(("sex", "age"), "records")
    'SELECT sex, age, count(*) FROM records GROUP BY sex, age'
    """
    listed = ", ".join(names)
    return f"SELECT {listed}, count(*) FROM {records} GROUP BY {listed}"  # noqa: S608 - our own names


BARE: dict[str, Callable[[Path, ExitStack], Bare]] = {
    "duckdb": _duckdb,
    "parquet": _parquet,
    "postgres": _postgres,
    "spark": _spark,
}

PART = Part(
    measure,
    {
        "engine": lambda result: str(result["engine"]),
        "work": lambda result: str(result["work"]),
        "records": figure("records", "{:,}"),
        "cells": figure("cells", "{:,}"),
        "protected": figure("ours_s", "{:.4f} s"),
        "engine's own count(*)": figure("bare_s", "{:.4f} s"),
        "ratio": figure("ratio", "{:.2f}"),
    },
    takes_rows=True,
)
