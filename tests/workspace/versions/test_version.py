"""A version answers only as it was loaded: complete, unchanged, and with the secret of its load.

Each version seals the revisions it was loaded under; one without them is of the first, which was given up.
"""

import json
import os
import shutil

import pytest
from tests.conftest import write_secret
from tests.workspace.conftest import REQUEST, numbers, place_of

from discreet.errors import BadDescription, SecretUnusable, WorkspaceUnusable
from discreet.model import revision
from discreet.release.pipeline import release_table
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.versions.version import REVISIONS, Revisions, read_version
from discreet.workspace.workspace import Workspace


def refuses(folder, error):
    """Damaged in any way, the answer is an error and never an unprotected number."""
    with pytest.raises(error) as raised:
        release_table(Workspace(folder).stored("town"), REQUEST)
    assert raised.value.advice


ROOT = pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")


@pytest.mark.parametrize(
    "harm",
    [
        lambda secret: secret.unlink(),
        lambda secret: secret.chmod(0o644),
        lambda secret: secret.write_bytes(bytes(range(50, 82))),
        lambda secret: secret.write_bytes(b""),
        pytest.param(lambda secret: secret.chmod(0), marks=ROOT),
        lambda secret: next(secret.parent.rglob("secret.check")).unlink(),
    ],
    ids=["none", "read by others", "another", "empty", "unreadable", "no check"],
)
def test_without_its_secret_nothing_is_answered(workspace, harm):
    harm(workspace.folder / "secret")
    refuses(workspace.folder, SecretUnusable)


@pytest.mark.parametrize("name", ["noise.json", "dataset.toml", "data.duckdb"])
def test_without_a_file_of_the_version_nothing_is_answered(workspace, name):
    folder, version = workspace.folder, place_of(workspace.folder)
    workspace.close()
    shutil.rmtree(version / "cubes")  # with them a version is answered whose records are away
    (version / name).unlink()
    refuses(folder, WorkspaceUnusable)


def test_with_a_damaged_pointer_nothing_is_answered(workspace):
    (workspace.folder / "datasets" / "town" / "current").write_text("../../etc\n")
    refuses(workspace.folder, WorkspaceUnusable)


@pytest.mark.slow
def test_boundaries_are_kept_sealed_and_part_of_the_version(town, tmp_path):
    """Wrong alternative: shapes that somebody exchanged after the load, under the same name."""
    text = town.description.replace('name = "region"', 'name = "region"\nboundaries = "r.geojson"', 1)

    def load(folder, west):
        features = [
            {"type": "Feature", "id": code, "geometry": {"type": "Polygon", "coordinates": [_square(x)]}}
            for code, x in (("N", west), ("S", 1 - west))
        ]
        shapes = {"type": "FeatureCollection", "features": features}
        (tmp_path / "r.geojson").write_text(json.dumps(shapes), "utf-8")
        write_secret(folder)
        return load_dataset(folder, text, town.records, beside=tmp_path)

    first, other = load(tmp_path / "w", 0), load(tmp_path / "v", 1)
    assert first != other == load(tmp_path / "v", 1)
    stored = Workspace(tmp_path / "w").stored("town")
    assert set(stored.dataset.boundaries["region"].shapes) == {"N", "S"}
    kept = tmp_path / "w" / "datasets" / "town" / first / "boundaries.region.geojson"
    kept.write_bytes((tmp_path / "v" / "datasets" / "town" / other / kept.name).read_bytes())
    with pytest.raises(WorkspaceUnusable, match="changed after it was loaded"):
        Workspace(tmp_path / "w").stored("town")
    (tmp_path / "r.geojson").unlink()
    with pytest.raises(BadDescription, match="does not exist"):
        load_dataset(tmp_path / "w", text, town.records, beside=tmp_path)


def _square(x):
    return [[x, 50], [x + 1, 50], [x + 1, 51], [x, 51], [x, 50]]


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
    with pytest.raises(WorkspaceUnusable, match="does not support") as refused:
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
