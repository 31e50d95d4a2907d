"""`discreet load`: from a file to a version that can be asked."""

import json
import re

import pyarrow.parquet as pq
import pytest


@pytest.mark.slow
def test_describe_then_load_then_table(run_process, town, tmp_path):
    records, text, folder = (tmp_path / name for name in ("people.parquet", "dataset.toml", "w"))
    pq.write_table(town.records, records)
    assert run_process("describe", records, "--out", text).returncode == 0
    done = run_process("load", text, records, "-w", folder, "--json")
    assert json.loads(done.stdout)["dataset"] == "people"
    table = ("table", "people", "--rows", "sex", "--format", "csv")
    done = run_process(*table, DISCREET_WORKSPACE=str(folder))
    assert (done.returncode, done.stderr) == (0, "")


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
    assert "Not checked: which records differ from the served version" in done.stderr
    for choice in ("collect", "new-lineage"):
        done = run_here(*given, "--corrections", choice)
        assert done.returncode == 2
        assert f"--dry-run cannot be combined with --corrections {choice}" in done.stderr


@pytest.mark.slow
def test_one_caution_is_one_and_new_keys_are_told(run_here, town, tmp_path):
    """Wrong alternative: "1 cautions", and no word that every number of the version is another."""
    rule = '\n[[rule]]\nkind = "nested-groups"\nfewer_than = 2\n'
    (tmp_path / "town.toml").write_text(town.description + rule)
    for name, records in (("before", town.records), ("after", town.records.slice(1))):
        pq.write_table(records, tmp_path / f"{name}.parquet")
    run_here("load", tmp_path / "town.toml", tmp_path / "before.parquet", "-w", tmp_path / "w")
    done = run_here("load", tmp_path / "town.toml", tmp_path / "after.parquet", "-w", tmp_path / "w")
    assert "1 caution (confidential):" in done.stderr
    assert "new keys" not in done.stderr
    given = ("load", tmp_path / "town.toml", tmp_path / "after.parquet", "-w", tmp_path / "w")
    done = run_here(*given, "--corrections", "new-lineage")
    assert "It has new keys, so all its numbers change." in done.stderr


NEIGHBOURLY = """
id = "town"
label = "A town"
id_column = "id"
unit_column = "person"
[[variable]]
name = "sex"
categories = ["1", "2", "other"]
unlisted = "other"
[[variable]]
name = "age"
categories = ["child", "adult", "unknown"]
not_stated = "unknown"
[[variable]]
name = "job"
categories = ["none", "yes"]
[[structural_zero]]
where = { age = ["child"], job = ["yes"] }
move_to = { job = "none" }
"""
UNDER_DP = """
[protection]
method = "dp"
[protection.universe]
variables = ["sex", "age", "job"]
[protection.budget]
name = "town"
epsilon = 1.0
cap_epsilon = 4.0
"""
PEOPLE = ["1,a,1,child,none", "2,b,2,adult,yes", "3,c,1,adult,none"]
#: What one more person can do to a file: everything that a load was ever refused for.
PERSONS = {
    "as others": ["4,d,1,adult,yes"],
    "unlisted": ["4,d,9,adult,yes"],
    "unlisted without a rule": ["4,d,1,adult,perhaps"],
    "missing": ["4,d,1,,yes"],
    "missing without a rule": ["4,d,,adult,"],
    "too many records": ["4,d,1,adult,yes", "5,d,2,adult,yes", "6,d,1,child,none"],
    "structural zero": ["4,d,1,child,yes"],
    "an id again": ["1,d,1,adult,yes", "1,d,1,adult,yes"],
    "no id": [",d,1,adult,yes"],
    "no person": ["4,,1,adult,yes"],
}


def said_of_a_load(run_here, folder, description, more):
    """Exit code and text of the load of a file with some records more; digests, folders and times left out."""
    folder.mkdir()
    (folder / "town.toml").write_text(description)
    (folder / "town.csv").write_text("\n".join(["id,person,sex,age,job", *PEOPLE, *more]) + "\n")
    done = run_here("load", folder / "town.toml", folder / "town.csv", "-w", folder / "w")
    return done.returncode, re.sub(
        r"version [0-9a-f]{8}, into \S+|\d:\d\d:\d\d", "", done.stdout + done.stderr
    )


@pytest.mark.slow
def test_a_load_under_dp_says_the_same_whoever_is_in_the_file(run_here, tmp_path):
    """Wrong alternative: what does not fit is refused, as the cell key method does."""
    all_at_once = [line for lines in PERSONS.values() for line in lines]
    text = NEIGHBOURLY + UNDER_DP
    code, said = said_of_a_load(run_here, tmp_path / "without", text, [])
    assert code == 0
    assert said_of_a_load(run_here, tmp_path / "with", text, all_at_once) == (code, said)
    plain = NEIGHBOURLY.replace('unit_column = "person"\n', "")
    assert said_of_a_load(run_here, tmp_path / "refused", plain, all_at_once)[0] != 0


def test_a_check_tells_the_custodian_alone_what_a_load_would_leave_out(run_here, tmp_path):
    (tmp_path / "town.toml").write_text(NEIGHBOURLY + UNDER_DP)
    more = [line for lines in PERSONS.values() for line in lines]
    (tmp_path / "a.csv").write_text("\n".join(["id,person,sex,age,job", *PEOPLE, *more]) + "\n")
    done = run_here("check", tmp_path / "a.csv", tmp_path / "town.toml", "--json")
    found = json.loads(done.stdout)
    assert (found["records"], found["left_out"]["surplus"]) == (4, 8)
    assert found["left_out"]["counts"] == {"job": 2, "sex": 1, "id": 1, "person": 1}
    assert sum("Not for release" in each for each in found["cautions"]) == 2


@pytest.mark.slow
def test_categories_that_were_read_off_the_records_are_refused_under_dp(run_here, tmp_path):
    """Wrong alternative: a draft is loaded as it is, and a category that occurs says that somebody is there."""
    (tmp_path / "a.csv").write_text("id,sex\n" + "".join(f"{n},{n % 2}\n" for n in range(60)))
    assert run_here("describe", tmp_path / "a.csv", "--out", tmp_path / "a.toml").returncode == 0
    drafted = (tmp_path / "a.toml").read_text()
    assert 'categories_from = "records"' in drafted
    under_dp = drafted[: drafted.index("[protection]")] + UNDER_DP.replace(', "age", "job"', "")
    for text, code in ((under_dp, 2), (under_dp.replace('from = "records"', 'from = "code list"'), 0)):
        (tmp_path / "a.toml").write_text(text)
        done = run_here("load", tmp_path / "a.toml", tmp_path / "a.csv", "-w", tmp_path / f"w{code}")
        assert done.returncode == code, done.stderr
        assert ("were read off the records" in done.stderr) == (code == 2)
