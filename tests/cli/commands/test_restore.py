"""`discreet restore`: the same table from the copy."""


def test_the_same_table_comes_back(run_here, town_versions, tmp_path):
    run_here("backup", tmp_path / "copy", "-w", town_versions)
    assert "was made at" in run_here("restore", tmp_path / "copy", "-w", tmp_path / "w").stderr
    words = ("table", "town", "--rows", "sex", "--format", "csv", "-w")
    assert run_here(*words, tmp_path / "w").stdout == run_here(*words, town_versions).stdout
    assert run_here("restore", tmp_path / "none", "-w", tmp_path / "x").returncode == 4
