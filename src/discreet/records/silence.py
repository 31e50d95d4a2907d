"""DuckDB without a bar of its own: in a notebook or `python -c` it draws one on standard output, among our documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def silence(connection: DuckDBPyConnection) -> None:
    """Turn the bar off where it is on.

    In a notebook without `ipywidgets` it is off, and DuckDB refuses every word about it, this one included.
    """
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() != [(False,)]:
        connection.execute("SET enable_progress_bar = false")
