"""`discreet check`: a dry run that needs no workspace."""

import json

import pyarrow.parquet as pq


def test_a_sound_file_is_told_so_and_nothing_is_written(run_here, town, tmp_path):
    pq.write_table(town.records, tmp_path / "town.parquet")
    (tmp_path / "town.toml").write_text(
        town.description, "utf-8-sig"
    )  # with a mark, as some editors write it
    before = sorted(tmp_path.rglob("*"))
    done = run_here("check", tmp_path / "town.parquet", tmp_path / "town.toml", "--json")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["records"] == 3000
    assert any("no [[rule]]" in caution for caution in found["cautions"])
    assert sorted(tmp_path.rglob("*")) == before


def test_what_disappears_is_told_against_a_workspace(run_here, town, town_workspace, tmp_path):
    pq.write_table(town.records, tmp_path / "town.parquet")
    (tmp_path / "town.toml").write_text(
        town.description.replace('name = "sex"', 'name = "gender"\ncolumn = "sex"')
    )
    given = ("check", tmp_path / "town.parquet", tmp_path / "town.toml")
    done = run_here(*given, "-w", town_workspace.folder)
    assert done.returncode == 0
    assert "Readers lose 1 variable: sex." in done.stderr
    assert "Readers lose" not in run_here(*given).stderr
