"""`discreet use`: the version that answers from now on."""

import shutil


def test_another_version_answers(run_here, town_versions, tmp_path):
    folder = shutil.copytree(town_versions, tmp_path / "w")
    before = run_here(
        "table", "town", "--rows", "sex", "--version", "1", "--format", "csv", "-w", folder
    ).stdout
    assert "is served now" in run_here("use", "town", "1", "-w", folder).stderr
    assert run_here("table", "town", "--rows", "sex", "--format", "csv", "-w", folder).stdout == before
    assert run_here("use", "town", "7", "-w", folder).returncode == 4
