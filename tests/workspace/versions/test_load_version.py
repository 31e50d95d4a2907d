"""A load makes a version whole or not at all, checks before it reads a record, and charges once.

One lineage has one method and one budget for ever, and the ledger remembers it when the folders are gone.
"""

import re
import shutil
import subprocess
import sys
import threading
from fractions import Fraction

import pytest
from tests.workspace.conftest import REQUEST, place_of

from discreet.errors import BadDescription, BudgetSpent
from discreet.model.description.dataset_toml import parse_dataset
from discreet.release.load_cautions import dry_load_document
from discreet.release.pipeline import release_table
from discreet.workspace.ledger_location import LEDGER, open_ledger
from discreet.workspace.versions.load_version import LoadJob, dry_run_load, load, load_dataset, noise_for
from discreet.workspace.workspace import Workspace


def test_the_same_records_and_description_are_the_same_version(town, workspace):
    before = place_of(workspace.folder)
    load_dataset(workspace.folder, town.description, town.records)
    assert place_of(workspace.folder) == before
    assert len(list(before.parent.glob("?" * 32))) == 1


@pytest.mark.slow
def test_a_reader_never_sees_a_half_loaded_version(town, workspace):
    """Loads of two versions in turn, a reader all the while: every answer is whole and from one of the two."""
    labels, errors, stop = set(), [], threading.Event()

    def read():
        while not stop.is_set():
            try:
                labels.add(release_table(Workspace(workspace.folder).stored("town"), REQUEST).dataset.label)
            except Exception as error:  # noqa: BLE001 - any error is a finding
                errors.append(repr(error))

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(6):
        load_dataset(workspace.folder, town.description.replace("A town", f"Town {turn % 2}"), town.records)
    stop.set()
    reader.join()
    assert not errors
    assert labels <= {"A town", "Town 0", "Town 1"}


@pytest.mark.slow
def test_an_interrupted_load_leaves_the_old_version_and_is_swept_up(town, workspace):
    """A process that is killed in the middle of a load: nothing of it is ever served."""
    program = (
        "import os, sys; from pathlib import Path; import discreet.workspace.versions.load_version as w\n"
        "w.set_current = lambda *a: os._exit(9)\n"
        "import pyarrow.parquet as pq\n"
        "text = Path(sys.argv[2]).read_text().replace('A town', 'Half a town')\n"
        "w.load_dataset(Path(sys.argv[1]), text, Path(sys.argv[3]))"
    )
    import pyarrow.parquet as pq

    pq.write_table(town.records, workspace.folder / "r.parquet")
    (workspace.folder / "d.toml").write_text(town.description)
    arguments = [workspace.folder, workspace.folder / "d.toml", workspace.folder / "r.parquet"]
    assert subprocess.run([sys.executable, "-c", program, *map(str, arguments)], check=False).returncode == 9
    assert Workspace(workspace.folder).stored("town").dataset.label == "A town"
    (workspace.folder / "datasets" / "town" / ".loading-dead").mkdir()
    load_dataset(workspace.folder, town.description, town.records)
    assert not list((workspace.folder / "datasets" / "town").glob(".loading*"))


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        ('family = "maxnet"', 'Did you mean "maxent"'),
        ('family = "maxent"\nD = 5', "needs V"),
        ('family = "maxent"\nD = 5\nV = 3\nW = 2', 'no parameter "W"'),
    ],
)
def test_a_protection_that_cannot_be_is_refused_before_a_record_is_read(town, tmp_path, noise, message):
    text = town.description.split("[protection.noise]")[0] + "[protection.noise]\n" + noise
    with pytest.raises(BadDescription) as raised:
        load_dataset(tmp_path / "workspace", text, iter(()))
    assert message in str(raised.value)


def test_a_delta_that_no_noise_has_is_refused_before_a_record_is_read(private_description, tmp_path):
    """The advice is one that can be followed. Wrong alternative: "raise delta", after all records were read."""

    def at(delta):
        return private_description.replace("delta = 1e-9", f"delta = {delta}", 1)

    with pytest.raises(BadDescription, match="cannot promise delta 0") as raised:
        load_dataset(tmp_path / "workspace", at("0.0"), iter(()))
    least = re.search(r"Raise delta to (\S+) or more", raised.value.advice)[1]
    assert 0 < float(least) < 1e-12
    assert noise_for(parse_dataset(at(least))).claim.delta <= Fraction(least)


def test_rules_are_checked_at_load_and_read_once_at_open(town, tmp_path):
    rule = '\n[[rule]]\nkind = "max-variables"\nmost = 2\nlevel = "{}"\n'
    with pytest.raises(BadDescription, match='"max-variables" has level'):
        town.load(tmp_path / "bad", town.description + rule.format("arae"))
    workspace = town.load(tmp_path / "good", town.description + rule.format("area"))
    (read,) = workspace.stored("town").rules
    assert (read.kind, read.most, read.level) == ("max-variables", 2, "area")


def everything(folder):
    """Every file of a workspace with its bytes; SQLite's own aside."""
    return {
        path.relative_to(folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(f"{LEDGER}-")
    }


def test_nothing_is_written_where_nothing_was(private_town, tmp_path):
    found = dry_run_load(LoadJob(tmp_path / "none", private_town.description, private_town.records))
    assert not found.receipt.repeat
    assert not (tmp_path / "none").exists()


def test_the_price_is_that_of_the_load_that_follows(private_town, tmp_path):
    folder = tmp_path / "w"
    told = dry_load_document(LoadJob(folder, private_town.description, private_town.records))["charge"]
    receipt = load(LoadJob(folder, private_town.description, private_town.records)).receipt
    assert (told["epsilon"], told["delta"]) == (float(receipt.loss), float(receipt.failure))
    assert told["left"]["epsilon"] == float(receipt.left[0])


def test_a_workspace_is_left_byte_for_byte_and_what_is_paid_is_free(private_town):
    before = everything(private_town.folder)
    again = dry_load_document(LoadJob(private_town.folder, private_town.description, private_town.records))[
        "charge"
    ]
    assert again["repeat"]
    assert again["epsilon"] == 0
    second = private_town.description.replace('version = "1"', 'version = "2"')
    assert (
        dry_load_document(LoadJob(private_town.folder, second, private_town.records))["charge"]["epsilon"] > 3
    )
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
        for attempt in (dry_run_load, load):
            with pytest.raises(error) as refused:
                attempt(LoadJob(folder, description, records))
            said.append(str(refused.value))
        assert said[0] == said[1]


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
