"""The layout of records in Parquet: its seal.

What is DuckDB's own on Parquet files: nothing is imported, and a changed file is noticed.
"""

import pyarrow.parquet as pq
import pytest

from discreet.errors import WorkspaceUnusable
from discreet.records.engine import AggregateQuery
from discreet.records.engines.parquet import read_tag, write_seal
from discreet.workspace.workspace import Workspace


def test_the_tag_is_kept_and_a_folder_without_one_is_refused(tmp_path):
    write_seal(tmp_path, "a tag")
    assert read_tag(tmp_path) == "a tag"
    (tmp_path / "seal.json").write_text("[]")
    with pytest.raises(WorkspaceUnusable, match=r"seal\.json cannot be opened"):
        read_tag(tmp_path)


@pytest.fixture
def version(town, tmp_path):
    workspace = town.load(tmp_path / "w", engine="parquet")
    yield workspace.folder / "datasets" / "town" / workspace.stored("town").digest
    workspace.close()


def test_records_are_sorted_by_the_finest_geography_and_no_database_is_made(version):
    assert not list(version.rglob("*.duckdb"))
    (file,) = (version / "records").iterdir()
    area = pq.read_table(file)["area"].to_pylist()
    assert area == sorted(area)
    assert len(area) == 3000


def test_a_file_that_was_changed_is_noticed(version):
    """The wrong alternative is to seal names alone: a record moved to another area would be counted there."""
    (file,) = (version / "records").iterdir()
    table = pq.read_table(file)
    pq.write_table(table.set_column(0, "region", table["sex"]), file)
    with pytest.raises(WorkspaceUnusable, match="not those of its load"):
        Workspace(version.parents[2]).stored("town")


def test_a_file_too_many_is_noticed(version):
    (file,) = (version / "records").iterdir()
    (version / "records" / "1.parquet").write_bytes(file.read_bytes())
    with pytest.raises(WorkspaceUnusable):
        Workspace(version.parents[2]).stored("town")


def test_the_custodians_folder_is_read_in_place_and_left_as_it_is(town, town_workspace, tmp_path):
    """A folder of Parquet files as source: nothing is written there, and later changes of it change no number."""
    source = tmp_path / "people"
    source.mkdir()
    for place in range(3):
        pq.write_table(town.records.slice(place * 1000, 1000), source / f"{place}.parquet")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in source.iterdir()}
    workspace = town.load(tmp_path / "w", records=source, engine="parquet")
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in source.iterdir()} == before
    assert workspace.stored("town").digest == town_workspace.stored("town").digest
    counted = workspace.stored("town").engine.aggregate(AggregateQuery(("sex",))).counts.tolist()
    for path in source.iterdir():
        path.unlink()
    again = Workspace(tmp_path / "w").stored("town").engine
    assert sorted(again.aggregate(AggregateQuery(("sex",))).counts.tolist()) == sorted(counted)
    workspace.close()
