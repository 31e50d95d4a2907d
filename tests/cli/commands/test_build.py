"""`discreet build` as a person uses it."""

import json
import shutil

import pytest

from discreet.records import cube_plan


@pytest.fixture
def folder(town_workspace, tmp_path, monkeypatch):
    monkeypatch.setattr(cube_plan, "FEW", 10)
    return shutil.copytree(town_workspace.folder, tmp_path / "w")


def test_it_says_what_it_builds_and_why(run_here, folder):
    planned = run_here("build", "town", "-w", folder, "--dry-run")
    assert "times fewer" in planned.stdout
    assert "Nothing was built" in planned.stderr
    done = run_here("build", "town", "-w", folder)
    assert done.returncode == 0, done.stderr
    assert "area x" in done.stdout
    assert "Cubes of version" in done.stderr
    listed = json.loads(run_here("versions", "town", "-w", folder, "--json").stdout)
    assert "MB" in listed["versions"][-1]["cubes"]
    assert "cubes: They are sealed" in run_here("doctor", "-w", folder).stdout


def test_json_and_wrong_options(run_here, folder):
    found = json.loads(run_here("build", "town", "-w", folder, "--json", "--up-to", "1").stdout)
    assert {"digest", "kept", "planned", "built", "note"} <= set(found)
    assert "town" in run_here("build", "twon", "-w", folder).stderr
    assert run_here("build", "town", "-w", folder, "--within", "-1").returncode != 0
    for limit in ("nan", "inf"):
        assert f"--within is {limit}" in run_here("build", "town", "-w", folder, "--within", limit).stderr
