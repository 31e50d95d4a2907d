"""Margins of a dataset on the screen: a table for each, and what they cost."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from discreet.cli.commands.margins import charge_sentence, show_released_margins
from discreet.cli.main import app
from discreet.errors import BadRequest, NotFound

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


def test_people_see_expected_errors_and_runs():
    result = invoke("journey", "--seed", "1")
    assert result.exit_code == 0
    assert "Expected absolute error of a cell" in result.stdout
    assert "Runs of optimum" in result.stdout
    assert "Recommended: optimum." in result.stderr


def test_json_goes_to_a_file(tmp_path):
    path = tmp_path / "study.json"
    assert invoke("edwards", "--seed", "1", "--out", str(path)).exit_code == 0
    assert json.loads(path.read_text(encoding="utf-8"))["method"] == "optimum"


@pytest.mark.slow
@pytest.mark.parametrize("picture", ["errors", "runs"])
def test_a_picture_is_written(tmp_path, picture):
    path = tmp_path / "p.svg"
    words = ["--method", "independent", "--seed", "1", "--plot", str(path), "--picture", picture]
    assert invoke("edwards", *words).exit_code == 0
    assert path.read_bytes().startswith(b"<svg")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["nothing-here.csv"], NotFound),
        (["czech", "--margins", ""], BadRequest),
        (["czech", "--method", "magic"], BadRequest),
        (["journey", "--method", "fourier"], BadRequest),
        (["czech", "--neighbours", "all"], BadRequest),
        (["czech", "--weights", "rows"], BadRequest),
        (["czech", "--plot", "p.svg", "--picture", "cake"], BadRequest),
    ],
)
def test_what_cannot_be_done_is_refused(words, error):
    result = invoke(*words)
    assert isinstance(result.exception, error)


def test_a_file_needs_its_margins_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("A,B,count\n1,1,2\n2,2,5\n", encoding="utf-8")
    assert isinstance(invoke(str(path)).exception, BadRequest)


CHARGED = {"family": "b", "epsilon": 0.1, "delta": 1e-16, "repeat": False, "spent": True, "left": 0.4}


def run(folder, *options):
    return CliRunner().invoke(app, ["margins", "town", "-w", str(folder), *options])


def test_a_dataset_prints_tables_and_json_where_it_is_asked_for(private_town):
    options = ("--margins", "sex*age,job", "--epsilon", "0.1")
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


def test_a_dry_run_tells_errors_and_price(private_town):
    told = run(private_town.folder, "--margins", "sex*age", "--dry-run")
    assert "E|error|" in told.stdout
    assert "It would charge epsilon 1" in told.stderr


def test_the_charge_in_words():
    assert "epsilon 0.4 is left" in charge_sentence(CHARGED)
    assert charge_sentence({**CHARGED, "repeat": True}).startswith("Charged nothing")


def test_labels_of_one_letter_and_withheld_numbers(capsys):
    show_released_margins(
        {
            "charged": CHARGED,
            "runs": [{"margins": {"AB": [[1.0, None], [2.5, -3.0]], "B": [1.0, 2.0]}}],
            "categories": {"A": ["x", "y"], "B": ["u", "v"]},
            "notes": ["A note."],
        }
    )
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["x", "1", "c"] in lines
    assert ["y", "2.5", "-3"] in lines
    assert ["v", "2"] in lines
