"""`discreet table`: documents alone on standard output, and a table for people."""

import json
import re
import shlex

import pytest
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.errors import BadRequest
from discreet.inference.confidence_intervals.table_intervals import (
    every_document,
    interval_document,
    interval_of,
)
from discreet.inference.version_comparison import compare
from discreet.model.request import request_from_text
from discreet.release.dataset_registry import DatasetRegistry, open_registry
from discreet.release.pipeline import release_table
from discreet.workspace.workspace import Workspace


@pytest.mark.parametrize(
    ("words", "query", "codes"),
    [
        (
            "--filter job=0,1 --filter sex=1 --group age=child+old,adult --no-totals",
            "rows=age&filter=job=0,1&filter=sex=1&group=age=child%2Bold,adult&totals=no",
            ["child+old", "adult"],
        ),
        ("--levels age=grown,age", "rows=age&levels=age=grown,age", ["grown", "adult", "old", "child", "_T"]),
    ],
)
def test_filters_groups_levels_and_totals_arrive(run_here, folder, words, query, codes):
    document = json.loads(
        run_here("table", "town", "--rows", "age", *words.split(), "--json", "-w", folder).stdout
    )
    assert list(document["dimension"]["age"]["category"]["index"]) == codes
    assert document["extension"]["query"] == query


def test_a_file_is_written_in_the_format_of_its_ending_and_people_see_the_table_with_its_note(
    run_here, folder, tmp_path
):
    given = ("table", "town", "--rows", "age", "--columns", "job", "-w", folder)
    done = run_here(*given, "--out", tmp_path / "t.csv")
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "t.csv").read_text().startswith("age,age_label,job,job_label,value,status\n")
    said = run_here(*given).stdout
    assert all(words in said for words in ("Persons by age and job", "randomly adjusted", "[z]"))


def test_a_refusal_ends_with_the_command_of_an_allowed_table(run_here, folder):
    done = run_here("table", "town", "--rows", "area", "--group", "area=N1+N2", "-w", folder)
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    (command,) = re.findall(r"^Try this: discreet (.+)$", done.stderr, re.MULTILINE)
    assert run_here(*shlex.split(command)).returncode == 0


def test_percentages_ranks_and_chosen_rows_arrive(run_here, folder):
    given = ("table", "town", "--rows", "area", "--columns", "sex", "-w", folder)
    view = ("--percent", "column", "--rank", "--top", "2", "--hide-empty")
    document = json.loads(run_here(*given, *view, "--json").stdout)
    assert (
        document["extension"]["query"] == "rows=area&columns=sex&percent=column&rank=yes&top=2&hide_empty=yes"
    )
    assert document["size"] == [3, 3]
    shown = run_here(*given, *view).stdout
    assert "Percent of the column total" in " ".join(shown.split())
    assert f"{document['extension']['percent'][0]}" in shown
    assert run_here(*given, "--percent", "rows").returncode == 2


def test_a_chart_is_written_and_a_misfit_says_why(run_here, folder, tmp_path):
    given = ("table", "town", "--rows", "age", "--columns", "sex", "-w", folder)
    run_here(*given, "--chart", "stacked", "--theme", "dark", "--out", tmp_path / "x.svg")
    assert 'data-chart="stacked"' in (tmp_path / "x.svg").read_text("utf-8")
    refused = run_here(*given, "--format", "svg", "--chart", "pyramid")
    assert refused.returncode == 2
    assert "a pyramid needs a variable of numbers" in " ".join(refused.stderr.split())
    assert "applies to charts only" in run_here(*given, "--chart", "bars", "--format", "csv").stderr


def test_nonzero_lists_cells_of_a_document_and_nothing_beside(run_here, town_workspace, tmp_path):
    asked = ("table", "town", "--rows", "age,job", "--columns", "sex", "-w", town_workspace.folder)
    out = tmp_path / "cells.csv"
    assert run_here(*asked, "--nonzero", "-o", out).returncode == 0
    whole = run_here(*asked, "--format", "csv").stdout.splitlines()
    value = whole[0].split(",").index("value")
    kept = [line for line in whole[1:] if line.split(",")[value] not in {"0", ""}]
    assert sorted(out.read_text().splitlines()[1:]) == sorted(kept)
    assert "--format csv" in run_here(*asked, "--nonzero").stderr
    assert "needs all cells" in run_here(*asked, "--nonzero", "--json").stderr
    assert (
        "cannot be combined with options" in run_here(*asked, "--nonzero", "--format", "csv", "--rank").stderr
    )


def run(workspace, *arguments):
    given = ["town", "--rows", "sex", "--columns", "age", "-w", str(workspace.folder)]
    return CliRunner().invoke(app, ["interval", *given, *arguments])


def the_release(workspace):
    return release_table(workspace.stored("town"), request_from_text("town", rows=["sex"], columns=["age"]))


def test_cells_sums_shares_and_differences_are_those_of_the_release(town_workspace):
    release = the_release(town_workspace)
    for arguments, asked in (
        (["--cell", "sex=1"], {"cells": ["sex=1"]}),
        (["--cell", "sex=1", "--cell", "sex=2"], {"cells": ["sex=1", "sex=2"]}),
        (["--cell", "sex=1", "--of", "sex=_T"], {"cells": ["sex=1"], "of": ["sex=_T"]}),
        (["--cell", "sex=1", "--minus", "sex=2"], {"cells": ["sex=1"], "minus": ["sex=2"]}),
    ):
        done = run(town_workspace, *arguments, "--level", "0.9", "--json")
        assert json.loads(done.stdout) == interval_document(interval_of(release, **asked, level=0.9))


def test_all_cells_are_listed_without_a_cell(town_workspace):
    document = every_document(the_release(town_workspace))
    assert json.loads(run(town_workspace, "--json").stdout) == document
    shown = run(town_workspace).stdout
    assert "at least 95 %" in shown
    assert len(shown.splitlines()) == len(document["cells"]) + 2


def test_a_share_of_nothing_is_refused(town_workspace):
    done = run(town_workspace, "--of", "sex=1")
    assert isinstance(done.exception, BadRequest)
    assert "--cell" in str(done.exception)


def test_two_versions_are_compared(run_here, town_versions):
    given = ("compare", "town", "--version", "2", "--with", "1", "--rows", "sex", "-w", town_versions)
    registry = open_registry(town_versions)
    new, old = (
        registry.open("town", version=word).release(request_from_text("town", rows=["sex"])) for word in "21"
    )
    registry.close()
    assert json.loads(run_here(*given, "--json").stdout) == compare(new, old).document()
    shown = run_here(*given).stdout
    assert f"{new.value('1'):,}" in shown
    assert "difference" in shown
    assert "it may be the same noise" in " ".join(shown.split())


def test_a_closed_version_is_refused_and_a_missing_one_asked_for(run_here, town_versions):
    closed = run_here("compare", "town", "--with", "0", "--rows", "sex", "-w", town_versions)
    assert closed.returncode == 3
    assert "few records" in " ".join(closed.stderr.split())
    assert run_here("compare", "town", "--rows", "sex", "-w", town_versions).returncode == 2


def test_two_versions_of_a_server_are_compared_by_its_address(run_here, town_versions, served):
    """The same document as from the workspace, whose distributions a server does not send."""
    here = run_here("compare", "town", "--with", "1", "--rows", "sex", "--json", "-w", town_versions)
    with served(town_versions) as base:
        page = f"{base}/datasets/town"
        there = run_here("compare", page, "--with", "1", "--rows", "sex", "--json")
        assert json.loads(there.stdout) == json.loads(here.stdout)
        assert run_here("compare", f"{page}?rows=sex", "--with", "1", "--json").stdout == there.stdout
        closed = run_here("compare", page, "--with", "0", "--rows", "sex")
        assert "few records" in " ".join(closed.stderr.split())
        assert run_here("compare", page, "--with", "1", "--rows", "sex", "-w", town_versions).returncode == 2


@pytest.fixture
def folder(town_folder):
    return town_folder


def test_json_is_the_document_and_people_see_its_sentences(folder, run_here):
    document = DatasetRegistry(Workspace(folder)).methodology("town")
    assert json.loads(run_here("methodology", "town", "-w", folder, "--json").stdout) == document
    told = run_here("methodology", "town", "-w", folder).stdout
    for sentence in (document["citation"], *document["privacy"]["sentences"], *document["limits"]):
        assert sentence in told
    assert "too-many-variables: At most 3 variables" in told
    assert (
        run_here("methodology", "town", "-w", folder, "--version", document["dataset"]["digest"][:8]).stdout
        == told
    )


def test_files_are_written_by_their_ending_and_others_refused(folder, run_here, tmp_path):
    assert run_here("methodology", "town", "-w", folder, "-o", tmp_path / "m.html").returncode == 0
    assert (tmp_path / "m.html").read_text("utf-8").startswith("<!doctype html>")
    assert run_here("methodology", "town", "-w", folder, "-o", tmp_path / "m.json").returncode == 0
    assert json.loads((tmp_path / "m.json").read_text("utf-8"))["format"] == "discreet-methodology"
    refused = run_here("methodology", "town", "-w", folder, "-o", tmp_path / "m.pdf")
    assert refused.returncode
    assert "neither HTML nor JSON" in refused.stderr


@pytest.mark.slow
def test_an_attack_is_kept_with_the_command_that_repeats_it(folder, run_here):
    words = ["attack", "bob", "--people", "400", "--targets", "20", "--pairs", "2", "--against", "cellkey"]
    found = json.loads(run_here(*words, "--seed", "5", "--keep", "-w", folder, "--json").stdout)
    (told, *_) = DatasetRegistry(Workspace(folder)).methodology("town")["attacks"]["red_team"]
    command = told["measured"]["command"].split()
    assert command[1:] == [*words[:-2], "--seed", "5", *words[-2:]]
    assert json.loads(run_here(*command[1:], "--json").stdout) == found
    (sentence,) = told["measured"]["figures"]
    last = found["results"][0]["curve"][-1]
    assert f"{last['certain']} of 20 given away for certain" in sentence
    assert sentence in run_here("methodology", "town", "-w", folder).stdout


def test_a_workspace_without_keep_and_a_place_that_is_none_are_refused(run_here, tmp_path):
    assert "Add --keep" in run_here("attack", "bob", "--quick", "-w", tmp_path).stderr
    assert "is not a workspace" in run_here("attack", "bob", "--quick", "--keep", "-w", tmp_path).stderr
