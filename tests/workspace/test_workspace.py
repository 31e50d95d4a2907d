import gc
import json
import stat
import subprocess
import sys
import weakref
from types import SimpleNamespace

import pytest

from discreet.errors import NotFound, UnknownDataset, WorkspaceUnusable
from discreet.model.request import TableRequest
from discreet.release.pipeline import release_table
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

REQUEST = TableRequest("town", ("sex",), ("age",))


@pytest.fixture
def workspace(town_folder):
    return Workspace(town_folder)


def version_of(workspace):
    return workspace.folder / "datasets" / "town" / workspace.stored("town").digest


def test_the_layout_is_as_documented(workspace):
    names = {path.name for path in version_of(workspace).iterdir()}
    assert names == {
        "cubes",
        "dataset.toml",
        "data.duckdb",
        "ids.sketch",
        "ledger.mark",
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


@pytest.mark.parametrize("fault", ["label = ", "[[variable]]\n", "label = 3\n"])
def test_a_stored_description_that_cannot_be_read_is_not_mended_by_hand(workspace, fault):
    """It is sealed: the advice for a file that somebody writes would lead nowhere."""
    file = version_of(workspace) / "dataset.toml"
    file.write_text(file.read_text("utf-8") + fault, "utf-8")
    with pytest.raises(WorkspaceUnusable, match=r"was changed after it was loaded\.") as refused:
        Workspace(workspace.folder).stored("town")
    assert refused.value.advice == "Load the dataset again."


def test_a_restart_answers_the_same(town, workspace):
    once = release_table(workspace.stored("town"), REQUEST).values.tolist()
    assert release_table(Workspace(workspace.folder).stored("town"), REQUEST).values.tolist() == once


@pytest.mark.slow
def test_another_process_answers_the_same(workspace):
    once = release_table(workspace.stored("town"), REQUEST).values.tolist()
    program = (
        "import json, sys; from pathlib import Path; from discreet.workspace.workspace import Workspace\n"
        "from discreet.model.request import TableRequest; from discreet.release.pipeline import release_table\n"
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


def another(town, workspace):
    """A load of another version."""
    load_dataset(workspace.folder, town.description.replace("A town", "The town"), town.records)


def test_the_mark_changes_with_a_load_other_words_a_refusal_and_another_ledger(town, workspace):
    """Each of them is enough; a question changes nothing. A mark of the current version alone would miss three."""
    marked = workspace.folder
    seen = [workspace.mark("town")]
    workspace.stored("town")
    assert workspace.mark("town") == seen[0] == Workspace(marked).mark("town")
    changes = (
        lambda: another(town, workspace),
        lambda: (marked / "datasets" / "town" / "wording.json").write_text("{}"),
        lambda: workspace._refused.update({"digest": WorkspaceUnusable("", "")}),
        lambda: (marked / "ledger.sqlite").rename(marked / "moved"),
    )
    for change in changes:
        change()
        assert workspace.mark("town") not in seen
        seen.append(workspace.mark("town"))
    assert workspace.mark("") == (workspace.mark("town"),)
    assert workspace.mark("nothing") != workspace.mark("town")


@pytest.mark.slow
def test_a_version_that_is_served_no_more_is_closed_when_its_last_answer_ends(town, workspace):
    """An answer under way keeps its records; afterwards nothing does, and asking for the version opens it again."""
    under_way = workspace.stored("town")
    engine = weakref.ref(under_way.engine)
    another(town, workspace)
    assert workspace.stored("town").digest != under_way.digest
    assert engine() is not None
    del under_way
    gc.collect()
    assert engine() is None
    assert len(workspace._open) == 1


def test_closing_lets_go_of_the_database_of_accounts(workspace):
    """Wrong alternative: its connections stay open, and with them the files of the ledger."""
    key = open_accounts(workspace.folder).create("ann", "reader")
    database = workspace.asker(key).database
    closed = []
    workspace._accounts = SimpleNamespace(close=lambda: closed.append(database))
    workspace.close()
    assert closed == [database]
    assert workspace.asker(key).account == "ann"
    workspace.close()
