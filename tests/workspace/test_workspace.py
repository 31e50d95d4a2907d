import json
import os
import stat
import subprocess
import sys
import threading

import pytest

from discreet.answer.pipeline import release_table
from discreet.errors import BadDescription, NotFound, SecretUnusable, UnknownDataset, WorkspaceUnusable
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
    assert names == {"dataset.toml", "data.duckdb", "noise.json", "secret.check", "version.json"}
    assert (workspace.folder / "datasets" / "town" / "current").read_text().strip() == version_of(
        workspace
    ).name
    assert stat.S_IMODE((workspace.folder / "secret").stat().st_mode) == 0o600
    assert stat.S_IMODE(workspace.folder.stat().st_mode) == 0o700


def test_the_same_records_and_description_are_the_same_version(town, workspace):
    before = version_of(workspace)
    load_dataset(workspace.folder, town.description, town.records)
    assert version_of(Workspace(workspace.folder)) == before
    assert len(list(before.parent.glob("?" * 32))) == 1


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


def test_a_reader_never_sees_a_half_loaded_version(town, workspace):
    """Loads of two versions in turn, a reader all the while: every answer is whole and from one of the two."""
    labels, errors, stop = set(), [], threading.Event()

    def read():
        while not stop.is_set():
            try:
                labels.add(release_table(Workspace(workspace.folder).stored("town"), REQUEST).dataset.label)
            except Exception as error:  # noqa: BLE001 - any error is a finding
                errors.append(repr(error))

    reader = threading.Thread(target=read)
    reader.start()
    for turn in range(6):
        load_dataset(workspace.folder, town.description.replace("A town", f"Town {turn % 2}"), town.records)
    stop.set()
    reader.join()
    assert not errors
    assert labels <= {"A town", "Town 0", "Town 1"}


def test_an_interrupted_load_leaves_the_old_version_and_is_swept_up(town, workspace):
    """A process that is killed in the middle of a load: nothing of it is ever served."""
    program = (
        "import os, sys; from pathlib import Path; import discreet.workspace.load as w\n"
        "w._point = lambda *a: os._exit(9)\n"
        "import pyarrow.parquet as pq\n"
        "text = Path(sys.argv[2]).read_text().replace('A town', 'Half a town')\n"
        "w.load_dataset(Path(sys.argv[1]), text, Path(sys.argv[3]))"
    )
    import pyarrow.parquet as pq

    pq.write_table(town.records, workspace.folder / "r.parquet")
    (workspace.folder / "d.toml").write_text(town.description)
    arguments = [workspace.folder, workspace.folder / "d.toml", workspace.folder / "r.parquet"]
    assert subprocess.run([sys.executable, "-c", program, *map(str, arguments)], check=False).returncode == 9
    assert Workspace(workspace.folder).stored("town").dataset.label == "A town"
    (workspace.folder / "datasets" / "town" / ".loading-dead").mkdir()
    load_dataset(workspace.folder, town.description, town.records)
    assert not list((workspace.folder / "datasets" / "town").glob(".loading*"))


def test_an_unknown_dataset_names_the_nearest(workspace):
    with pytest.raises(UnknownDataset, match='Did you mean "town"'):
        workspace.stored("twon")
    with pytest.raises(UnknownDataset):
        workspace.stored("../town")


def test_a_folder_that_is_no_workspace_is_said_so(tmp_path):
    with pytest.raises(NotFound):
        Workspace(tmp_path)


class TestFailClosed:
    """Whatever is damaged, the answer is an error and never an unprotected number."""

    def refuses(self, folder, error):
        with pytest.raises(error) as raised:
            release_table(Workspace(folder).stored("town"), REQUEST)
        assert raised.value.advice

    def test_without_the_secret(self, workspace):
        (workspace.folder / "secret").unlink()
        self.refuses(workspace.folder, SecretUnusable)

    def test_with_a_secret_that_others_can_read(self, workspace):
        (workspace.folder / "secret").chmod(0o644)
        self.refuses(workspace.folder, SecretUnusable)

    def test_with_another_secret_than_that_of_the_load(self, workspace):
        (workspace.folder / "secret").write_bytes(bytes(range(50, 82)))
        self.refuses(workspace.folder, SecretUnusable)

    def test_without_the_check_of_the_secret(self, workspace):
        (version_of(workspace) / "secret.check").unlink()
        self.refuses(workspace.folder, SecretUnusable)

    def test_with_an_empty_secret(self, workspace):
        (workspace.folder / "secret").write_bytes(b"")
        self.refuses(workspace.folder, SecretUnusable)

    @pytest.mark.parametrize("name", ["noise.json", "dataset.toml", "data.duckdb"])
    def test_without_a_file_of_the_version(self, workspace, name):
        folder, version = workspace.folder, version_of(workspace)
        workspace.close()
        (version / name).unlink()
        self.refuses(folder, WorkspaceUnusable)

    @pytest.mark.parametrize(
        "change",
        [
            lambda d: d["rows"][2]["thresholds"].__setitem__(-1, d["modulus"] - 1),
            lambda d: d["rows"][2]["thresholds"].__setitem__(0, 0),
            lambda d: d["rows"][2]["values"].append(77),
            lambda d: d["rows"].clear(),
            lambda d: d.pop("modulus"),
            lambda d: d["rows"][2]["thresholds"].__setitem__(0, 1.5),
            lambda d: d.__setitem__("repeats", 0),
        ],
    )
    def test_with_a_noise_table_that_has_a_gap(self, workspace, change):
        path = version_of(workspace) / "noise.json"
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))
        self.refuses(workspace.folder, WorkspaceUnusable)

    def test_with_a_damaged_pointer(self, workspace):
        (workspace.folder / "datasets" / "town" / "current").write_text("../../etc\n")
        self.refuses(workspace.folder, WorkspaceUnusable)

    @pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
    def test_with_an_unreadable_secret(self, workspace):
        (workspace.folder / "secret").chmod(0)
        self.refuses(workspace.folder, SecretUnusable)


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        ('family = "maxnet"', 'Did you mean "maxent"'),
        ('family = "maxent"\nD = 5', "needs V"),
        ('family = "maxent"\nD = 5\nV = 3\nW = 2', 'no parameter "W"'),
    ],
)
def test_a_protection_that_cannot_be_is_refused_before_a_record_is_read(town, tmp_path, noise, message):
    text = town.description.split("[protection.noise]")[0] + "[protection.noise]\n" + noise
    with pytest.raises(BadDescription) as raised:
        load_dataset(tmp_path / "workspace", text, iter(()))
    assert message in str(raised.value)


def test_rules_are_checked_at_load_and_read_once_at_open(town, tmp_path):
    rule = '\n[[rule]]\nkind = "max-variables"\nmost = 2\nlevel = "{}"\n'
    with pytest.raises(BadDescription, match='"max-variables" has level'):
        town.load(tmp_path / "bad", town.description + rule.format("arae"))
    workspace = town.load(tmp_path / "good", town.description + rule.format("area"))
    (read,) = workspace.stored("town").rules
    assert (read.kind, read.most, read.level) == ("max-variables", 2, "area")
