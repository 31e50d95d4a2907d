"""The command as a custodian uses it: what is on standard output, what is written, what is refused."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.errors import BadRequest, DiscreetError, NotFound, UnknownFormat
from discreet.inference.hypothesis_tests.cramers_v import cramers_v
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


MATRIX = [[52, 31, 40], [30, 55, 44]]


def run(*arguments):
    return CliRunner().invoke(app, ["test", "independence", *map(str, arguments)])


@pytest.fixture
def files(tmp_path):
    np.savetxt(tmp_path / "table.csv", MATRIX, fmt="%d", delimiter=",")
    write_noise_table(laplace(epsilon=0.5, m=7), tmp_path / "noise.json")
    return tmp_path


def test_a_dataset_is_tested_through_the_pipeline(town_workspace):
    done = run(
        "--dataset", "town", "--rows", "sex", "--columns", "age", "--json", "-w", town_workspace.folder
    )
    release = release_table(
        town_workspace.stored("town"), request_from_text("town", rows=["sex"], columns=["age"])
    )
    document = json.loads(done.stdout)
    assert document == independence_test(release).document()
    assert {"statistic", "df", "p_value", "naive", "model", "method", "converged"} <= set(document)


def test_filters_and_groups_arrive(town_workspace):
    done = run(
        "--dataset", "town", "--rows", "age", "--columns", "sex", "--filter", "job=0",
        "--group", "age=child,adult+old", "--json", "-w", town_workspace.folder,
    )  # fmt: skip
    assert json.loads(done.stdout)["df"] == 1


def test_a_matrix_is_tested_with_its_noise_table(files):
    done = run("--csv", files / "table.csv", "--noise", files / "noise.json", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout) == independence_test(MATRIX, laplace(epsilon=0.5, m=7)).document()


def test_the_noise_table_is_what_discreet_design_writes(files):
    out = files / "designed.json"
    designed = CliRunner().invoke(
        app, ["design", "laplace", "--epsilon", "0.5", "--m", "7", "--out", str(out)]
    )
    assert designed.exit_code == 0
    done = run("--csv", files / "table.csv", "--noise", out, "--json")
    assert json.loads(done.stdout)["df"] == 2


def test_people_read_both_tests_and_why_they_differ(files):
    done = run("--csv", files / "table.csv", "--noise", files / "noise.json")
    for words in ("noise-aware", "naive G2", "p-value", "takes the released counts for exact"):
        assert words in done.stdout


def test_people_and_programs_are_told_how_strong_the_relation_is(files):
    common = ("--csv", files / "table.csv", "--noise", files / "noise.json")
    strength = cramers_v(MATRIX, laplace(epsilon=0.5, m=7))
    assert strength.estimate < strength.naive
    assert (
        f"{strength.estimate:.3f} with the noise taken out, {strength.naive:.3f} naive" in run(*common).stdout
    )
    told = json.loads(run(*common, "--json").stdout)["cramers_v"]
    assert told == {
        "corrected": strength.estimate,
        "naive": strength.naive,
        "noise_part": strength.noise_part,
    }


def test_a_nearly_empty_table_says_why_nothing_is_tested(files):
    (files / "empty.csv").write_text("60,40\n0,0\n")
    done = run("--csv", files / "empty.csv", "--noise", files / "noise.json")
    assert "Nothing is left to test (df 0)" in done.stdout
    document = json.loads(run("--csv", files / "empty.csv", "--noise", files / "noise.json", "--json").stdout)
    assert (document["df"], document["p_value"], document["cramers_v"]) == (0, 1.0, None)


def test_options_of_the_test_arrive(files):
    common = ("--csv", files / "table.csv", "--noise", files / "noise.json", "--json")
    drawn = json.loads(run(*common, "--method", "bootstrap", "--replicates", 49).stdout)
    assert drawn["method"] == "bootstrap"
    given = json.loads(run(*common, "--model", "multinomial", "--total", 250).stdout)
    assert given["model"] == "multinomial"


def test_blank_lines_and_a_byte_order_mark_do_no_harm(files):
    (files / "bom.csv").write_text("\ufeff52, 31\n\n30,55\n\n", encoding="utf-8")
    done = run("--csv", files / "bom.csv", "--noise", files / "noise.json", "--json")
    assert json.loads(done.stdout)["df"] == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "Line 1, place 1 holds 'a'"),
        ("1,2\n3\n", "is no matrix"),
        ("", "is no matrix"),
        ("1.5,2\n3,4\n", "Line 1, place 1"),
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
    ],
)
def test_what_cannot_be_tested_says_what_to_give(arguments, kind):
    done = run(*arguments)
    assert isinstance(done.exception, kind)
    assert done.exception.advice


def test_a_matrix_without_its_noise_is_refused(files):
    done = run("--csv", files / "table.csv")
    assert isinstance(done.exception, DiscreetError)
    assert "--noise" in done.exception.advice


def test_every_option_has_a_line_in_the_reference():
    from pathlib import Path

    page = (Path(__file__).parents[3] / "docs" / "reference" / "cli.md").read_text("utf-8")
    assert "## discreet test independence" in page
    section = page.split("## discreet test independence")[1].split("\n## ")[0]
    import typer

    from discreet.cli.commands.test import test

    command = typer.main.get_command(test).commands["independence"]
    for parameter in command.params:
        if parameter.name != "help":
            assert f"`{parameter.opts[0]}`" in section, parameter.opts
