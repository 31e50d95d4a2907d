"""`discreet versions`: which is served, and why another is not."""

import json
import shutil

import pytest

from discreet.records import cubes


def test_each_version_with_its_state(run_here, town_versions):
    found = json.loads(run_here("versions", "town", "--json", "-w", town_versions).stdout)["versions"]
    assert [(v["version"], v["current"], bool(v["closed"])) for v in found] == [
        ("0", False, True), ("1", False, False), ("2", True, False),
    ]  # fmt: skip
    told = run_here("versions", "town", "-w", town_versions).stdout
    assert "served" in told
    assert "few records" in " ".join(told.split())


def test_another_version_answers(run_here, town_versions, tmp_path):
    folder = shutil.copytree(town_versions, tmp_path / "w")
    table = ("table", "town", "--rows", "sex", "--json", "-w", folder)
    one, newest = run_here(*table, "--version", "1").stdout, run_here(*table).stdout
    assert [json.loads(each)["extension"]["dataset_version"] for each in (one, newest)] == ["1", "2"]
    assert run_here(*table, "--version", "0").returncode == 3
    assert "now serving version 1" in run_here("use", "town", "1", "-w", folder).stderr
    assert run_here(*table).stdout == one
    assert run_here("use", "town", "7", "-w", folder).returncode == 4


def test_nothing_is_removed_without_a_yes(run_here, town_versions, tmp_path):
    folder = shutil.copytree(town_versions, tmp_path / "w")
    assert run_here("remove", "town", "-w", folder).returncode != 0
    assert list(folder.rglob("data.duckdb"))
    done = run_here("remove", "town", "--version", "1", "--yes", "-w", folder)
    assert "remain. Published tables" in done.stderr
    assert run_here("remove", "town", "--yes", "-w", folder).returncode == 0
    assert not list(folder.rglob("data.duckdb"))


def test_words_and_no_codes(run_here, town, town_workspace, tmp_path):
    folder = shutil.copytree(town_workspace.folder, tmp_path / "w")
    description = tmp_path / "town.toml"
    description.write_text(town.description.replace('label = "Male"', 'label = "Men"'), "utf-8")
    assert run_here("relabel", description, "-w", folder).returncode == 0
    assert "Men" in run_here("table", "town", "--rows", "sex", "--format", "csv", "-w", folder).stdout
    description.write_text(
        town.description.replace('code = "1", label = "Male"', 'code = "M", label = "Male"'), "utf-8"
    )
    refused = run_here("relabel", description, "-w", folder)
    assert (refused.returncode, "more than a label or note" in refused.stderr) == (2, True)


def test_what_was_removed_or_cannot_be_served_is_told(run_here, town_versions, tmp_path):
    folder = shutil.copytree(town_versions, tmp_path / "town")
    (folder / "secret").chmod(0o644)
    told = " ".join(run_here("datasets", "-w", folder).stdout.split())
    assert "town cannot be served:" in told
    assert "can be read by others" in told
    (folder / "secret").chmod(0o600)
    run_here("remove", "town", "--yes", "-w", folder)
    assert "removed" in run_here("datasets", "-w", folder).stdout


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
    assert (done.returncode, done.stdout) == (0, f"town: version {digest[:8]} is intact\n")
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


def test_sound_and_not_sound(run_here, town_versions, tmp_path):
    folder = shutil.copytree(town_versions, tmp_path / "w")
    folder.chmod(0o700)
    assert run_here("doctor", "--quick", "-w", folder).returncode == 0
    folder.chmod(0o755)
    done = run_here("doctor", "--json", "-w", folder)
    faults = [each for each in json.loads(done.stdout)["findings"] if each["state"] == "fault"]
    assert (done.returncode, [each["what"] for each in faults]) == (70, ["permissions"])


def test_a_copy_is_made_once_and_the_same_table_comes_back(run_here, town_versions, tmp_path):
    done = run_here("backup", tmp_path / "copy", "-w", town_versions)
    assert "protect it like the workspace" in " ".join(done.stderr.split())
    again = run_here("backup", tmp_path / "copy", "-w", town_versions)
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    assert "was made at" in run_here("restore", tmp_path / "copy", "-w", tmp_path / "w").stderr
    words = ("table", "town", "--rows", "sex", "--format", "csv", "-w")
    assert run_here(*words, tmp_path / "w").stdout == run_here(*words, town_versions).stdout
    assert run_here("restore", tmp_path / "none", "-w", tmp_path / "x").returncode == 4


def test_it_stands_elsewhere(run_here, town_versions, tmp_path):
    folder = shutil.copytree(town_versions, tmp_path / "w")
    assert run_here("move", tmp_path / "there", "-w", folder).returncode == 0
    assert not folder.exists()
    assert run_here("table", "town", "--rows", "sex", "-w", tmp_path / "there").returncode == 0


def test_an_unknown_engine_and_the_same_engine_are_refused(run_here, town_versions):
    done = run_here("move-engine", "town", "--to", "cobol", "-w", town_versions)
    assert done.returncode != 0
    assert "duckdb" in done.stderr
    same = run_here("move-engine", "town", "--to", "duckdb", "-w", town_versions)
    assert "already" in same.stderr


@pytest.fixture
def cube_folder(town_workspace, tmp_path, monkeypatch):
    monkeypatch.setattr(cubes, "FEW", 10)
    return shutil.copytree(town_workspace.folder, tmp_path / "w")


def test_it_says_what_it_builds_and_why(run_here, cube_folder):
    planned = run_here("build", "town", "-w", cube_folder, "--dry-run")
    assert "times fewer" in planned.stdout
    assert "Nothing was built" in planned.stderr
    done = run_here("build", "town", "-w", cube_folder)
    assert done.returncode == 0, done.stderr
    assert "area x" in done.stdout
    assert "Cubes of version" in done.stderr
    listed = json.loads(run_here("versions", "town", "-w", cube_folder, "--json").stdout)
    assert "MB" in listed["versions"][-1]["cubes"]
    assert "cubes: Their checksums match" in run_here("doctor", "-w", cube_folder).stdout


def test_json_and_wrong_options(run_here, cube_folder):
    found = json.loads(run_here("build", "town", "-w", cube_folder, "--json", "--up-to", "1").stdout)
    assert {"digest", "kept", "planned", "built", "note"} <= set(found)
    assert "town" in run_here("build", "twon", "-w", cube_folder).stderr
    assert run_here("build", "town", "-w", cube_folder, "--within", "-1").returncode != 0
    for limit in ("nan", "inf"):
        assert (
            f"--within is {limit}" in run_here("build", "town", "-w", cube_folder, "--within", limit).stderr
        )
