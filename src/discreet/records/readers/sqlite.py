"""Tables of SQLite databases, through Python's standard library."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from discreet.errors import BadData
from discreet.model.description.sections import FileOptions
from discreet.records.readers import Reader
from discreet.records.source import Source, Stream, choose_table, quote_name, unique_names

if TYPE_CHECKING:
    import duckdb


def _open(connection: duckdb.DuckDBPyConnection, path: Path, options: FileOptions, _aside: Path) -> Source:
    # A DuckDB thread fetches the rows.
    database = sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, check_same_thread=False
    )
    try:
        listed = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
        names = [name for (name,) in database.execute(listed)]
        options = choose_table(names, options, path.name)
        (records,) = database.execute(f"SELECT count(*) FROM {quote_name(options.table)}").fetchone()
        rows = database.execute(f"SELECT * FROM {quote_name(options.table)}")
    except sqlite3.Error:
        raise BadData(
            f"{path.name} is no SQLite database.", "Check that it is complete; a DuckDB file ends in .duckdb."
        ) from None
    stream = Stream(unique_names([column[0] for column in rows.description]), rows, path.name)
    return Source(stream.relation(connection), records, path.name, found=options, torn=stream.error)


READER = Reader("SQLite", (".sqlite", ".sqlite3", ".db"), _open)
