"""All problems of a file on standard error, and as JSON on standard output."""

import json

import pandas as pd


def test_a_custodian_sees_lines_counts_and_json(run_here, town, tmp_path):
    frame = town.records.to_pandas()
    frame.loc[range(0, 24, 2), "sex"] = "x\x1b[31m"
    frame.to_csv(tmp_path / "town.csv", index=False)
    (tmp_path / "town.toml").write_text(town.description)
    done = run_here("load", tmp_path / "town.toml", tmp_path / "town.csv", "-w", tmp_path / "w", "--json")
    assert done.returncode == 2
    told = json.loads(done.stdout)
    assert told["error"] == "bad-records"
    assert [problem["line"] for problem in told["problems"]] == list(range(2, 22, 2))
    assert told["counts"] == {"sex": 12}
    assert "12 problems, for your eyes only" in done.stderr
    assert "and 2 more" in done.stderr
    assert "\x1b[31m" not in done.stderr
    assert not list((tmp_path / "w" / "datasets" / "town").glob("[!.]*"))


def test_a_torn_file_is_told_as_json_too(run_here, town, tmp_path):
    pd.DataFrame({"a": [1]}).to_csv(tmp_path / "town.csv", index=False)
    (tmp_path / "town.csv").write_text("person,region,area,sex,age,job\n1,N\n")
    (tmp_path / "town.toml").write_text(town.description)
    done = run_here("check", tmp_path / "town.csv", tmp_path / "town.toml", "--json")
    assert json.loads(done.stdout)["message"].startswith("Line 2 of town.csv has 2 fields")
