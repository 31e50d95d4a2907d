"""A load without a trace checks what a load checks, and tells the same price."""

import pytest

from discreet.answer.load import dry_load
from discreet.errors import BadDescription, BudgetSpent
from discreet.workspace.ledger_place import LEDGER
from discreet.workspace.load import load_dataset
from discreet.workspace.load_dry_run import rehearse_load


def everything(folder):
    """Every file of a workspace with its bytes; SQLite's own aside."""
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(f"{LEDGER}-")
    }


def test_nothing_is_written_where_nothing_was(private_town, tmp_path):
    found = rehearse_load(tmp_path / "none", private_town.description, private_town.records)
    assert not found.receipt.repeat
    assert not (tmp_path / "none").exists()


def test_the_price_is_that_of_the_load_that_follows(private_town, tmp_path):
    folder = tmp_path / "w"
    told = dry_load(folder, private_town.description, private_town.records)["charge"]
    receipts = []
    load_dataset(folder, private_town.description, private_town.records, charged=receipts.append)
    assert (told["epsilon"], told["delta"]) == (float(receipts[0].loss), float(receipts[0].failure))
    assert told["left"]["epsilon"] == float(receipts[0].left[0])


def test_a_workspace_is_left_byte_for_byte_and_what_is_paid_is_free(private_town):
    before = everything(private_town.folder)
    again = dry_load(private_town.folder, private_town.description, private_town.records)["charge"]
    assert again["repeat"]
    assert again["epsilon"] == 0
    second = private_town.description.replace('version = "1"', 'version = "2"')
    assert dry_load(private_town.folder, second, private_town.records)["charge"]["epsilon"] > 3
    assert everything(private_town.folder) == before


@pytest.mark.slow
def test_what_a_load_refuses_is_refused_for_the_same_reason(private_town, town):
    folder, text = private_town.folder, private_town.description
    other = private_town.records.slice(1)
    dear = text.replace("epsilon = 4.0", "epsilon = 8.0", 1).replace('version = "1"', 'version = "2"')
    for description, records, error in (
        (text, other, BadDescription),  # the version belongs to other records
        (dear, other, BudgetSpent),
        (town.description, town.records, BadDescription),  # another method
        (text, private_town.records.drop_columns(["sex"]), BadDescription),
    ):
        said = []
        for attempt in (rehearse_load, load_dataset):
            with pytest.raises(error) as refused:
                attempt(folder, description, records)
            said.append(str(refused.value))
        assert said[0] == said[1]


def test_under_the_cell_key_method_there_is_nothing_to_charge(town, tmp_path):
    found = dry_load(tmp_path / "w", town.description, town.records)
    assert (found["method"], found["charge"]) == ("cellkey", None)
    assert not (tmp_path / "w").exists()
