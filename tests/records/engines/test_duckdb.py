"""What is DuckDB's own: its file, its SQL. What every engine must do is in `test_contract.py`."""

import subprocess
import sys
from collections import Counter
from itertools import chain

import numpy as np
import pytest

from discreet.errors import WorkspaceUnusable
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import TableRequest
from discreet.model.shape import table_shape
from discreet.records.engine import AggregateQuery
from discreet.records.engines import duckdb as duckdb_engine
from discreet.records.engines.duckdb import DuckDBEngine
from discreet.records.tabulate import tabulate

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


def as_dict(cells):
    return dict(as_pairs(cells))


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
    def test_groups_counts_and_key_sums_are_those_of_the_records(self, engine, query, town, secret):
        frame = town.records.to_pandas()
        frame["job"] = frame["job"].fillna("9")
        dataset = parse_dataset(town.description)
        for variable in dataset.variables:
            frame[variable.name] = frame[variable.name].map(variable.position)
        for name, codes in query.filters:
            frame = frame[frame[name].isin(codes)]
        expected = frame.groupby(list(query.group_by)).size()
        found = as_dict(engine.aggregate(query))
        counts = {key: value[0] for key, value in found.items()}
        assert counts == {(k if isinstance(k, tuple) else (k,)): int(v) for k, v in expected.items()}

    @pytest.mark.parametrize("query", QUERIES, ids=str)
    def test_the_parts_of_an_aggregate_add_up_to_it(self, engine, query, monkeypatch):
        monkeypatch.setattr(duckdb_engine, "BATCH", 7)
        added = Counter(), Counter()
        parts = [as_pairs(part) for part in engine.parts(query)]
        for group, (count, key) in chain.from_iterable(parts):
            added[0][group] += count
            added[1][group] += key
        assert len(parts) > 1
        assert {group: (added[0][group], added[1][group]) for group in added[0]} == as_dict(
            engine.aggregate(query)
        )

    def test_parts_that_cannot_be_read_say_so_in_our_words(self, engine):
        engine.close()
        with pytest.raises(WorkspaceUnusable, match="could not be counted"):
            list(engine.parts(QUERIES[0]))

    def test_key_sums_arrive_as_exact_integers(self, engine, town):
        cells = engine.aggregate(AggregateQuery(("sex",)))
        assert cells.key_sums.dtype == np.uint64
        assert int(cells.key_sums.max()) > 2**40

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

    def test_a_table_has_every_cell(self, engine, town):
        dataset = parse_dataset(town.description)
        shape = table_shape(TableRequest("town", ("area",), ("age", "job")), dataset)
        exact = tabulate(engine, shape)
        assert exact.counts.shape == (6, 4, 5)
        assert int(exact.counts[-1, -1, -1]) == len(town.records)
