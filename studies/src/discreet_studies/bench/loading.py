"""How long a load takes, and how much memory: the demo census from CSV and from Parquet, beside DuckDB's bare read.

Each runs in a process of its own. The bare read takes the largest value of every column, all as text: what any reader
must do. A load checks, keys, sorts, stores and seals every record. Compare the ratios: machines differ.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pyarrow.csv as pc
import pyarrow.parquet as pq

from discreet.workspace.demo import census_batches, census_description
from discreet_studies.bench.part import Part, Result, Wish, figure

ROWS = (10_000_000,)
_BARE = """
import duckdb
connection = duckdb.connect(config={"memory_limit": "500MB"})
given = {"all_varchar": True, "header": True} if file.endswith("csv") else {}
relation = (connection.read_csv if given else connection.read_parquet)(file, **given)
relation.aggregate(", ".join(f'max("{name}"::VARCHAR)' for name in relation.columns)).fetchall()
"""
_LOAD = """
from pathlib import Path
from discreet.workspace.versions.load_version import load_dataset
load_dataset(Path(workspace), Path(description).read_text("utf-8"), Path(file))
"""
_TIMED = """
import json, os, resource, sys, time
file, description, workspace = sys.argv[1:]
start = time.perf_counter()
{work}
used = resource.getrusage(resource.RUSAGE_SELF)
megabytes = used.ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)
print(json.dumps([time.perf_counter() - start, used.ru_utime + used.ru_stime, megabytes]))
"""


def measure(wish: Wish) -> Iterator[Result]:
    """Write the files, then read each and load each."""
    for rows in wish.rows or ROWS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            wish.say(f"writing {rows:,} records")
            description = folder / "dataset.toml"
            description.write_text(census_description(rows), "utf-8")
            for file in write_files(folder, rows):
                wish.say(f"{file.name}: reading and loading")
                yield compare(file, description, rows, wish.repeats or 1)


def write_files(folder: Path, rows: int) -> list[Path]:
    """The census as CSV and as Parquet, a chunk at a time."""
    batches = iter(census_batches(rows))
    first = next(batches)
    files = [folder / "census.csv", folder / "census.parquet"]
    with (
        pc.CSVWriter(files[0], first.schema) as as_csv,
        pq.ParquetWriter(files[1], first.schema) as as_parquet,
    ):
        for batch in chain([first], batches):
            as_csv.write_batch(batch)
            as_parquet.write_batch(batch)
    return files


def compare(file: Path, description: Path, rows: int, repeats: int) -> Result:
    """The best of some bare reads and of some loads of a file."""
    bare = min(run(_BARE, file, description) for _ in range(repeats))
    load = min(run(_LOAD, file, description) for _ in range(repeats))
    return {
        "file": file.suffix[1:],
        "records": rows,
        "megabytes": file.stat().st_size / 2**20,
        "bare_s": bare[0],
        "load_s": load[0],
        "load_cpu_s": load[1],
        "load_mb": load[2],
        "ratio": load[0] / bare[0],
    }


def run(work: str, file: Path, description: Path) -> tuple[float, float, float]:
    """Seconds, seconds of processor time and megabytes of one process."""
    with tempfile.TemporaryDirectory() as workspace:
        words = [sys.executable, "-c", _TIMED.format(work=work), str(file), str(description), workspace]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    # DuckDB draws a bar before it, in `python -c`.
    seconds, cpu, megabytes = json.loads(done.stdout[done.stdout.rindex("[") :])
    return float(seconds), float(cpu), float(megabytes)


PART = Part(
    measure,
    {
        "file": lambda result: str(result["file"]),
        "records": figure("records", "{:,}"),
        "size": figure("megabytes", "{:,.0f} MB"),
        "bare read": figure("bare_s", "{:.1f} s"),
        "load": figure("load_s", "{:.1f} s"),
        "processor time": figure("load_cpu_s", "{:.1f} s"),
        "load / bare read": figure("ratio", "{:.1f}"),
        "memory": figure("load_mb", "{:,.0f} MB"),
    },
    takes_rows=True,
)
