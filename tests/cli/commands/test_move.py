"""`discreet move`: the workspace stands elsewhere, and only there."""

import shutil


def test_it_stands_elsewhere(run_here, town_versions, tmp_path):
    folder = shutil.copytree(town_versions, tmp_path / "w")
    assert run_here("move", tmp_path / "there", "-w", folder).returncode == 0
    assert not folder.exists()
    assert run_here("table", "town", "--rows", "sex", "-w", tmp_path / "there").returncode == 0
