"""The command as a custodian uses it: what is on standard output, what is written, what is refused."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.errors import BadRequest, DiscreetError, NotFound, UnknownFormat
from discreet.inference.hypothesis_tests.independence import independence_test
from discreet.model.request import request_from_text
from discreet.noise import laplace
from discreet.noise.files import write_noise_table
from discreet.release.pipeline import release_table

QUICK = ["--families", "laplace,current", "--epsilon", "0.5,1", "--reps", "4"]
TABLE = ["assess", "town", "--rows", "sex", "--columns", "job", "--filter", "age=adult,old"]


@pytest.fixture(scope="module")
def folder(town_workspace):
    return str(town_workspace.folder)


def invoke(*words):
    return CliRunner().invoke(app, list(words))


def test_json_alone_is_on_standard_output_and_a_seed_repeats_it(folder):
    first, second = (invoke(*TABLE, *QUICK, "--json", "--threads", n, "-w", folder) for n in ("1", "3"))
    assert first.exit_code == 0
    document = json.loads(first.stdout)
    assert [s["label"] for s in document["settings"]] == ["laplace 0.5", "laplace 1", "current"]
    assert "CONFIDENTIAL" in document["confidential"]
    assert second.stdout == first.stdout
    other = invoke(*TABLE, *QUICK, "--seed", "3", "--layers", "region", "--keep-zeros", "-w", folder)
    said = " ".join(other.stdout.split())
    assert all(
        words in said for words in ("CONFIDENTIAL", "laplace 0.5", "outside any claim of differential")
    )


@pytest.mark.slow
def test_the_report_and_a_picture_are_written(folder, tmp_path):
    report, plot = tmp_path / "report.html", tmp_path / "zeros.svg"
    done = invoke(
        *TABLE, *QUICK, "--out", str(report), "--plot", str(plot), "--picture", "zeros", "-w", folder
    )
    assert done.exit_code == 0
    assert done.stdout == ""
    assert report.read_text("utf-8").startswith("<!doctype html>")
    assert plot.read_bytes().startswith(b"<svg")
    again = tmp_path / "again.html"
    invoke(*TABLE, *QUICK, "--out", str(again), "--threads", "3", "-w", folder)
    assert again.read_bytes() == report.read_bytes()


def test_the_checklist_is_shown_and_written_and_answers_are_not_overwritten(folder, tmp_path):
    checklist = ("assess", "town", "--five-safes", "-w", folder)
    done = invoke(*checklist)
    assert "Safe outputs" in done.stdout
    assert "questions are open" in done.stdout
    for ending in ("html", "json", "md"):
        path = tmp_path / f"safes.{ending}"
        assert invoke(*checklist, "--out", str(path)).exit_code == 0
        assert "Safe projects" in path.read_text("utf-8")
    path.write_text("our answers")
    assert isinstance(invoke(*checklist, "--out", str(path)).exception, BadRequest)
    assert path.read_text() == "our answers"


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        ((*TABLE, "--epsilon", "one"), BadRequest, "0.1,0.5,1"),
        ((*TABLE, "--families", "laplase"), BadRequest, "laplace"),
        ((*TABLE, "--out", "report.pdf"), UnknownFormat, ".html or .json"),
        ((*TABLE, *QUICK, "--plot", "a.svg", "--picture", "pie"), BadRequest, "no picture"),
        (("assess", "town", *QUICK), DiscreetError, "at least one"),
        (("assess", "town", "--five-safes", "--rows", "sex"), BadRequest, "whole dataset"),
        (("assess", "town", "--five-safes", "--out", "a.pdf"), UnknownFormat, ".md"),
    ],
)
def test_what_cannot_be_done_is_refused_with_what_to_do(folder, words, error, said):
    done = invoke(*words, "-w", folder)
    assert isinstance(done.exception, error)
    assert said in str(done.exception)
    assert done.stdout == ""


MATRIX = [[52, 31, 40], [30, 55, 44]]


def run(*arguments):
    return CliRunner().invoke(app, ["test", "independence", *map(str, arguments)])


@pytest.fixture
def files(tmp_path):
    np.savetxt(tmp_path / "table.csv", MATRIX, fmt="%d", delimiter=",")
    write_noise_table(laplace(epsilon=0.5, m=7), tmp_path / "noise.json")
    return tmp_path


def test_a_dataset_is_tested_through_the_pipeline(town_workspace):
    asked = {"rows": ["age"], "columns": ["sex"], "filters": ["job=0,1"], "groups": ["age=child,adult+old"]}
    words = ("--rows", "age", "--columns", "sex", "--filter", "job=0,1", "--group", "age=child,adult+old")
    done = run("--dataset", "town", *words, "--json", "-w", town_workspace.folder)
    release = release_table(town_workspace.stored("town"), request_from_text("town", **asked))
    assert json.loads(done.stdout) == independence_test(release).document()


def test_a_matrix_is_tested_with_its_noise_table_and_people_read_both_tests(files):
    (files / "table.csv").write_text("\ufeff52, 31,40\n\n30,55,44\n\n", encoding="utf-8")
    given = ("--csv", files / "table.csv", "--noise", files / "noise.json")
    assert (
        json.loads(run(*given, "--json").stdout)
        == independence_test(MATRIX, laplace(epsilon=0.5, m=7)).document()
    )
    said = run(*given).stdout
    assert all(words in said for words in ("noise-aware", "naive G2", "takes the released counts for exact"))


def test_options_of_the_test_arrive(files):
    common = ("--csv", files / "table.csv", "--noise", files / "noise.json", "--json")
    drawn = json.loads(run(*common, "--method", "bootstrap", "--replicates", 49).stdout)
    assert drawn["method"] == "bootstrap"
    given = json.loads(run(*common, "--model", "multinomial", "--total", 250).stdout)
    assert given["model"] == "multinomial"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,2\n3\n", "is not a matrix"),
        ("", "is not a matrix"),
        ("1.5,2\n3,4\n", "Line 1, column 1"),
    ],
)
def test_a_file_that_is_no_matrix_is_refused_by_its_place(files, text, words):
    (files / "bad.csv").write_text(text)
    done = run("--csv", files / "bad.csv", "--noise", files / "noise.json")
    assert isinstance(done.exception, BadRequest)
    assert words in str(done.exception)
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ((), BadRequest),
        (("--csv", "nothing.csv", "--noise", "nothing.json"), NotFound),
        (("--csv", "x.csv", "--dataset", "town"), BadRequest),
        (("--csv", "x.csv"), BadRequest),
    ],
)
def test_what_cannot_be_tested_says_what_to_give(arguments, kind):
    done = run(*arguments)
    assert isinstance(done.exception, kind)
    assert done.exception.advice
