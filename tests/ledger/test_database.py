"""Opening a ledger: what is missing is named, and nothing is answered from it."""

from __future__ import annotations

import sqlite3

import pytest

from discreet.errors import LedgerUnusable
from discreet.ledger.database import create_database, open_database


def test_a_ledger_of_another_version_is_named_as_such(tmp_path):
    place = tmp_path / "ledger.sqlite"
    create_database(place).close()
    open_database(place).close()
    with sqlite3.connect(place) as connection:
        connection.execute("ALTER TABLE families DROP COLUMN neighbours")
    with pytest.raises(
        LedgerUnusable, match="another version of Discreet: `families` has no neighbours"
    ) as refused:
        open_database(place)
    assert "demo workspace" in refused.value.advice
