"""`discreet load`: from a file to a version that can be asked."""

import json

import pyarrow.parquet as pq
import pytest


@pytest.mark.slow
def test_describe_then_load_then_table(run_process, town, tmp_path):
    pq.write_table(town.records, tmp_path / "people.parquet")
    assert (
        run_process("describe", tmp_path / "people.parquet", "--out", tmp_path / "dataset.toml").returncode
        == 0
    )
    done = run_process(
        "load", tmp_path / "dataset.toml", tmp_path / "people.parquet", "-w", tmp_path / "w", "--json"
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["dataset"] == "people"
    done = run_process(
        "table", "people", "--rows", "sex", "--format", "csv", DISCREET_WORKSPACE=str(tmp_path / "w")
    )
    assert done.returncode == 0


def test_what_is_wrong_with_a_description_names_its_own_file(run_here, town, tmp_path):
    pq.write_table(town.records, tmp_path / "people.parquet")
    (tmp_path / "people.toml").write_text("id = ")
    done = run_here("load", tmp_path / "people.toml", tmp_path / "people.parquet", "-w", tmp_path / "w")
    assert done.returncode == 2
    assert "people.toml is not valid TOML" in done.stderr
    assert "dataset.toml" not in done.stderr
