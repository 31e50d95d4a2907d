"""`discreet methodology`: for people, as JSON, as a page in one file; and attacks that are kept for it."""

import json

import pytest

from discreet.release.dataset_registry import DatasetRegistry
from discreet.workspace.workspace import Workspace


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
    assert command[1:] == [
        *words[:2],
        "--people",
        "400",
        "--targets",
        "20",
        "--pairs",
        "2",
        "--seed",
        "5",
        *words[-2:],
    ]
    assert json.loads(run_here(*command[1:], "--json").stdout) == found
    (sentence,) = told["measured"]["figures"]
    last = found["results"][0]["curve"][-1]
    assert f"{last['certain']} of 20 given away for certain" in sentence
    assert sentence in run_here("methodology", "town", "-w", folder).stdout


def test_a_workspace_without_keep_and_a_place_that_is_none_are_refused(run_here, tmp_path):
    assert "Add --keep" in run_here("attack", "bob", "--quick", "-w", tmp_path).stderr
    assert "is not a workspace" in run_here("attack", "bob", "--quick", "--keep", "-w", tmp_path).stderr
