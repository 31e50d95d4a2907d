"""Protected tables against their peers, in one run on one machine.

Ours (zeros and all margins included) is compared with DuckDB's default bare `count(*)` on the same stored
table, and with ONS `cell-key-perturbation` on a pandas frame of small integers, its best case. The runs
alternate and the best of several counts, so that a busy machine slows all of them alike.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

from discreet.model.request import TableRequest
from discreet.records.compiled_count import prepare_kernel
from discreet.records.engines.duckdb import DATABASE
from discreet.release.pipeline import release_table
from discreet.workspace.demo import census_batches, census_description
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import StoredDataset, Workspace
from discreet_studies.bench.part import Part, Result, Wish, figure, in_turns
from discreet_studies.bench.peers import load_ons

#: The tables that are timed: rows x columns.
WORK = {
    "age": (("age",), ()),
    "sex x age": (("sex",), ("age",)),
    "region x age x occupation": (("region",), ("age", "occupation")),
    "area x sex x age": (("area",), ("sex", "age")),
}
#: So that a table by small areas has at most 1.7 million cells, however many people there are.
MOST_AREAS = 25_000
LOAD = "load from Parquet"
DATASET = "census"
ROWS, REPEATS = (1_000_000, 10_000_000), 7


@dataclass(frozen=True, slots=True)
class Timing:
    """One piece of work at one size; ratios as the page of benchmarks shows them."""

    work: str
    rows: int
    ours_s: float
    duckdb_s: float | None = None
    ons_s: float | None = None
    ratio_duckdb: float | None = None
    ratio_ons: float | None = None
    peak_mb: float | None = None

    def as_json(self) -> dict[str, Any]:
        """The timing with its documented keys."""
        return asdict(self)


def measure(wish: Wish) -> Iterator[Result]:
    """Every piece of work at each number of records."""
    with tempfile.TemporaryDirectory() as folder:
        for rows in wish.rows or ROWS:
            wish.say(f"{rows:,} records: generating")
            for timing in timings(rows, Path(folder), repeats=wish.repeats or REPEATS, ons=wish.peers):
                wish.say(f"{rows:,} records: {timing.work}: {timing.ours_s:.3f} s")
                yield timing.as_json()


def timings(rows: int, folder: Path, *, repeats: int = 7, ons: bool = True) -> Iterator[Timing]:
    """Generate a census of a size, load it and time every piece of work."""
    parquet = folder / f"census-{rows}.parquet"
    write_census(parquet, rows)
    workspace = folder / f"workspace-{rows}"
    yield _timed_load(parquet, workspace, rows)
    prepare_kernel(wait=True)
    frame = ons_frame(workspace) if ons else None
    stored = Workspace(workspace).stored(DATASET)
    bare = duckdb.connect(str(workspace / "datasets" / DATASET / stored.digest / DATABASE), read_only=True)
    for work, (side, top) in WORK.items():
        request = TableRequest(DATASET, side, top)
        names = ", ".join(side + top)
        sql = f"SELECT {names}, count(*) FROM records GROUP BY {names}"  # noqa: S608 - our own names
        works = [partial(ours, stored, request), partial(bare_count, bare, sql)]
        own, peer = map(min, in_turns(works, repeats))
        theirs = None if frame is None else min(in_turns([partial(ons_table, frame, [*side, *top])], 2)[0])
        yield Timing(
            work,
            rows,
            round(own, 5),
            round(peer, 5),
            None if theirs is None else round(theirs, 5),
            round(own / peer, 3),
            None if theirs is None else round(theirs / own, 2),
            peak_of("table", workspace, work),
        )


def write_census(path: Path, rows: int) -> None:
    """The synthetic census as a Parquet file."""
    batches = census_batches(rows, most_areas=MOST_AREAS)
    first = next(batches)
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


def _timed_load(parquet: Path, workspace: Path, rows: int) -> Timing:
    """The load in a process of its own, so that its peak of memory is its own."""
    begin = time.perf_counter()
    peak = peak_of("load", workspace, str(parquet), str(rows))
    return Timing(LOAD, rows, round(time.perf_counter() - begin, 3), peak_mb=peak)


def ours(stored: StoredDataset, request: TableRequest) -> object:
    """A release as for the first time: what the rules said of earlier ones is forgotten."""
    stored.verdicts.clear()
    return release_table(stored, request)


def bare_count(connection: duckdb.DuckDBPyConnection, sql: str) -> object:
    """What DuckDB answers, as arrays."""
    return connection.execute(sql).fetchnumpy()


def ons_frame(workspace: Path) -> Any:
    """The same records for the ONS package: small integers and record keys below 256."""
    stored = Workspace(workspace).stored(DATASET)
    path = workspace / "datasets" / DATASET / stored.digest / DATABASE
    with duckdb.connect(str(path), read_only=True) as connection:
        names = sorted({name for side, top in WORK.values() for name in side + top})
        sql = f"SELECT {', '.join(names)}, (record_key % 256)::INTEGER AS record_key FROM records"  # noqa: S608
        return connection.execute(sql).df()


def ons_table(frame: Any, names: list[str]) -> Any:
    """A table by the ONS package."""
    create, generate = load_ons()
    ptable = _ons_ptable(generate)
    with redirect_stdout(sys.stderr):  # the package talks on standard output, which is for documents
        return create(frame, ptable, [], names, "record_key", use_existing_ons_id=False, threshold=0)


_PTABLES: dict[str, Any] = {}


def _ons_ptable(make: Callable[[], Any]) -> Any:
    """The perturbation table is made once; making it is not what is timed."""
    if "10-5" not in _PTABLES:
        _PTABLES["10-5"] = make()
    return _PTABLES["10-5"]


def peak_of(*arguments: object) -> float:
    """The peak of memory, in MB, of a new process that does one thing."""
    command = [sys.executable, "-m", "discreet_studies.bench.tables", *map(str, arguments)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _peak_mb() -> float:
    """The peak resident memory of this process; the kernel's own high-water mark where there is one."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123 - a kernel file
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource  # noqa: PLC0415 - not on every system

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


PART = Part(
    measure,
    {
        "work": lambda result: str(result["work"]),
        "records": figure("rows", "{:,}"),
        "ours": figure("ours_s", "{:.3f} s"),
        "DuckDB count(*)": figure("duckdb_s", "{:.3f} s"),
        "ONS": figure("ons_s", "{:.3f} s"),
        "ours / DuckDB": figure("ratio_duckdb", "{:.2f}"),
        "ONS / ours": figure("ratio_ons", "{:.2f}"),
        "peak memory": figure("peak_mb", "{:.0f} MB"),
    },
    takes_rows=True,
)


def _main(what: str, workspace: str, *arguments: str) -> None:
    if what == "load":
        parquet, rows, *engine = arguments
        description = census_description(int(rows), most_areas=MOST_AREAS)
        load_dataset(Path(workspace), description, Path(parquet), engine=engine[0] if engine else None)
    else:
        side, top = WORK[arguments[0]]
        release_table(Workspace(Path(workspace)).stored(DATASET), TableRequest(DATASET, side, top))
    sys.stdout.write(f"{_peak_mb():.1f}\n")


if __name__ == "__main__":
    _main(*sys.argv[1:])
