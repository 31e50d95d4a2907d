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


def test_a_dry_run_says_what_it_does_not_look_at_and_takes_no_corrections(run_here, town, tmp_path):
    """Wrong alternative: `--corrections collect --dry-run` is taken, and nothing is compared."""
    pq.write_table(town.records, tmp_path / "people.parquet")
    (tmp_path / "town.toml").write_text(town.description)
    given = ("load", tmp_path / "town.toml", tmp_path / "people.parquet", "-w", tmp_path / "w", "--dry-run")
    done = run_here(*given)
    assert done.returncode == 0
    assert "Not looked at: what changed against the version that is served" in done.stderr
    for choice in ("collect", "new-lineage"):
        done = run_here(*given, "--corrections", choice)
        assert done.returncode == 2
        assert f"--dry-run and --corrections {choice} cannot be combined" in done.stderr


def test_one_caution_is_one_and_new_keys_are_told(run_here, town, tmp_path):
    """Wrong alternative: "1 cautions", and no word that every number of the version is another."""
    (tmp_path / "town.toml").write_text(town.description)
    for name, records in (("before", town.records), ("after", town.records.slice(1))):
        pq.write_table(records, tmp_path / f"{name}.parquet")
    run_here("load", tmp_path / "town.toml", tmp_path / "before.parquet", "-w", tmp_path / "w")
    done = run_here("load", tmp_path / "town.toml", tmp_path / "after.parquet", "-w", tmp_path / "w")
    assert "1 caution, for your eyes only:" in done.stderr
    assert "new keys" not in done.stderr
    done = run_here(
        "load",
        tmp_path / "town.toml",
        tmp_path / "after.parquet",
        "-w",
        tmp_path / "w",
        "--corrections",
        "new-lineage",
    )
    assert "It has new keys: all its numbers change." in done.stderr
