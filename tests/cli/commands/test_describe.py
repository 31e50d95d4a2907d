"""`discreet describe`: a draft for people to check."""

import pyarrow.parquet as pq


def test_a_draft_overwrites_nothing(run_here, town, tmp_path):
    pq.write_table(town.records, tmp_path / "people.parquet")
    (tmp_path / "dataset.toml").write_text("hours of work")
    done = run_here("describe", tmp_path / "people.parquet", "--out", tmp_path / "dataset.toml")
    assert done.returncode == 2
    assert (tmp_path / "dataset.toml").read_text() == "hours of work"
