from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

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
