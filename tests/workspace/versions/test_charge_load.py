"""One lineage has one method and one budget for ever, and the ledger remembers it when the folders are gone."""

import shutil
from fractions import Fraction

import pytest

from discreet.errors import BadDescription
from discreet.workspace.ledger_location import open_ledger
from discreet.workspace.versions.charge_load import refuse_other_method
from discreet.workspace.versions.load_version import LoadJob, load, load_dataset
from discreet.workspace.workspace import Workspace


def sister(description, budget="town"):
    """Another dataset of the same lineage."""
    named = description.replace('id = "town"', 'id = "sister"\nlineage = "town"', 1)
    return named.replace('family = "town"', f'family = "{budget}"')


def spent(folder):
    ledger = open_ledger(folder)
    try:
        return ledger.state("town").spent
    finally:
        ledger.close()


def test_one_lineage_has_one_budget_whatever_its_datasets_are_called(private_town):
    """Under two budgets the same persons would have two lifetime caps, each of which says it is the only one."""
    before = spent(private_town.folder)
    with pytest.raises(BadDescription, match='"town" was loaded in the budget "town", and this is "village"'):
        load_dataset(private_town.folder, sister(private_town.description, "village"), private_town.records)
    assert spent(private_town.folder) == before
    load_dataset(private_town.folder, sister(private_town.description), private_town.records)
    assert spent(private_town.folder)[0] == 2 * before[0]


@pytest.mark.parametrize("second", ["same id", "same lineage"])
def test_dp_and_then_cell_keys_is_refused_after_the_folder_was_deleted(private_town, town, second):
    shutil.rmtree(private_town.folder / "datasets" / "town")
    text = town.description if second == "same id" else sister(town.description)
    with pytest.raises(BadDescription, match="loaded under the method dp, and this is cellkey"):
        load_dataset(private_town.folder, text, town.records)


def test_cell_keys_and_then_dp_is_refused_after_the_folder_was_deleted(private_town, town, tmp_path):
    folder = tmp_path / "w"
    town.load(folder).close()
    shutil.rmtree(folder / "datasets" / "town")
    with pytest.raises(BadDescription, match="loaded under the method cellkey, and this is dp"):
        load_dataset(folder, private_town.description, private_town.records)


def test_it_is_refused_before_a_record_is_read(private_town, town):
    with pytest.raises(BadDescription, match="method"):
        load_dataset(private_town.folder, town.description, object())


def test_a_workspace_without_a_ledger_knows_of_nothing(tmp_path, private_town):
    refuse_other_method(tmp_path, Workspace(private_town.folder).stored("town").dataset)


def test_the_price_told_before_a_load_is_the_price_booked(private_town, tmp_path):
    from discreet.release.budget_document import forecast_workspace_budget

    told = forecast_workspace_budget(None, private_town.description)
    receipt = load(LoadJob(tmp_path / "w", private_town.description, private_town.records)).receipt
    assert told["price"] == {"epsilon": float(receipt.loss), "delta": float(receipt.failure)}
    assert told["left_after"]["epsilon"] == float(receipt.left[0])
    assert receipt.left == (Fraction(9) - receipt.loss, Fraction(1, 10**6) - receipt.failure)
