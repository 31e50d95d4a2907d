"""Parquet: the table of the Arrow stream, with the words inside."""

import io
import json

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.formats import format_by_name


def test_it_is_the_table_of_the_stream(release):
    table = pq.read_table(io.BytesIO(format_by_name("parquet").write(release)))
    assert table.equals(pa.ipc.open_stream(format_by_name("arrow").write(release)).read_all())
    assert json.loads(table.schema.metadata[b"discreet"])["note"][0] == release.notes[0]


def test_duckdb_adds_up_the_same_numbers(release, tmp_path):
    file = tmp_path / "table.parquet"
    file.write_bytes(format_by_name("parquet").write(release))
    (total,) = duckdb.sql(f"select sum(value) from '{file}'").fetchall()[0]
    assert total == release.values[~release.missing].sum()
