"""A version answers only as it was loaded: complete, unchanged, and with the secret of its load."""

import json
import os
import shutil

import pytest

from discreet.answer.pipeline import release_table
from discreet.errors import BadDescription, SecretUnusable, WorkspaceUnusable
from discreet.model.request import TableRequest
from discreet.workspace.load import load_dataset
from discreet.workspace.workspace import Workspace

#: One secret, so that names of versions can be compared.
SECRET = bytes(range(32))
REQUEST = TableRequest("town", ("sex",), ("age",))


@pytest.fixture
def workspace(town_folder):
    return Workspace(town_folder)


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
        shutil.rmtree(version / "cubes")  # with them a version is answered whose records are away
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


@pytest.mark.slow
def test_boundaries_are_kept_sealed_and_part_of_the_version(town, tmp_path):
    """Wrong alternative: shapes that somebody exchanged after the load, under the same name."""
    text = town.description.replace('name = "region"', 'name = "region"\nboundaries = "r.geojson"', 1)

    def load(folder, west):
        shapes = [("N", west), ("S", 1 - west)]
        features = [
            {"type": "Feature", "id": code, "geometry": {"type": "Polygon", "coordinates": [_square(x)]}}
            for code, x in shapes
        ]
        (tmp_path / "r.geojson").write_text(
            json.dumps({"type": "FeatureCollection", "features": features}), "utf-8"
        )
        folder.mkdir(exist_ok=True)
        (folder / "secret").write_bytes(SECRET)
        (folder / "secret").chmod(0o600)
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
    with pytest.raises(BadDescription, match="which is not there"):
        load_dataset(tmp_path / "w", text, town.records, beside=tmp_path)


def _square(x):
    return [[x, 50], [x + 1, 50], [x + 1, 51], [x, 51], [x, 50]]
