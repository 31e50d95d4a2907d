import hashlib
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import BadData
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace


def as_csv(records: pa.Table, path: Path) -> Path:
    records.to_pandas().to_csv(path, index=False)
    return path


def as_parquet(records: pa.Table, path: Path) -> Path:
    pq.write_table(records, path)
    return path


def as_arrow(records: pa.Table, path: Path) -> Path:
    with pa.ipc.new_file(path, records.schema) as writer:
        writer.write_table(records)
    return path


def as_polars(records: pa.Table) -> object:
    import polars as pl

    return pl.from_arrow(records)


SOURCES = {
    "csv": lambda records, folder: as_csv(records, folder / "town.csv"),
    "parquet": lambda records, folder: as_parquet(records, folder / "town.parquet"),
    "arrow file": lambda records, folder: as_arrow(records, folder / "town.arrow"),
    "arrow table": lambda records, folder: records,
    "arrow stream": lambda records, folder: records.to_reader(max_chunksize=700),
    "batches": lambda records, folder: iter(records.to_batches(max_chunksize=313)),
    "pandas": lambda records, folder: records.to_pandas(),
    "polars": lambda records, folder: as_polars(records),
    "shuffled": lambda records, folder: records.take(np.random.default_rng(2).permutation(len(records))),
    "pandas categories": lambda records, folder: records.to_pandas().astype(
        dict.fromkeys(["region", "area", "sex", "age", "job"], "category")
    ),
}


@pytest.fixture(scope="module")
def digest(town, town_workspace):
    return town_workspace.stored("town").digest


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_gives_the_same_version(source, town, digest, tmp_path):
    workspace = town.load(tmp_path / "workspace", records=SOURCES[source](town.records, tmp_path))
    assert workspace.stored("town").digest == digest


def test_what_is_stored_is_codes_and_keys_sorted_by_area_and_no_ids(town, town_workspace, secret):
    stored = town_workspace.stored("town")
    path = town_workspace.folder / "datasets" / "town" / stored.digest / "data.duckdb"
    with duckdb.connect(str(path), read_only=True) as connection:
        frame = connection.execute("SELECT * FROM records").df()
        types = dict(
            connection.execute(
                "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'records'"
            ).fetchall()
        )
    assert set(frame.columns) == {"region", "area", "sex", "age", "job", "record_key"}
    assert types["area"] == "UTINYINT"
    assert types["record_key"] == "UINTEGER"
    assert frame["area"].is_monotonic_increasing
    assert len(frame) == len(town.records)
    expected = town.records.to_pandas()
    assert (frame["job"] == 3).sum() == expected["job"].isna().sum()
    raw = path.read_bytes()
    assert hashlib.sha256(b"1000").digest()[:8] not in raw


def bad(records: pa.Table, column: str, value: object) -> pa.Table:
    """The records with one value changed in the middle."""
    frame = records.to_pandas()
    frame.loc[1234, column] = value
    return pa.Table.from_pandas(frame, preserve_index=False)


def with_child_at_work(records: pa.Table) -> pa.Table:
    frame = records.to_pandas()
    child = frame.index[frame["age"] == "child"][3]
    frame.loc[child, "job"] = "2"
    return pa.Table.from_pandas(frame, preserve_index=False)


BAD_RECORDS = {
    "unknown category": (
        lambda r: bad(r, "age", "adulr"),
        '\'adulr\' of "age" is not among its categories. Did you mean "adult"?',
    ),
    "missing value": (lambda r: bad(r, "age", None), 'no value of "age"'),
    "missing id": (lambda r: bad(r, "person", None), "no id"),
    "duplicate id": (lambda r: bad(r, "person", r["person"][7].as_py()), "same id"),
    "structural zero": (with_child_at_work, "structural zero 'Children have no job'"),
    "hierarchy": (lambda r: bad(bad(r, "area", "N1"), "region", "S"), "does not nest"),
    "no records": (lambda r: r.slice(0, 0), "no records"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BAD_RECORDS)
@pytest.mark.parametrize("source", ["arrow table", "csv"])
def test_bad_records_get_a_clear_error_and_leave_nothing(kind, source, town, tmp_path):
    change, message = BAD_RECORDS[kind]
    records = SOURCES[source](change(town.records), tmp_path)
    with pytest.raises(BadData) as raised:
        load_dataset(tmp_path / "workspace", town.description, records)
    assert message in str(raised.value)
    assert not list((tmp_path / "workspace" / "datasets" / "town").glob("[!.]*"))
    assert not list((tmp_path / "workspace" / "datasets" / "town").glob(".loading*"))


def test_a_refused_load_leaves_the_served_version_alone(town, tmp_path):
    workspace = town.load(tmp_path / "workspace")
    before = workspace.stored("town").digest
    with pytest.raises(BadData):
        load_dataset(tmp_path / "workspace", town.description, bad(town.records, "age", "x"))
    assert Workspace(tmp_path / "workspace").stored("town").digest == before
