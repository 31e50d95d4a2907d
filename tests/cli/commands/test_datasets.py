"""`discreet datasets`: one line a dataset, for people and as JSON."""

import json
import shutil


def test_people_and_programs_see_the_same(run_here, town_versions):
    told = run_here("datasets", "-w", town_versions).stdout
    (found,) = json.loads(run_here("datasets", "--json", "-w", town_versions).stdout)["datasets"]
    assert (found["id"], found["kept"], found["method"]) == ("town", 3, "cellkey")
    assert "town" in told
    assert run_here("datasets", "-w", town_versions / "nothing").returncode == 4


def test_what_was_removed_or_cannot_be_served_is_told(run_here, town_versions, tmp_path):
    folder = shutil.copytree(town_versions, tmp_path / "town")
    (folder / "secret").chmod(0o644)
    told = " ".join(run_here("datasets", "-w", folder).stdout.split())
    assert "town cannot be served:" in told
    assert "can be read by others" in told
    (folder / "secret").chmod(0o600)
    run_here("remove", "town", "--yes", "-w", folder)
    assert "removed" in run_here("datasets", "-w", folder).stdout
