"""What is public of a version: a dataset again on another machine, without comments, files and engines.

Residuals on disk: sealed with the records, read to answer, refused when they are others.
"""

import numpy as np
import pytest

from discreet.errors import WorkspaceUnusable
from discreet.model.request import request_from_text
from discreet.publish.release_file import pack, unpack
from discreet.release.dataset_registry import open_registry
from discreet.release.pipeline import release_table
from discreet.workspace.versions.public_parts import RESIDUALS, PublicParts, read_residuals
from discreet.workspace.workspace import Workspace


def test_the_description_gives_the_dataset_without_what_its_records_need(town, tmp_path):
    text = town.description.replace(
        "[protection]", '# A remark of the office.\n[engine]\nkind = "duckdb"\n\n[protection]', 1
    )
    town.load(tmp_path, text).close()
    registry = open_registry(tmp_path)
    parts = registry.public_parts("town")
    assert b"remark" not in pack(parts.description)
    assert not {"engine", "file"} & parts.description.keys()
    again = PublicParts(unpack(pack(parts.description)), parts.revisions, parts.wording, {}).dataset()
    served = registry.open("town").dataset
    assert [v.codes for v in again.variables] == [v.codes for v in served.variables]
    assert (again.protection, again.lineage, again.code_lists) == (
        served.protection,
        served.lineage,
        served.code_lists,
    )
    registry.close()


REQUEST = request_from_text("town", rows=["area"], columns=["sex"])


@pytest.fixture
def loaded(joint_town, tmp_path):
    workspace = joint_town.load(tmp_path / "w")
    digest = workspace.stored("town").digest
    yield workspace, workspace.folder / "datasets" / "town" / digest
    workspace.close()


@pytest.mark.slow
def test_the_same_records_have_the_same_residuals(loaded, joint_town, joint_workspace):
    workspace, folder = loaded
    again = joint_workspace.stored("town")
    release = release_table(workspace.stored("town"), REQUEST)
    assert again.digest == folder.name
    assert (release.unrounded == release_table(again, REQUEST).unrounded).all()
    numbers = np.load(folder / RESIDUALS)
    assert numbers.dtype == np.int64
    assert (again.protector.residuals.numbers == numbers).all()


@pytest.mark.slow
def test_a_changed_number_and_a_missing_file_are_refused(loaded):
    """Wrong alternative: residuals beside the seal, which anybody could make larger."""
    workspace, folder = loaded
    workspace.verify("town")
    numbers = np.load(folder / RESIDUALS)
    numbers[3] += 1
    np.save(folder / RESIDUALS, numbers)
    with pytest.raises(WorkspaceUnusable, match="have changed since their load"):
        Workspace(workspace.folder).stored("town")
    with pytest.raises(WorkspaceUnusable):
        workspace.verify("town")
    (folder / RESIDUALS).unlink()
    with pytest.raises(WorkspaceUnusable, match="cannot be read"):
        read_residuals(folder, None)
