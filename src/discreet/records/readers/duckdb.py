"""Tables of DuckDB databases."""

from __future__ import annotations

from pathlib import Path

import duckdb

from discreet.errors import BadData
from discreet.model.description.sections import FileOptions
from discreet.records.readers import Reader
from discreet.records.source import Source, choose_table, quote_name
from discreet.records.storage import connect_duckdb


def _open(connection: duckdb.DuckDBPyConnection, path: Path, options: FileOptions, aside: Path) -> Source:
    try:
        database = connect_duckdb(path, temporary=aside, read_only=True)
        listed = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY 1"
        options = choose_table([name for (name,) in database.execute(listed).fetchall()], options, path.name)
        table = database.sql(f"SELECT * FROM {quote_name(options.table)}")
        ((records,),) = database.execute(f"SELECT count(*) FROM {quote_name(options.table)}").fetchall()
    except duckdb.Error:
        raise BadData(
            f"{path.name} cannot be opened as a DuckDB database.",
            "Check that it is complete, and that no other program has it open.",
        ) from None
    stream = table.to_arrow_reader(100_000)
    return Source(connection.from_arrow(stream), records, path.name, found=options)


READER = Reader("DuckDB", (".duckdb", ".ddb"), _open)
