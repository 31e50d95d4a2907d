"""`discreet remove`: it asks, it says what remains, and the records are gone."""

import shutil


def test_nothing_is_removed_without_a_yes(run_here, town_versions, tmp_path):
    folder = shutil.copytree(town_versions, tmp_path / "w")
    assert run_here("remove", "town", "-w", folder).returncode != 0
    assert list(folder.rglob("data.duckdb"))
    done = run_here("remove", "town", "--version", "1", "--yes", "-w", folder)
    assert "What remains" in done.stderr
    assert run_here("remove", "town", "--yes", "-w", folder).returncode == 0
    assert not list(folder.rglob("data.duckdb"))
