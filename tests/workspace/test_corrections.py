"""A corrected version: what changed is told to the custodian alone, who keeps the keys, collects, or begins anew."""

import json

import numpy as np
import pytest

from discreet.answer.load import load_dataset
from discreet.answer.pipeline import release_table
from discreet.errors import BadRequest
from discreet.model.request import TableRequest
from discreet.workspace.version import read_version
from discreet.workspace.workspace import Workspace

REQUEST = TableRequest("town", ("area", "sex"), ("age", "job"))


@pytest.fixture
def folder(town_folder):
    return town_folder


def load(folder, town, records, **options):
    said = []
    digest = load_dataset(folder, town.description, records, caution=said.append, **options)
    return digest, [sentence for sentence in said if sentence.startswith("Against")]


def numbers(folder):
    workspace = Workspace(folder)
    try:
        return release_table(workspace.stored("town"), REQUEST).values
    finally:
        workspace.close()


def current(folder):
    return (folder / "datasets" / "town" / "current").read_text().strip()


def test_with_kept_keys_few_cells_change_and_the_custodian_is_told(town, folder):
    once = numbers(folder)
    digest, said = load(folder, town, town.records.slice(1))
    assert digest == current(folder)
    assert said[0].startswith("Against the version that is served: 0 records added, 1 removed, 0 changed.")
    assert 0 < np.count_nonzero(numbers(folder) != once) <= 16, "the removed person is in at most 2^4 cells"


def test_the_same_records_are_no_correction(town, folder):
    assert load(folder, town, town.records)[1] == []


def test_collect_serves_nothing_and_leaves_nothing(town, folder):
    before, names = current(folder), sorted(path.name for path in (folder / "datasets" / "town").iterdir())
    digest, said = load(folder, town, town.records.slice(3), corrections="collect")
    assert digest == before == current(folder)
    assert "3 removed" in said[0]
    assert sorted(path.name for path in (folder / "datasets" / "town").iterdir()) == names


def test_collect_under_dp_charges_nothing(private_town):
    def charges():
        workspace = Workspace(private_town.folder)
        found = len(workspace.stored("town").dp.ledger.state("town").charges)
        workspace.close()
        return found

    text = private_town.description.replace('version = "1"', 'version = "2"')
    said, once = [], charges()
    few = private_town.records.slice(1)
    load_dataset(private_town.folder, text, few, caution=said.append, corrections="collect")
    assert charges() == once
    assert said
    assert not any("removed" in sentence for sentence in said)  # what a load says is the same for neighbours


@pytest.mark.slow
def test_a_new_lineage_changes_the_numbers_and_stays_for_later_loads(town, folder, secret):
    once = numbers(folder)
    _, said = load(folder, town, town.records.slice(1), corrections="new-lineage")
    anew = numbers(folder)
    assert "1 removed" in said[0]
    changed = np.count_nonzero(anew != once) / np.count_nonzero(once)
    assert changed > 0.5, "the wrong alternative, the same keys, changes at most 16 cells"
    assert read_version(folder / "datasets" / "town" / current(folder), secret).revisions.keys == 2
    _, said = load(folder, town, town.records.slice(1))
    assert said == []
    assert (numbers(folder) == anew).all(), "the next load does not fall back to the first keys"
    load(folder, town, town.records, corrections="new-lineage")
    assert read_version(folder / "datasets" / "town" / current(folder), secret).revisions.keys == 3


@pytest.mark.parametrize("choice", ["colect", ""])
def test_an_unknown_choice_is_refused(town, folder, choice):
    with pytest.raises(BadRequest, match="There is no way"):
        load(folder, town, town.records, corrections=choice)


def test_choices_without_a_meaning_are_refused(town, tmp_path, private_town):
    with pytest.raises(BadRequest, match="nothing to correct"):
        load(tmp_path / "new", town, town.records, corrections="collect")
    with pytest.raises(BadRequest, match="Under dp"):
        load(private_town.folder, private_town, town.records, corrections="new-lineage")


def test_the_command_tells_it_on_standard_error_alone(town, folder, run_here, tmp_path):
    (tmp_path / "town.toml").write_text(town.description)
    town.records.slice(2).to_pandas().to_csv(tmp_path / "town.csv", index=False)
    words = (
        "load",
        tmp_path / "town.toml",
        tmp_path / "town.csv",
        "--corrections",
        "collect",
        "--json",
        "-w",
        folder,
    )
    done = run_here(*words)
    assert done.returncode == 0, done.stderr
    assert "2 removed" in done.stderr
    assert "Nothing was published" in done.stderr
    assert json.loads(done.stdout)["digest"] == current(folder)
    assert "removed" not in done.stdout
