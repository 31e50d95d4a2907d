"""`discreet compare`, as a person calls it."""

import json

from discreet.inference.version_comparison import compare
from discreet.model.request import request_from_text
from discreet.release.dataset_registry import open_registry


def test_two_versions_are_compared(run_here, town_versions):
    given = ("compare", "town", "--version", "2", "--with", "1", "--rows", "sex", "-w", town_versions)
    doors = open_registry(town_versions)
    new, old = (
        doors.door("town", version=word).release(request_from_text("town", rows=["sex"])) for word in "21"
    )
    doors.close()
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
    """The same document as from the workspace, whose laws a server does not send."""
    here = run_here("compare", "town", "--with", "1", "--rows", "sex", "--json", "-w", town_versions)
    with served(town_versions) as base:
        page = f"{base}/datasets/town"
        there = run_here("compare", page, "--with", "1", "--rows", "sex", "--json")
        assert json.loads(there.stdout) == json.loads(here.stdout)
        assert run_here("compare", f"{page}?rows=sex", "--with", "1", "--json").stdout == there.stdout
        closed = run_here("compare", page, "--with", "0", "--rows", "sex")
        assert "few records" in " ".join(closed.stderr.split())
        assert run_here("compare", page, "--with", "1", "--rows", "sex", "-w", town_versions).returncode == 2
