"""What is DuckDB's own: its file, its SQL. What every engine must do is in `test_contract.py`."""

import subprocess
import sys
from collections import defaultdict
from itertools import chain

import numpy as np
import pyarrow.parquet as pq
import pytest

from discreet.errors import WorkspaceUnusable
from discreet.records.engine import AggregateQuery
from discreet.records.engines import duckdb as duckdb_engine
from discreet.records.engines.duckdb import DuckDBEngine
from discreet.records.engines.parquet import read_tag, write_seal
from discreet.workspace.workspace import Workspace

QUERIES = [
    AggregateQuery(("sex",)),
    AggregateQuery(("sex", "age", "job")),
    AggregateQuery(("area", "age"), (("sex", (1,)),)),
    AggregateQuery(("region",), (("age", (0, 2)), ("job", (0, 1, 3)))),
    AggregateQuery(("job",), (("area", (1, 4)),)),
]


def as_pairs(cells):
    return [
        (tuple(int(codes[n]) for codes in cells.codes), (int(cells.counts[n]), int(cells.key_sums[n])))
        for n in range(cells.counts.size)
    ]


class TestDuckDBEngine:
    @pytest.fixture
    def path(self, town_workspace):
        return (
            town_workspace.folder / "datasets" / "town" / town_workspace.stored("town").digest / "data.duckdb"
        )

    def test_it_draws_no_bar_of_its_own_even_where_python_seems_to_be_interactive(self, path):
        program = (
            "import sys, duckdb\nfrom pathlib import Path\nfrom discreet.records.engines.duckdb import DuckDBEngine\n"
            "asked = \"SELECT current_setting('enable_progress_bar')\"\n"
            "engine = DuckDBEngine(Path(sys.argv[1]))\n"
            "print(duckdb.connect().execute(asked).fetchall()[0][0], engine._cursor().execute(asked).fetchall()[0][0])"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == ["True", "False"], "DuckDB would draw one, our engine does not"

    @pytest.fixture
    def engine(self, path):
        engine = DuckDBEngine(path)
        yield engine
        engine.close()

    @pytest.mark.parametrize("query", QUERIES, ids=str)
    def test_the_parts_of_an_aggregate_add_up_to_it(self, engine, query, monkeypatch):
        monkeypatch.setattr(duckdb_engine, "BATCH", 7)
        added, parts = defaultdict(lambda: np.zeros(2, np.uint64)), list(engine.parts(query))
        for group, sums in chain.from_iterable(map(as_pairs, parts)):
            added[group] += np.array(sums, np.uint64)
        assert len(parts) > 1
        assert {group: tuple(sums.tolist()) for group, sums in added.items()} == dict(
            as_pairs(engine.aggregate(query))
        )

    def test_parts_that_cannot_be_read_say_so_in_our_words(self, engine):
        engine.close()
        with pytest.raises(WorkspaceUnusable, match="could not be counted"):
            list(engine.parts(QUERIES[0]))

    def test_the_file_is_opened_read_only(self, path, engine):
        before = path.read_bytes()
        engine.aggregate(QUERIES[1])
        with pytest.raises(Exception, match=r"(?i)read.only"):
            engine._connection.execute("DELETE FROM records")
        assert path.read_bytes() == before

    def test_a_damaged_file_gives_no_answer(self, tmp_path):
        (tmp_path / "data.duckdb").write_bytes(b"damaged")
        with pytest.raises(WorkspaceUnusable):
            DuckDBEngine(tmp_path / "data.duckdb")

    def test_a_name_that_is_no_identifier_never_reaches_sql(self, engine):
        with pytest.raises(ValueError, match="variable name"):
            engine.aggregate(AggregateQuery(('sex" FROM records; --',)))


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
    with pytest.raises(WorkspaceUnusable, match="have changed since their load"):
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
