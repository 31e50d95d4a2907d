"""`discreet interval`, as a person calls it."""

import json

from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.errors import BadRequest
from discreet.inference.confidence_intervals.table_intervals import (
    every_document,
    interval_document,
    interval_of,
)
from discreet.model.request import request_from_text
from discreet.release.pipeline import release_table


def run(workspace, *arguments):
    given = ["interval", "town", "--rows", "sex", "--columns", "age", "-w", str(workspace.folder)]
    return CliRunner().invoke(app, [*given, *arguments])


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


def test_people_get_a_sentence(town_workspace):
    assert "with a chance of at least 95 %" in run(town_workspace, "--cell", "sex=1").stdout
    assert " %; between " in run(town_workspace, "--cell", "sex=1", "--of", "sex=_T").stdout


def test_a_share_of_nothing_is_refused(town_workspace):
    done = run(town_workspace, "--of", "sex=1")
    assert isinstance(done.exception, BadRequest)
    assert "--cell" in str(done.exception)


def test_a_measure_that_the_dataset_does_not_have_is_refused(town_workspace):
    done = run(town_workspace, "--measure", "weighted", "--cell", "sex=1")
    assert done.exit_code != 0
    assert "no survey weights" in str(done.exception)
