"""The doctor finds each fault that was made, says what to do, and calls a sound workspace sound."""

import shutil

import pytest
from tests.workspace.conftest import flip

from discreet.workspace.ledger_location import LEDGER
from discreet.workspace.operate.diagnosis import examine
from discreet.workspace.operate.manage_versions import remove_dataset
from discreet.workspace.operate.rotate import rotate


def states(folder, **options):
    return {finding.what: finding.state for finding in examine(folder, **options)}


def test_a_sound_workspace_is_sound(folder, dp_folder):
    for each in (folder, dp_folder):
        assert set(states(each).values()) == {"sound"}


def spoil_history(folder):
    path = next(folder.rglob("history.json"))
    path.write_text(path.read_text("utf-8").replace('"closed": "close"', '"closed": ""'), "utf-8")


@pytest.mark.parametrize(
    ("harm", "what"),
    [
        (lambda folder: folder.chmod(0o755), "permissions"),
        (lambda folder: (folder / "secret").chmod(0o644), "secret"),
        (lambda folder: (folder / "secret").unlink(), "secret"),
        (lambda folder: (folder / "workspace.json").write_text('{"schema": 99}', "utf-8"), "schema"),
        (lambda folder: (folder / "workspace.toml").write_text("port = 'many'", "utf-8"), "options"),
        (lambda folder: (folder / "datasets" / "town" / "current").write_text("nothing", "ascii"), "town"),
        (spoil_history, "town: history"),
        (lambda folder: flip(next(folder.rglob("data.duckdb"))), None),
    ],
)
def test_each_fault_is_found_with_what_to_do(folder, harm, what):
    harm(folder)
    faults = [finding for finding in examine(folder) if finding.state == "fault"]
    assert faults
    assert all(finding.advice for finding in faults)
    assert what is None or what in {finding.what for finding in faults}


def test_a_byte_in_the_middle_is_found_by_reading_all_records_only(folder):
    flip(next(folder.rglob("data.duckdb")))
    assert "fault" in states(folder).values()
    assert "fault" not in states(folder, records=False).values()


def test_a_lost_ledger_is_a_fault_and_a_removed_dataset_is_none(dp_folder):
    remove_dataset(dp_folder, "town")
    assert states(dp_folder)["town"] == "sound"
    (dp_folder / LEDGER).unlink()
    assert states(dp_folder)["ledger"] == "fault"


def test_an_old_secret_is_a_caution_until_it_is_removed(folder):
    retired = rotate(folder).retired
    assert states(folder)[retired] == "caution"
    shutil.rmtree(folder / retired)
    assert "caution" not in states(folder).values()
