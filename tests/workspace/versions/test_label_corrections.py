"""Corrected words: other labels, the same version and numbers; anything that decides a number is refused."""

import pytest

from discreet.errors import BadRequest, WorkspaceUnusable
from discreet.model.request import request_from_text
from discreet.release.pipeline import release_table
from discreet.workspace.versions.label_corrections import WORDING, relabel_dataset
from discreet.workspace.workspace import Workspace

REQUEST = request_from_text("town", rows=["sex"], columns=["age"])


def test_labels_change_and_numbers_and_version_do_not(workspace, town):
    before = release_table(workspace.stored("town"), REQUEST)
    text = town.description.replace('label = "Male"', 'label = "Men"').replace(
        'label = "A town"', 'label = "The town"'
    )
    assert relabel_dataset(workspace.folder, text) == before.digest
    for opened in (workspace, Workspace(workspace.folder)):  # one that runs, and one that starts
        after = release_table(opened.stored("town"), REQUEST)
        assert after.dataset.label == "The town"
        assert after.dimensions[0].labels[0] == "Men"
        assert (after.values == before.values).all()
        assert after.digest == before.digest
        assert after.dataset.wording != before.dataset.wording


@pytest.mark.parametrize(
    ("change", "where"),
    [
        (('code = "1", label = "Male"', 'code = "M", label = "Male"'), "variable.sex.categories.1"),
        (('"1", label = "Male" }, { code = "2"', '"2", label = "Male" }, { code = "1"'), "variable.sex.categories.order"),
        (('version = "1"', 'version = "2"'), "version"),
        (("[protection]", "[protection]\nmax_cells = 10"), "protection.max_cells"),
        (('id_column = "person"', 'id_column = "age"'), "id_column"),
    ],
)  # fmt: skip
def test_more_than_words_is_refused(workspace, town, change, where):
    with pytest.raises(BadRequest, match="more than a label or note") as refused:
        relabel_dataset(workspace.folder, town.description.replace(*change, 1))
    assert f"`{where}`" in refused.value.message


def test_words_that_were_edited_by_hand_are_refused(workspace, town):
    relabel_dataset(workspace.folder, town.description.replace('label = "Male"', 'label = "Men"'))
    path = workspace.folder / "datasets" / "town" / WORDING
    path.write_text(path.read_text("utf-8").replace("Men", "Mice"), "utf-8")
    with pytest.raises(WorkspaceUnusable, match="corrected labels"):
        Workspace(workspace.folder).stored("town")


def test_words_of_another_version_are_not_used(workspace, town):
    relabel_dataset(workspace.folder, town.description.replace('label = "Male"', 'label = "Men"'))
    town.load(workspace.folder, town.description.replace('version = "1"', 'version = "2"'))
    assert (
        release_table(Workspace(workspace.folder).stored("town"), REQUEST).dimensions[0].labels[0] == "Male"
    )
    with pytest.raises(BadRequest, match="not served"):
        relabel_dataset(workspace.folder, town.description.replace('id = "town"', 'id = "nowhere"'))
