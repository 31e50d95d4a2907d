"""How a test of a reader opens a file."""

import duckdb
import pytest

from discreet.records.readers import open_source


@pytest.fixture
def opened(tmp_path):
    """Open a file as a source; its relation may be read once."""
    connection = duckdb.connect()
    aside = tmp_path / "aside"
    aside.mkdir()
    yield lambda path, options=None: open_source(connection, path, aside, options)
    connection.close()
