"""Tables of DuckDB and SQLite databases; SQLite through Python's standard library."""

import sqlite3
from pathlib import Path
from urllib.parse import quote

import duckdb

from discreet.errors import BadData
from discreet.model.description.sections import FileOptions
from discreet.records.readers import Reader
from discreet.records.source import Source, Stream, choose_table, quote_name, unique_names
from discreet.records.storage import connect_duckdb

DUCKDB = (".duckdb", ".ddb")


def _open(connection: duckdb.DuckDBPyConnection, path: Path, options: FileOptions, aside: Path) -> Source:
    if path.suffix.lower() not in DUCKDB:
        return _open_sqlite(connection, path, options)
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


def _open_sqlite(connection: duckdb.DuckDBPyConnection, path: Path, options: FileOptions) -> Source:
    # A DuckDB thread fetches the rows.
    uri = f"file:{quote(str(path.absolute()))}?mode=ro"
    database = sqlite3.connect(uri, uri=True, check_same_thread=False)
    try:
        listed = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        options = choose_table([name for (name,) in database.execute(listed)], options, path.name)
        (records,) = database.execute(f"SELECT count(*) FROM {quote_name(options.table)}").fetchone()
        rows = database.execute(f"SELECT * FROM {quote_name(options.table)}")
    except sqlite3.Error:
        raise BadData(
            f"{path.name} is no SQLite database.", "Check that it is complete; a DuckDB file ends in .duckdb."
        ) from None
    stream = Stream(unique_names([column[0] for column in rows.description]), rows, path.name)
    return Source(stream.relation(connection), records, path.name, found=options, torn=stream.error)


READER = Reader("DuckDB or SQLite", (*DUCKDB, ".sqlite", ".sqlite3", ".db"), _open)
