import json
import stat
import subprocess
import sys

import pytest

from discreet.answer.pipeline import release_table
from discreet.errors import NotFound, UnknownDataset
from discreet.model.request import TableRequest
from discreet.workspace.load import load_dataset
from discreet.workspace.workspace import Workspace

REQUEST = TableRequest("town", ("sex",), ("age",))


@pytest.fixture
def workspace(town, tmp_path):
    return town.load(tmp_path / "workspace")


def version_of(workspace):
    return workspace.folder / "datasets" / "town" / workspace.stored("town").digest


def test_the_layout_is_as_documented(workspace):
    names = {path.name for path in version_of(workspace).iterdir()}
    assert names == {
        "dataset.toml",
        "data.duckdb",
        "noise.json",
        "records.seal",
        "secret.check",
        "version.json",
    }
    assert (workspace.folder / "datasets" / "town" / "current").read_text().strip() == version_of(
        workspace
    ).name
    assert stat.S_IMODE((workspace.folder / "secret").stat().st_mode) == 0o600
    assert stat.S_IMODE(workspace.folder.stat().st_mode) == 0o700


def test_another_description_is_another_version_and_the_old_one_stays_readable(town, workspace):
    before = version_of(workspace)
    stored = workspace.stored("town")
    load_dataset(workspace.folder, town.description.replace("A town", "The town"), town.records)
    assert version_of(workspace) != before
    assert release_table(stored, REQUEST).dataset.label == "A town"
    assert release_table(workspace.stored("town"), REQUEST).dataset.label == "The town"


def test_a_restart_answers_the_same(town, workspace):
    once = release_table(workspace.stored("town"), REQUEST).values.tolist()
    assert release_table(Workspace(workspace.folder).stored("town"), REQUEST).values.tolist() == once


@pytest.mark.slow
def test_another_process_answers_the_same(workspace):
    once = release_table(workspace.stored("town"), REQUEST).values.tolist()
    program = (
        "import json, sys; from pathlib import Path; from discreet.workspace.workspace import Workspace\n"
        "from discreet.model.request import TableRequest; from discreet.answer.pipeline import release_table\n"
        "stored = Workspace(Path(sys.argv[1]), threads=1).stored('town')\n"
        "print(json.dumps(release_table(stored, TableRequest('town', ('sex',), ('age',))).values.tolist()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(workspace.folder)], check=True, capture_output=True
    )
    assert json.loads(done.stdout) == once


def test_an_unknown_dataset_names_the_nearest(workspace):
    with pytest.raises(UnknownDataset, match='Did you mean "town"'):
        workspace.stored("twon")
    with pytest.raises(UnknownDataset):
        workspace.stored("../town")


def test_a_folder_that_is_no_workspace_is_said_so(tmp_path):
    with pytest.raises(NotFound):
        Workspace(tmp_path)
