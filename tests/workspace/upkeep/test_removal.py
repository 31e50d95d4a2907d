"""Removal: no record is left, nothing that was promised is forgotten."""

import pytest

from discreet.errors import BadRequest, LedgerUnusable, VersionClosed
from discreet.model.dataset_toml import parse_dataset
from discreet.workspace.ledger_place import LEDGER, open_ledger, refuse_lost_ledger
from discreet.workspace.lineage import lineage_keys
from discreet.workspace.load import load_dataset
from discreet.workspace.upkeep.places import home_of, versions_of
from discreet.workspace.upkeep.removal import remove_dataset, remove_version
from discreet.workspace.workspace import Workspace


def test_the_records_of_a_version_are_gone_and_its_history_is_not(folder):
    gone = remove_version(folder, "town", "1")
    assert not list(folder.rglob(f"{gone}/data.duckdb"))
    facts = {v.digest: v for v in versions_of(home_of(folder, "town"))}
    assert facts[gone].closed == "It is not kept any more."
    with pytest.raises(VersionClosed):
        Workspace(folder).stored("town", gone[:8])
    assert Workspace(folder).stored("town").dataset.version == "2"


def test_the_served_version_stays(folder):
    with pytest.raises(BadRequest, match="is served"):
        remove_version(folder, "town", "2")


def test_a_whole_dataset_is_not_served_and_holds_no_records(folder, town):
    assert len(remove_dataset(folder, "town")) == 3
    assert not list(folder.rglob("data.duckdb"))
    assert Workspace(folder).ids() == []
    load_dataset(folder, town.description, town.records)
    assert Workspace(folder).ids() == ["town"]


def test_keys_that_were_used_are_not_used_again(town, tmp_path):
    """Wrong alternative: a removed new lineage that is forgotten would bring the first keys back."""
    load_dataset(tmp_path, town.description, town.records)
    load_dataset(tmp_path, town.description, town.records.slice(200), corrections="new-lineage")
    dataset = parse_dataset(town.description)
    keys = lineage_keys(tmp_path, dataset)
    remove_dataset(tmp_path, "town")
    assert lineage_keys(tmp_path, dataset) == keys > 1


def test_the_ledger_keeps_its_charges_and_is_missed_when_it_is_lost(dp_folder):
    before = open_ledger(dp_folder).database
    with before.snapshot() as connection:
        charged = connection.exec_driver_sql("SELECT count(*) FROM charges").scalar()
    remove_dataset(dp_folder, "town")
    with open_ledger(dp_folder).database.snapshot() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM charges").scalar() == charged > 0
    (dp_folder / LEDGER).unlink()
    with pytest.raises(LedgerUnusable, match="missing"):
        refuse_lost_ledger(dp_folder)
