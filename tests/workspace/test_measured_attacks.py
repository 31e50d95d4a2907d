"""Kept attacks: whole or not at all, and damage is named."""

import json
from datetime import datetime

import pytest

from discreet import __version__
from discreet.errors import NotFound, WorkspaceUnusable
from discreet.workspace.measured_attacks import read_attack_result, write_attack_result

STUDY = {"attack": "bob", "seed": 3, "results": []}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "datasets").mkdir()
    return tmp_path


def test_what_was_kept_is_read_back_and_a_later_study_takes_its_place(folder):
    assert read_attack_result(folder, "bob") is None
    write_attack_result(folder, STUDY | {"seed": 2}, ["before"], "discreet attack bob --seed 2")
    path = write_attack_result(folder, STUDY, ["found"], "discreet attack bob --seed 3")
    kept = read_attack_result(folder, "bob")
    assert (kept.seed, kept.figures, kept.program) == (3, ("found",), f"discreet {__version__}")
    assert kept.command == "discreet attack bob --seed 3"
    assert datetime.fromisoformat(kept.at).utcoffset().total_seconds() == 0
    assert kept.study == STUDY
    assert [each.name for each in path.parent.iterdir()] == ["bob.json"]


def test_a_damaged_file_is_no_measurement(folder):
    path = write_attack_result(folder, STUDY, ["found"], "discreet attack bob")
    for damage in ("{", "[]", json.dumps({"figures": ["made up"]})):
        path.write_text(damage)
        with pytest.raises(WorkspaceUnusable, match="cannot be read"):
            read_attack_result(folder, "bob")


def test_only_a_workspace_keeps(tmp_path):
    with pytest.raises(NotFound, match="is not a workspace"):
        write_attack_result(tmp_path, STUDY, [], "discreet attack bob")
    assert not list(tmp_path.iterdir())
