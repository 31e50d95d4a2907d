"""Each version seals the revisions it was loaded under; one without them is of the first, which was given up."""

import json

import pytest

from discreet.answer.pipeline import release_table
from discreet.errors import BadDescription, WorkspaceUnusable
from discreet.model import revision
from discreet.model.request import TableRequest
from discreet.workspace.load import load_dataset
from discreet.workspace.revisions import REVISIONS, Revisions
from discreet.workspace.version import read_version
from discreet.workspace.workspace import Workspace

REQUEST = TableRequest("town", ("sex",), ("age",))


@pytest.fixture
def workspace(town_folder):
    return Workspace(town_folder)


def place_of(folder):
    home = folder / "datasets" / "town"
    return home / (home / "current").read_text().strip()


def numbers(folder):
    return release_table(Workspace(folder).stored("town"), REQUEST).values.tolist()


def test_a_new_version_says_its_revisions(workspace, secret):
    place = place_of(workspace.folder)
    assert json.loads((place / REVISIONS).read_text()) == {"arithmetic": 2, "defaults": 2}
    assert read_version(place, secret).revisions == Revisions(2, 2)


def test_the_revisions_cannot_be_taken_away_or_changed(workspace, monkeypatch):
    file = place_of(workspace.folder) / REVISIONS
    monkeypatch.setattr(revision, "KNOWN", frozenset({1, 2, 3}))
    for text in (None, Revisions(3, 1).text):
        file.unlink() if text is None else file.write_text(text)
        with pytest.raises(WorkspaceUnusable, match="changed after it was loaded"):
            Workspace(workspace.folder).stored("town")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["", "[]", "1", '{"arithmetic": "x", "defaults": 1}', '{"arithmetic": 1, "other": 1}']
)
def test_revisions_that_cannot_be_read_give_no_answers_until_a_load(town, workspace, text):
    once = numbers(workspace.folder)
    (place_of(workspace.folder) / REVISIONS).write_text(text)
    with pytest.raises(WorkspaceUnusable, match="cannot be read"):
        Workspace(workspace.folder).stored("town")
    load_dataset(workspace.folder, town.description, town.records)
    assert numbers(workspace.folder) == once


def test_a_lineage_with_defaults_of_a_newer_program_is_not_loaded_into(town, workspace):
    (place_of(workspace.folder) / REVISIONS).write_text(Revisions(2, 9).text)
    with pytest.raises(WorkspaceUnusable, match="defaults of revision 9"):
        load_dataset(workspace.folder, town.description, town.records)


@pytest.mark.parametrize("revisions", [Revisions(9, 1), Revisions(2, 9)])
def test_a_revision_of_a_newer_program_is_refused(workspace, revisions):
    (place_of(workspace.folder) / REVISIONS).write_text(revisions.text)
    with pytest.raises(WorkspaceUnusable, match="does not know") as refused:
        Workspace(workspace.folder).stored("town")
    assert "newer version of Discreet" in refused.value.advice


def test_an_arithmetic_that_was_given_up_is_refused_and_can_be_loaded_again(town, workspace, monkeypatch):
    before = place_of(workspace.folder)
    monkeypatch.setattr(revision, "KNOWN", frozenset({3}))
    with pytest.raises(WorkspaceUnusable, match="revision 2 of the arithmetic") as refused:
        Workspace(workspace.folder).stored("town")
    assert refused.value.advice == "Load the dataset again."
    load_dataset(workspace.folder, town.description, town.records)
    assert place_of(workspace.folder) != before
    assert Workspace(workspace.folder).stored("town").dataset.id == "town"


def test_another_arithmetic_is_another_version_and_the_old_one_is_kept(town, workspace, secret, monkeypatch):
    before, once = place_of(workspace.folder), numbers(workspace.folder)
    monkeypatch.setattr(revision, "KNOWN", frozenset({2, 3}))
    assert numbers(workspace.folder) == once
    load_dataset(workspace.folder, town.description, town.records)
    after = place_of(workspace.folder)
    assert after != before
    assert [read_version(place, secret).revisions.arithmetic for place in (before, after)] == [2, 3]


@pytest.mark.slow
def test_under_dp_another_arithmetic_is_charged_and_needs_a_version_of_its_own(private_town, monkeypatch):
    """Other noise on the same counts would be a second release of them."""
    folder = private_town.folder
    monkeypatch.setattr(revision, "KNOWN", frozenset({2, 3}))
    with pytest.raises(BadDescription, match='The version "1" of "town" was loaded with other records'):
        load_dataset(folder, private_town.description, private_town.records)
    second = private_town.description.replace('version = "1"', 'version = "2"')
    load_dataset(folder, second, private_town.records)
    spent = Workspace(folder).stored("town").dp.ledger.state("town")
    assert len(spent.charges) == 2
