"""Where the ledger is: made when it is first needed, and never made anew where something was charged."""

import pytest

from discreet.errors import LedgerUnusable
from discreet.records.keys import create_secret
from discreet.workspace.ledger_location import (
    LEDGER,
    has_ledger,
    ledger_for_loading,
    ledger_location,
    open_accounts,
    open_ledger,
)


def test_a_file_of_the_workspace_unless_an_option_names_a_database(tmp_path, monkeypatch):
    assert ledger_location(tmp_path) == tmp_path / LEDGER
    monkeypatch.setenv("DISCREET_LEDGER", "postgresql+psycopg://me@/ledger")
    assert ledger_location(tmp_path) == "postgresql+psycopg://me@/ledger"


def test_the_first_account_makes_the_ledger_and_reading_makes_none(tmp_path):
    create_secret(tmp_path / "secret")
    with pytest.raises(LedgerUnusable):
        open_ledger(tmp_path)
    assert not has_ledger(tmp_path)
    open_accounts(tmp_path).create("ann", "reader")
    assert has_ledger(tmp_path)
    assert [each.account for each in open_accounts(tmp_path).listing()] == ["ann"]


def test_a_lost_ledger_of_charged_datasets_is_not_made_anew(private_town):
    (private_town.folder / LEDGER).unlink()
    for asked in (ledger_for_loading, open_accounts):
        with pytest.raises(LedgerUnusable, match="datasets are registered in it"):
            asked(private_town.folder)
    assert not has_ledger(private_town.folder)
