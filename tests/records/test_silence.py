"""DuckDB draws no bar of its own, and where it refuses every word about its bar nothing is said."""

import duckdb

from discreet.records.silence import silence


class InANotebook:
    """A connection of a notebook without `ipywidgets`: the bar is off, and to turn it off again is an error."""

    def execute(self, query):
        if query.startswith("SET"):
            raise duckdb.InvalidInputException("required package 'ipywidgets' is missing")
        return duckdb.sql("SELECT false")


def test_the_bar_is_off():
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = true")
    silence(connection)
    assert connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(False,)]


def test_a_notebook_without_widgets_opens_tables():
    """To say it in any case ended `discreet.open` in every such notebook."""
    silence(InANotebook())
