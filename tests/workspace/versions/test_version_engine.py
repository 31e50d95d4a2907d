"""Which engine keeps a version: the first who names one wins.

The cubes of a version on disk: what is damaged, foreign or stale is never used, and the same numbers are answered.
"""

import json
import logging
import shutil
import stat

import pytest
from tests.workspace.conftest import flip, numbers, place_of

from discreet.errors import RecordsAway, WorkspaceUnusable
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import TableRequest
from discreet.records.keys import read_secret
from discreet.release.pipeline import release_table
from discreet.workspace.operate.make_cubes import make_cubes
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.versions.version_engine import (
    CUBES_SEAL,
    engine_name,
    read_cube_list,
    verify_cubes,
    write_cube_list,
)
from discreet.workspace.workspace import Workspace


def test_the_first_that_names_an_engine_wins(town, tmp_path):
    plain = parse_dataset(town.description)
    named = parse_dataset(town.description + '\n[engine]\nkind = "toy"\n')
    assert engine_name(tmp_path, plain) == ""
    (tmp_path / "workspace.toml").write_text('[engine]\nkind = "one"\n')
    assert engine_name(tmp_path, plain) == "one"
    assert engine_name(tmp_path, named) == "toy"
    assert engine_name(tmp_path, named, "duckdb") == "duckdb"


COVERED, OTHER = TableRequest("town", ("age", "job")), TableRequest("town", ("area", "sex"))


def cube_file(place):
    (path,) = (place / "cubes").glob("*.arrow")
    return path


def test_a_covered_table_needs_no_records(folder, caplog):
    before = numbers(folder, COVERED)
    (place_of(folder) / "data.duckdb").rename(folder / "elsewhere")
    assert numbers(folder, COVERED) == before
    assert Workspace(folder).verify("town") == place_of(folder).name
    assert "only tables that its cubes cover" in caplog.text, "the custodian is told"
    with pytest.raises(RecordsAway, match="are missing"):
        numbers(folder, OTHER)
    (folder / "elsewhere").rename(place_of(folder) / "data.duckdb")
    assert numbers(folder, OTHER)


def other_list(place, _town):
    """A list without a seal of this version."""
    path = place / "cubes" / CUBES_SEAL
    document = json.loads(path.read_text())
    document["cubes"][0]["rows"] += 1
    path.write_text(json.dumps(document))


def other_version(place, town):
    """The cubes of other records, list and all."""
    folder = place.parents[2]
    load_dataset(folder, town.description.replace("A town", "Another"), town.records.slice(500))
    shutil.rmtree(place / "cubes")
    shutil.copytree(place_of(folder) / "cubes", place / "cubes")
    (place.parent / "current").write_text(place.name)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda place, _: flip(cube_file(place)),
        lambda place, _: cube_file(place).unlink(),
        other_list,
        other_version,
    ],
)
def test_a_spoiled_cube_is_not_used_and_the_custodian_is_told(town, folder, caplog, spoil):
    before, place = numbers(folder, COVERED), place_of(folder)
    spoil(place, town)
    with caplog.at_level(logging.WARNING, "discreet.cubes"):
        assert numbers(folder, COVERED) == before, "the records are counted in its place"
    assert "discreet build town" in caplog.text
    with pytest.raises(WorkspaceUnusable):
        verify_cubes(place, read_secret(folder / "secret"), place.name)
    (place / "data.duckdb").unlink()
    with pytest.raises(WorkspaceUnusable):
        numbers(folder, COVERED)
    with pytest.raises(WorkspaceUnusable):
        Workspace(folder).verify("town")


def test_without_the_comparison_another_version_would_answer(town, folder, monkeypatch):
    """The wrong alternative: to trust whatever stands in the folder."""
    before, place = numbers(folder, COVERED), place_of(folder)
    other_version(place, town)
    monkeypatch.setattr("discreet.workspace.versions.version_engine.is_cube_intact", lambda *_: True)
    monkeypatch.setattr(
        "discreet.workspace.versions.version_engine.read_sealed",
        lambda path, *_: json.loads(path.read_text()),
    )
    assert numbers(folder, COVERED) != before


def test_a_file_that_the_list_does_not_name_is_not_read_and_swept(folder):
    place, secret = place_of(folder), read_secret(folder / "secret")
    stray = place / "cubes" / "stray.arrow"
    stray.write_bytes(b"left by a build that died")
    before = numbers(folder, COVERED)
    listed = read_cube_list(place, secret, place.name)
    write_cube_list(place, listed, secret, place.name)
    assert not stray.exists()
    assert numbers(folder, COVERED) == before
    assert stat.S_IMODE((place / "cubes").stat().st_mode) == 0o700


def test_a_server_that_runs_takes_a_build_up(folder):
    workspace = Workspace(folder)
    stored = workspace.stored("town")
    release_table(stored, COVERED)
    assert len(stored.engine._cubes()) == 1
    make_cubes(folder, "town", within=0)
    assert stored.engine._cubes() == ()
    assert release_table(stored, COVERED).values.tolist() == numbers(folder, COVERED)
    workspace.close()


def cubes(workspace):
    place = place_of(workspace.folder)
    return read_cube_list(place, read_secret(workspace.folder / "secret"), place.name)


def test_a_load_rolls_up_all_but_the_finer_areas(town_workspace):
    (cube,) = cubes(town_workspace)
    assert cube.variables == ("region", "sex", "age", "job")
    assert cube.rows * 4 <= 3000


def test_few_records_are_not_rolled_up(town, tmp_path):
    few = town.load(tmp_path / "few", records=town.records.slice(0, 40))
    assert cubes(few) == ()
    assert list((tmp_path / "few").rglob("*.arrow")) == []
    few.close()
