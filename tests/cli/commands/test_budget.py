"""What a custodian is told about money that cannot be spent twice: before a load, after it, and when it is refused."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.errors import BadRequest, NotFound


def test_the_budget_of_a_draft_warns_that_its_load_would_leave_nothing(say, tmp_path):
    told = say("budget").stdout
    assert "Loading it costs epsilon 1, delta 3e-18 and uses up the budget" in told
    assert "cap_epsilon" in told
    assert not (tmp_path / "w").exists()
    told = say("budget", more="cap_epsilon = 3.0\ncap_delta = 1e-6").stdout
    assert "Loading it costs epsilon 1, delta 3e-18 and leaves epsilon 2," in told


def test_a_draft_without_a_cap_is_told_what_to_write(say):
    """A default would be a promise for the budget's whole life that nobody has made."""
    for command in ("budget", "load"):
        refused = say(command, more="")
        assert refused.returncode == 2
        assert "lacks `cap_epsilon`" in refused.stderr
        assert "Write cap_epsilon = 4.0" in refused.stderr


@pytest.mark.slow
def test_a_load_that_is_not_covered_tells_a_custodian_price_and_rest(say):
    more = "cap_epsilon = 1.5\ncap_delta = 1e-6"
    assert "0.5 of it is left" in say("load", more=more).stderr
    told = say("budget", version="2", more=more).stdout
    assert "spent   epsilon 1," in told
    assert "loading it would be refused" in told
    refused = say("load", version="2", more=more)
    assert refused.returncode == 5
    for words in ("costs epsilon 1,", "epsilon 0.5,", "cannot be raised"):
        assert words in refused.stderr
    assert "coarser table" not in refused.stderr
    assert "0.5 of it is left" in say("load", more=more).stderr


def test_a_draft_that_is_not_there_is_a_missing_file(tmp_path, run_here):
    done = run_here("budget", tmp_path / "nothing.toml")
    assert done.returncode == 4
    assert "discreet describe" in done.stderr


@pytest.mark.slow
def test_a_share_is_for_accounts_that_may_spend_it(say, tmp_path, run_here):
    more = "cap_epsilon = 3.0\ncap_delta = 1e-6\nanswer_cost = 0.25"
    assert say("load", more=more).returncode == 0
    for name, role in (("rob", "reader"), ("ann", "analyst")):
        run_here("account", "create", name, "--role", role, "-w", tmp_path / "w")
    done = {
        name: run_here("ledger", "hamlet", "--allow", name, "--loss", "0.5", "-w", tmp_path / "w")
        for name in ("rob", "ann", "eve")
    }
    assert [each.returncode for each in done.values()] == [3, 0, 2]
    assert "needs the role analyst" in done["rob"].stderr
    told = run_here("ledger", "hamlet", "-w", tmp_path / "w").stdout
    assert told.startswith('Budget "')
    assert "(custodian)" in told


@pytest.mark.slow
def test_a_statement_is_made_and_checked_without_a_workspace(say, tmp_path, run_here):
    assert say("load").returncode == 0
    made = run_here("ledger", "statement", "--out", tmp_path / "s.html", "-w", tmp_path / "w")
    assert made.returncode == 0, made.stderr
    assert run_here("public-key", "-o", tmp_path / "key.pem", "-w", tmp_path / "w").returncode == 0
    (tmp_path / "w").rename(tmp_path / "away")
    checked = run_here(
        "ledger", "verify", tmp_path / "s.html", "--public-key", tmp_path / "key.pem", "--json"
    )
    assert checked.returncode == 0, checked.stderr
    assert "add up to epsilon" in checked.stdout
    assert "need the secret" in checked.stdout
    page = (tmp_path / "s.html").read_text("utf-8")
    (tmp_path / "s.html").write_text(page.replace('"entries": 5', '"entries": 6'), "utf-8")
    forged = run_here("ledger", "verify", tmp_path / "s.html", "--public-key", tmp_path / "key.pem")
    assert forged.returncode != 0
    wrong = run_here("ledger", "statement", "--out", tmp_path / "s.pdf", "-w", tmp_path / "away")
    assert "neither HTML nor JSON" in wrong.stderr


runner = CliRunner()


def invoke(*words):
    return runner.invoke(app, ["margins", *words])


def test_json_stands_alone_on_standard_output_and_the_promise_on_standard_error():
    result = invoke("czech", "--method", "fourier", "--as-published", "--reps", "2", "--seed", "1", "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert (document["coefficients"], document["scale"], len(document["runs"])) == (22, 5.5, 2)
    assert "0.5-DP for add-remove neighbours" in result.stderr


def test_a_tidy_file_with_longer_names_is_read(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("sex,age,region,count\nf,1,n,5\nm,2,s,9\nf,3,n,1\n", encoding="utf-8")
    result = invoke(str(path), "--margins", "sex*age,age*region", "--epsilon", "2", "--seed", "1", "--json")
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["cells"] == 12
    assert list(document["runs"][0]["margins"]) == ["sex*age", "age*region"]


@pytest.mark.slow
@pytest.mark.parametrize("picture", ["errors", "runs"])
def test_people_see_expected_errors_and_runs_and_a_picture_is_written(tmp_path, picture):
    path = tmp_path / "p.svg"
    result = invoke("journey", "--seed", "1", "--plot", str(path), "--picture", picture)
    assert "Expected absolute error of a cell" in result.stdout
    assert "Runs of optimum" in result.stdout
    assert "Recommended: optimum." in result.stderr
    assert path.read_bytes().startswith(b"<svg")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["nothing-here.csv"], NotFound),
        (["czech", "--margins", ""], BadRequest),
        (["czech", "--plot", "p.svg", "--picture", "cake"], BadRequest),
    ],
)
def test_what_cannot_be_done_is_refused(words, error):
    result = invoke(*words)
    assert isinstance(result.exception, error)


def run(folder, *options):
    return CliRunner().invoke(app, ["margins", "town", "-w", str(folder), *options])


def test_a_dataset_prints_tables_and_json_and_refuses_what_belongs_to_studies(private_town):
    options = ("--margins", "sex*age,job", "--epsilon", "0.1", "--weights", "sex*age=5,job=1")
    told = run(private_town.folder, *options, "--dry-run")
    assert "E|error|" in told.stdout
    assert "A release would charge epsilon 0.1" in told.stderr
    people = run(private_town.folder, *options)
    assert people.exit_code == 0, people.exception
    assert "sex by age" in people.stdout
    assert "Counts in this table have been randomly adjusted" in people.stdout
    assert "Charged epsilon 0.1" in people.stderr
    machine = json.loads(run(private_town.folder, *options, "--json").stdout)
    assert machine["epsilon"] == 0.1
    assert machine["charged"]["repeat"]
    first = machine["runs"][0]["margins"]["sex*age"][0][0]
    assert f"{first:,.0f}" in people.stdout or f"{first:,.1f}" in people.stdout
    for option in (["--seed", "1"], ["--reps", "2"], ["--as-published"], ["--neighbours", "add-remove"]):
        refused = run(private_town.folder, "--margins", "sex*age", *option)
        assert isinstance(refused.exception, BadRequest)
        assert option[0] in refused.exception.message
