"""How the cost grows: with records, with cells and with dimensions; loads and memory; engines and peers beside each other.

Everything is one run on one machine. Ours and DuckDB's bare `count(*)` of the same grouping alternate, and the median of
each counts, so that a busy machine slows both alike: compare the ratios. Ours has zeros, all totals, noise and rules, and
no verdict of an earlier table. A load runs in a process of its own, whose peak of memory is told. "Reading" is what any
count must do: the bytes of the codes and keys of the largest table are looked at once.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

import duckdb
import numpy as np

from discreet.model.request import TableRequest
from discreet.model.shape import table_shape
from discreet.records.compiled_count import open_codes, prepare_kernel
from discreet.records.engine import DEFAULT_ENGINE, engine_kinds
from discreet.records.engines.duckdb import DATABASE
from discreet.records.storage import RECORD_KEY
from discreet.records.tabulate import tabulate
from discreet.workspace.demo import census_description
from discreet.workspace.demo.geography import data_text
from discreet.workspace.operate.manage_versions import remove_dataset
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import StoredDataset, Workspace
from discreet_studies.bench.part import Part, Result, Wish, figure, in_turns
from discreet_studies.bench.peers import cellkey_seconds
from discreet_studies.bench.scale_page import document
from discreet_studies.bench.tables import (
    DATASET,
    MOST_AREAS,
    WORK,
    bare_count,
    ons_frame,
    ons_table,
    ours,
    peak_of,
    write_census,
)
from discreet_studies.pictures.scale import pictures

ROWS, REPEATS = (1_000_000, 10_000_000), 7
#: Tables of more and more cells, all but the first two by areas that no cube of a load has.
CELLS = (
    ("sex",),
    ("region", "age"),
    ("district", "sex"),
    ("district", "sex", "age"),
    ("area",),
    ("area", "sex"),
    ("area", "age"),
    ("area", "sex", "age"),
)
#: Variables that are crossed one after the other.
CROSSED = ("sex", "employment", "birthplace", "region", "education", "occupation")
THREE_WAY = "region x age x occupation"
LARGEST = "area x sex x age"


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a curve.

    Args:
        curve: records, cells, dimensions, load, reading, peers, or machine (its `seconds` are those of the run).
        by: The engine, or the peer.
        seconds: Ours, or the peer's.
        bare_s: DuckDB's bare count.
        ratio: Ours over the bare count; of a peer, its time over ours; of reading, the time over that of reading.
        cpu_ratio: The same of the processor time of all threads, which other programs on the machine hardly change.
        bytes_a_record: What a load leaves on disk.
    """

    curve: str
    what: str
    by: str
    records: int
    seconds: float
    cells: int | None = None
    bare_s: float | None = None
    ratio: float | None = None
    cpu_ratio: float | None = None
    peak_mb: float | None = None
    bytes_a_record: float | None = None


def measure(wish: Wish) -> Iterator[Result]:
    """All curves at the numbers of records that are wished for; engines, dimensions and peers at the smallest."""
    sizes, repeats = sorted(wish.rows or ROWS), wish.repeats or REPEATS
    kernel = "compiled count" if prepare_kernel(wait=True) else "no compiled count: install discreet[fast]"
    wish.say(f"{kernel}; the cost of {', '.join(f'{rows:,}' for rows in sizes)} records")
    begin, load = time.perf_counter(), os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        for point in _points(sizes, repeats, Path(name), wish):
            wish.say(f"{point.curve}: {point.what}, {point.by}, {point.records:,}: {point.seconds:.4f} s")
            yield asdict(point)
    cores = f"{os.cpu_count()} cores"
    busy = f"load average {load:.1f} before and {os.getloadavg()[0]:.1f} after"
    yield asdict(Point("machine", busy, cores, max(sizes), time.perf_counter() - begin))


def _points(sizes: list[int], repeats: int, folder: Path, wish: Wish) -> Iterator[Point]:
    for rows in sizes:
        parquet, workspace = folder / f"{rows}.parquet", folder / f"{rows}-{DEFAULT_ENGINE}"
        write_census(parquet, rows)
        yield _load(parquet, workspace, rows, DEFAULT_ENGINE)
        yield from _tables(workspace, repeats)
        if rows == sizes[0]:
            yield from _other_engines(parquet, workspace, rows, repeats, wish)
            yield from _dimensions(parquet, folder / "crossed", rows, repeats)
            if wish.peers:
                yield from _peers(workspace, rows, wish)
        if rows == sizes[-1]:
            yield from _cells(workspace, repeats)
            yield from _reading(workspace, rows, repeats)
        parquet.unlink()


def _load(parquet: Path, workspace: Path, rows: int, engine: str) -> Point:
    begin = time.perf_counter()
    peak = peak_of("load", workspace, parquet, rows, engine)
    seconds = time.perf_counter() - begin
    size = sum(path.stat().st_size for path in (workspace / "datasets").rglob("*") if path.is_file())
    return Point("load", "load from Parquet", engine, rows, seconds, peak_mb=peak, bytes_a_record=size / rows)


def _bare(workspace: Path) -> duckdb.DuckDBPyConnection:
    digest = (workspace / "datasets" / DATASET / "current").read_text("ascii").strip()
    return duckdb.connect(str(workspace / "datasets" / DATASET / digest / DATABASE), read_only=True)


def _sql(names: tuple[str, ...]) -> str:
    listed = ", ".join(names)
    return f"SELECT {listed}, count(*) FROM records GROUP BY {listed}"  # noqa: S608 - our own names


def _table(
    curve: str, stored: StoredDataset, bare: duckdb.DuckDBPyConnection, names: tuple[str, ...], repeats: int
) -> Point:
    """A protected table beside the bare count of its grouping."""
    request = TableRequest(DATASET, names[:1], names[1:])
    works = [partial(ours, stored, request), partial(bare_count, bare, _sql(names))]
    own, peer = map(median, in_turns(works, repeats))
    own_cpu, peer_cpu = map(median, in_turns(works, repeats, time.process_time))
    ((records,),) = bare.execute("SELECT count(*) FROM records").fetchall()
    cells = table_shape(request, stored.dataset).cells
    return Point(
        curve, " x ".join(names), DEFAULT_ENGINE, records, own, cells, peer, own / peer, own_cpu / peer_cpu
    )


def _tables(workspace: Path, repeats: int) -> Iterator[Point]:
    with closing(Workspace(workspace)) as opened, _bare(workspace) as bare:
        for work, (side, top) in WORK.items():
            point = _table("records", opened.stored(DATASET), bare, side + top, repeats)
            yield replace(point, peak_mb=peak_of("table", workspace, work))


def _cells(workspace: Path, repeats: int) -> Iterator[Point]:
    with closing(Workspace(workspace)) as opened, _bare(workspace) as bare:
        for names in CELLS:
            yield _table("cells", opened.stored(DATASET), bare, names, repeats)


def _other_engines(parquet: Path, beside: Path, rows: int, repeats: int, wish: Wish) -> Iterator[Point]:
    """The same tables on every other engine that answers here, beside DuckDB's bare count."""
    for engine in (kind.name for kind in engine_kinds() if kind.name != DEFAULT_ENGINE):
        workspace = beside.with_name(f"{rows}-{engine}")
        try:
            yield _load(parquet, workspace, rows, engine)
        except subprocess.CalledProcessError:
            wish.say(f"{engine}: left out, since it is not installed or does not answer")
            continue
        with closing(Workspace(workspace)) as opened, _bare(beside) as bare:
            for side, top in WORK.values():
                point = _table("records", opened.stored(DATASET), bare, side + top, repeats)
                yield replace(point, by=engine)
        remove_dataset(workspace, DATASET)


def _dimensions(parquet: Path, workspace: Path, rows: int, repeats: int) -> Iterator[Point]:
    """More and more variables crossed, in the same census without its rules."""
    text = census_description(rows, most_areas=MOST_AREAS).replace(data_text("census_rules.toml"), "")
    load_dataset(workspace, text.replace("max_variables = 3", f"max_variables = {len(CROSSED)}"), parquet)
    with closing(Workspace(workspace)) as opened, _bare(workspace) as bare:
        for number in range(1, len(CROSSED) + 1):
            yield _table("dimensions", opened.stored(DATASET), bare, CROSSED[:number], repeats)


def _reading(workspace: Path, rows: int, repeats: int) -> Iterator[Point]:
    """The largest table: its codes and keys looked at once, its cells counted, and the protected table."""
    with closing(Workspace(workspace)) as opened:
        stored = opened.stored(DATASET)
        request = TableRequest(DATASET, *WORK[LARGEST])
        shape, folder = table_shape(request, stored.dataset), workspace / "datasets" / DATASET / stored.digest
        codes = open_codes(folder, stored.dataset)
        if codes is None:
            return
        columns = [codes.column(name).view(np.uint8) for name in (*request.variables, RECORD_KEY)]
        works = (
            lambda: [column.max() for column in columns],
            lambda: tabulate(stored.engine, shape),
            lambda: ours(stored, request),
        )
        reading, counting, table = map(median, in_turns(works, repeats))
        cpu = list(map(median, in_turns(works, repeats, time.process_time)))
    yield Point("reading", "its codes and keys, looked at once", "numpy", rows, reading, shape.cells)
    for what, seconds, own_cpu in (
        ("counted", counting, cpu[1]),
        ("protected, as for the first time", table, cpu[2]),
    ):
        yield Point(
            "reading",
            what,
            DEFAULT_ENGINE,
            rows,
            seconds,
            shape.cells,
            ratio=seconds / reading,
            cpu_ratio=own_cpu / cpu[0],
        )


def _peers(workspace: Path, rows: int, wish: Wish) -> Iterator[Point]:
    """The three-way table by the ONS package, and by R cellKey where R has it."""
    names = [name for part in WORK[THREE_WAY] for name in part]
    frame = ons_frame(workspace)
    with closing(Workspace(workspace)) as opened:
        stored = opened.stored(DATASET)
        works = [
            partial(ours, stored, TableRequest(DATASET, *WORK[THREE_WAY])),
            partial(ons_table, frame, names),
        ]
        own, theirs = map(median, in_turns(works, 2))
    yield Point("peers", THREE_WAY, "ONS cell-key-perturbation", rows, theirs, ratio=theirs / own)
    seconds = cellkey_seconds(frame[[*names, "record_key"]], names)
    if seconds is None:
        wish.say("cellKey: left out, since there is no Rscript with the packages cellKey and ptable")
    else:
        yield Point("peers", THREE_WAY, "R cellKey", rows, seconds, ratio=seconds / own)


PART = Part(
    measure,
    {
        "curve": lambda result: str(result["curve"]),
        "work": lambda result: str(result["what"]),
        "by": lambda result: str(result["by"]),
        "records": figure("records", "{:,}"),
        "cells": figure("cells", "{:,}"),
        "time": figure("seconds", "{:.4f} s"),
        "bare count(*)": figure("bare_s", "{:.4f} s"),
        "ratio": figure("ratio", "{:.2f}"),
        "of processor time": figure("cpu_ratio", "{:.2f}"),
        "peak memory": figure("peak_mb", "{:.0f} MB"),
    },
    document,
    pictures,
    takes_rows=True,
)
