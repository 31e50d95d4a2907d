import json

import pytest

from discreet.cli.target import Target, open_target
from discreet.errors import BadRequest


@pytest.mark.parametrize(
    ("dataset", "said"),
    [
        ("https://example.org", "names no dataset"),
        ("https://example.org/datasets/", "names no dataset"),
    ],
)
def test_an_address_without_a_dataset_is_refused_before_anybody_is_asked(dataset, said):
    with pytest.raises(BadRequest, match=said):
        open_target(dataset, None)


def test_an_address_and_a_workspace_are_refused(tmp_path):
    with pytest.raises(BadRequest, match="--workspace"):
        open_target("https://example.org/datasets/census", tmp_path)


def test_the_table_of_an_address_is_asked_for_and_nothing_beside_it():
    place = Target("census", None, None, None, "rows=sex&totals=no")
    assert place.request(rows=None, totals=True, measure="count").permalink == "rows=sex&totals=no"
    for given in ({"rows": ["age"]}, {"totals": False}, {"measure": "weighted"}):
        with pytest.raises(BadRequest, match="and so do the options"):
            place.request(**given)


def test_a_hostile_server_does_not_command_the_terminal(run_here, monkeypatch, town_workspace):
    """Wrong: to print its words as they come; an escape sequence could rewrite the screen."""
    from discreet.api.connection import Connection, ServerResponse
    from discreet.errors import Refused

    own = run_here("table", "town", "--rows", "age", "--json", "-w", town_workspace.folder)
    hostile = own.stdout.replace("Child", "\\u001b[2JChild").replace("randomly", "\\u001b]0;randomly")
    described = {
        **dict.fromkeys(("description", "source", "reference_date", "unit", "population"), ""),
        "id": "town",
        "label": "x",
        "version": "1",
        "digest": json.loads(own.stdout)["extension"]["digest"],
        "variables": [
            {"name": "age", "label": "\x1b[1m", "categories": [{"code": "1", "label": "1", "parent": None}]}
        ],
        "hierarchies": [],
        "protection": {"method": "cellkey", "max_variables": 3, "max_cells": 10},
    }

    def answer(self, path, *asked):
        return ServerResponse((hostile if path.endswith("table") else json.dumps(described)).encode())

    monkeypatch.setattr(Connection, "get", answer)
    place = "https://example.org/datasets/town"
    done = run_here("table", place, "--rows", "age")
    assert "\ufffd[2JChild" in done.stdout
    assert "\x1b[2J" not in done.stdout
    assert "\x1b]0" not in done.stdout

    def refuse(self, path, *asked):
        raise Refused("\x1b[2Jno", "\x1b[2Jnever")

    monkeypatch.setattr(Connection, "get", refuse)
    assert "\x1b[2J" not in run_here("table", place, "--rows", "age").stderr


def test_a_key_without_encryption_is_warned_about_on_standard_error(run_here, monkeypatch):
    from discreet.api.connection import Connection
    from discreet.errors import ServerUnusable

    def silent(self, address, headers):
        raise ServerUnusable("Nobody is there.")

    monkeypatch.setattr(Connection, "_once", silent)
    place = "http://example.org/datasets/census"
    done = run_here("table", place, "--rows", "sex", DISCREET_KEY="x1y2z3")
    assert "without encryption" in done.stderr
    assert "x1y2z3" not in done.stderr
    assert done.returncode == 70
    assert "without encryption" not in run_here("table", place, "--rows", "sex").stderr
