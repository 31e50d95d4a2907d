"""A version answers only as it was loaded: complete, unchanged, and with the secret of its load."""

import json
import os

import pytest

from discreet.answer.pipeline import release_table
from discreet.errors import SecretUnusable, WorkspaceUnusable
from discreet.model.request import TableRequest
from discreet.workspace.workspace import Workspace

REQUEST = TableRequest("town", ("sex",), ("age",))


@pytest.fixture
def workspace(town, tmp_path):
    return town.load(tmp_path / "workspace")


def version_of(workspace):
    return workspace.folder / "datasets" / "town" / workspace.stored("town").digest


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
