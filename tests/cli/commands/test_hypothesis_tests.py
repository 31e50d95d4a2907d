"""`discreet test` on released tables: each figure is that of the library, and the dataset is an argument."""

import json

import pytest
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.errors import BadRequest
from discreet.inference.hypothesis_tests.goodness_of_fit import distribution_test, proportion_test
from discreet.inference.hypothesis_tests.independence import independence_test, log_linear_test
from discreet.model.request import request_from_text
from discreet.release.pipeline import release_table


def run(kind, workspace, *words):
    return CliRunner().invoke(app, ["test", kind, *words, "-w", str(workspace.folder)])


def document(kind, workspace, *words):
    done = run(kind, workspace, *words, "--json")
    assert done.exception is None, done.exception
    return json.loads(done.stdout)


def release(workspace, **asked):
    return release_table(workspace.stored("town"), request_from_text("town", **asked))


TWO_WAY = ("--rows", "sex", "--columns", "age")


def test_the_dataset_is_an_argument_and_its_older_option_is_an_alias(town_workspace):
    by_argument = document("independence", town_workspace, "town", *TWO_WAY)
    assert document("independence", town_workspace, "--dataset", "town", *TWO_WAY) == by_argument
    both = run("independence", town_workspace, "town", "--dataset", "survey", *TWO_WAY)
    assert isinstance(both.exception, BadRequest)
    assert "Two datasets" in str(both.exception)


def test_a_log_linear_model_of_two_terms_is_independence(town_workspace):
    table = release(town_workspace, rows=["sex"], columns=["age"])
    found = document("log-linear", town_workspace, "town", *TWO_WAY, "--term", "sex", "--term", "age")
    assert found == log_linear_test(table, [["sex"], ["age"]]).document()
    assert found["p_value"] == independence_test(table).p_value
    saturated = document("log-linear", town_workspace, "town", *TWO_WAY, "--term", "sex,age")
    assert saturated["df"] == 0


def test_given_chances_are_tested_and_without_them_equal_ones(town_workspace):
    table = release(town_workspace, rows=["sex"])
    leaves = len(table.dimensions[0].leaves)
    chances = list(range(1, leaves + 1))
    words = ("town", "--rows", "sex")
    found = document("distribution", town_workspace, *words, "--chances", ",".join(map(str, chances)))
    assert found == distribution_test(table, chances).document()
    assert (
        document("distribution", town_workspace, *words) == distribution_test(table, [1] * leaves).document()
    )
    assert found["p_value"] != distribution_test(table, [1] * leaves).p_value


def test_a_proportion_of_public_people_is_tested_exactly(town_workspace):
    table = release(town_workspace, rows=["sex"])
    words = ("town", "--rows", "sex", "--cell", "1", "--people", "3000", "--share", "0.5")
    found = document("proportion", town_workspace, *words)
    place = table.dimensions[0].codes.index("1")
    plain = proportion_test(int(table.noisy[place]), 3000, 0.5, table.distribution.at(place))
    assert (found["p_value"], found["method"]) == (plain.p_value, "exact")
    shown = run("proportion", town_workspace, *words).stdout
    assert "naive" in shown
    assert "proportion of (1)" in shown


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("distribution", ("--chances", "1")),
        ("distribution", ("--chances", "1,x")),
        ("log-linear", ("--term", "height")),
        ("proportion", ("--cell", "9", "--people", "10", "--share", "0.5")),
        ("proportion", ("--cell", "1", "--people", "3000", "--share", "2")),
    ],
)
def test_a_test_that_does_not_fit_the_table_is_refused(town_workspace, kind, words):
    done = run(kind, town_workspace, "town", "--rows", "sex", *words)
    assert isinstance(done.exception, BadRequest)
    assert done.stdout == ""


def test_a_server_tests_independence_only(run_here, town_folder, served):
    with served(town_folder) as base:
        refused = run_here("test", "distribution", f"{base}/datasets/town", "--rows", "sex")
        assert "independence only" in refused.stderr
        assert refused.returncode == 2
