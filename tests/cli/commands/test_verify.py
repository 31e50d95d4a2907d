"""`discreet verify`: every dataset is told sound or not, and the exit code says whether all are."""

import json
import shutil

import pytest


@pytest.fixture
def folder(town_workspace, tmp_path):
    return shutil.copytree(town_workspace.folder, tmp_path / "w")


def damage(folder):
    (path,) = folder.glob("datasets/town/*/data.duckdb")
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)


def test_a_sound_workspace(run_here, folder):
    done = run_here("verify", "-w", folder)
    digest = (folder / "datasets" / "town" / "current").read_text().strip()
    assert (done.returncode, done.stdout) == (0, f"town: version {digest[:8]} is as it was loaded\n")
    told = json.loads(run_here("verify", "town", "--json", "-w", folder).stdout)
    assert told["datasets"] == [{"dataset": "town", "sound": True, "version": digest}]


def test_records_that_were_changed(run_here, folder):
    """The wrong alternative is a table, which is answered: opening looks at the ends of the file only."""
    damage(folder)
    assert run_here("table", "town", "--rows", "sex", "-w", folder).returncode == 0
    done = run_here("verify", "-w", folder)
    assert done.returncode == 70
    assert "town: not sound." in done.stdout
    assert "Load the dataset again." in done.stdout
    done = run_here("verify", "--json", "-w", folder)
    assert (done.returncode, json.loads(done.stdout)["datasets"][0]["sound"]) == (70, False)


def test_a_dataset_that_is_not_there(run_here, folder):
    done = run_here("verify", "twon", "-w", folder)
    assert done.returncode == 4
    assert 'Did you mean "town"' in done.stderr
