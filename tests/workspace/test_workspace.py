import gc
import stat
import weakref
from types import SimpleNamespace

import pytest
from tests.workspace.conftest import REQUEST, place_of

from discreet.errors import WorkspaceUnusable
from discreet.release.pipeline import release_table
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace


def test_the_layout_is_as_documented(workspace):
    names = {path.name for path in place_of(workspace.folder).iterdir()}
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
    assert place_of(workspace.folder).name == workspace.stored("town").digest
    assert stat.S_IMODE((workspace.folder / "secret").stat().st_mode) == 0o600
    assert stat.S_IMODE(workspace.folder.stat().st_mode) == 0o700


def test_another_description_is_another_version_and_the_old_one_stays_readable(town, workspace):
    before = place_of(workspace.folder)
    stored = workspace.stored("town")
    load_dataset(workspace.folder, town.description.replace("A town", "The town"), town.records)
    assert place_of(workspace.folder) != before
    assert release_table(stored, REQUEST).dataset.label == "A town"
    assert release_table(workspace.stored("town"), REQUEST).dataset.label == "The town"


@pytest.mark.parametrize("fault", ["label = ", "[[variable]]\n", "label = 3\n"])
def test_a_stored_description_that_cannot_be_read_is_not_mended_by_hand(workspace, fault):
    """It is sealed: the advice for a file that somebody writes would lead nowhere."""
    file = place_of(workspace.folder) / "dataset.toml"
    file.write_text(file.read_text("utf-8") + fault, "utf-8")
    with pytest.raises(WorkspaceUnusable, match=r"was changed after it was loaded\.") as refused:
        Workspace(workspace.folder).stored("town")
    assert refused.value.advice == "Load the dataset again."


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
