"""The command as a custodian uses it: what is on standard output, what is written, what is refused."""

import json

import pytest
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.errors import BadRequest, DiscreetError, UnknownFormat

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
    assert invoke(*TABLE, *QUICK, "--seed", "3", "--json", "-w", folder).stdout != first.stdout


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


def test_people_see_a_table_sentences_and_the_mark(folder):
    done = invoke(*TABLE, *QUICK, "--layers", "region", "--keep-zeros", "-w", folder)
    assert done.exit_code == 0
    said = " ".join(done.stdout.split())
    assert "CONFIDENTIAL" in said
    assert "laplace 0.5" in said
    assert "outside any claim of differential privacy" in said


def test_a_json_file_is_written(folder, tmp_path):
    done = invoke(*TABLE, *QUICK, "--out", str(tmp_path / "a.json"), "-w", folder)
    assert done.exit_code == 0
    assert json.loads((tmp_path / "a.json").read_text())["dataset"] == "town"


@pytest.mark.parametrize("ending", ["md", "html", "json"])
def test_the_checklist_is_written(folder, tmp_path, ending):
    path = tmp_path / f"safes.{ending}"
    assert invoke("assess", "town", "--five-safes", "--out", str(path), "-w", folder).exit_code == 0
    assert "Safe projects" in path.read_text("utf-8")


def test_the_checklist_is_shown_and_answers_are_not_overwritten(folder, tmp_path):
    done = invoke("assess", "town", "--five-safes", "-w", folder)
    assert "Safe outputs" in done.stdout
    assert "questions are open" in done.stdout
    (tmp_path / "safes.md").write_text("our answers")
    refused = invoke("assess", "town", "--five-safes", "--out", str(tmp_path / "safes.md"), "-w", folder)
    assert isinstance(refused.exception, BadRequest)
    assert (tmp_path / "safes.md").read_text() == "our answers"


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
