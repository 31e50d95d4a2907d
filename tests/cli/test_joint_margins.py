"""Margins of a dataset on the screen: a table for each, and what they cost."""

import json

from typer.testing import CliRunner

from discreet.cli.joint_margins import charge_sentence, show_joint
from discreet.cli.main import app

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
    show_joint(
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
