"""A workspace whose ledger is a PostgreSQL database: published, spent, asked again and refused as on SQLite."""

import pytest

from discreet.answer.pipeline import release_table
from discreet.errors import BudgetSpent, LedgerUnusable
from discreet.formats import named_format
from discreet.model.request import TableRequest
from discreet.workspace.ledger_place import LEDGER, accounts_of, open_ledger
from discreet.workspace.load import load_dataset
from discreet.workspace.workspace import Workspace

OUTSIDE = TableRequest("town", ("sex",), ("job",), ("area",))


@pytest.mark.slow
def test_a_workspace_is_served_from_a_ledger_on_postgresql(private_town, postgres_url, tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_LEDGER", postgres_url)
    folder = tmp_path / "pg"
    folder.mkdir(parents=True)
    (folder / "secret").write_bytes((private_town.folder / "secret").read_bytes())
    (folder / "secret").chmod(0o600)
    load_dataset(folder, private_town.description, private_town.records)
    assert not (folder / LEDGER).exists()
    key = accounts_of(folder).create("ann", "analyst")
    ledger = open_ledger(folder)
    ledger.allow("town", "ann", (ledger.state("town").cap[0], ledger.state("town").cap[1]))
    workspace = Workspace(folder)
    there = release_table(workspace.stored("town"), TableRequest("town", ("sex",), ("age",)))
    paid = release_table(workspace.stored("town"), OUTSIDE, workspace.asker(key))
    again = release_table(Workspace(folder).stored("town"), OUTSIDE)
    assert named_format("json").write(paid) == named_format("json").write(again)
    third = private_town.description.replace("epsilon = 4.0", "epsilon = 5.0")
    with pytest.raises(BudgetSpent):
        load_dataset(folder, third, private_town.records)
    monkeypatch.delenv("DISCREET_LEDGER")
    here = release_table(
        Workspace(private_town.folder).stored("town"), TableRequest("town", ("sex",), ("age",))
    )
    assert named_format("json").write(here) == named_format("json").write(there)
    with pytest.raises(LedgerUnusable):
        Workspace(folder).stored("town")
    with pytest.raises(LedgerUnusable, match="missing"):
        load_dataset(folder, private_town.description, private_town.records)
