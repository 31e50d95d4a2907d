"""An engine is added in one place and named in another; its numbers are in `test_contract.py`."""

import pytest

from discreet import errors
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.plugins import Extra
from discreet.records import engine as engines
from discreet.records.engine import EngineKind, engine_kind, engine_kinds, register
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.versions.version_engine import engine_name
from discreet.workspace.workspace import Workspace

pytestmark = [pytest.mark.usefixtures("toy"), pytest.mark.slow]


def version_of(folder, dataset="town"):
    home = folder / "datasets" / dataset
    return home / (home / "current").read_text().strip()


@pytest.fixture
def held_by(town, tmp_path):
    """A workspace with the town, kept by an engine."""

    def load(engine, description=None, records=None):
        folder = tmp_path / f"by-{engine}"
        town.load(folder, description, records, engine).close()
        return folder

    return load


def test_the_registry_finds_every_module_of_the_folder_and_the_toy():
    assert [kind.name for kind in engine_kinds()] == ["duckdb", "parquet", "postgres", "spark", "toy"]
    assert all(kind.summary for kind in engine_kinds())


@pytest.mark.parametrize("where", ["dataset.toml", "workspace.toml"])
def test_a_file_that_names_the_engine_is_heard(town, tmp_path, where):
    section = '\n[engine]\nkind = "toy"\n'
    (tmp_path / "workspace.toml").write_text(section if where == "workspace.toml" else "threads = 1\n")
    load_dataset(tmp_path, town.description + (section if where == "dataset.toml" else ""), town.records)
    assert (version_of(tmp_path) / "engine").read_text() == "toy\n"
    assert read_options(tmp_path).port == 8000


def test_a_version_of_duckdb_names_no_engine(held_by):
    names = {path.name for path in version_of(held_by("duckdb")).iterdir()}
    files = "cubes dataset.toml data.duckdb ids.sketch ledger.mark noise.json records.seal secret.check version.json"
    assert names == set(files.split())


@pytest.mark.parametrize(
    ("engine", "change"),
    [
        ("toy", lambda p: p.unlink()),
        ("toy", lambda p: p.write_text("duckdb\n")),
        ("duckdb", lambda p: p.write_text("toy\n")),
    ],
)
def test_the_name_of_the_engine_is_under_the_seal(held_by, engine, change):
    folder = held_by(engine)
    change(version_of(folder) / "engine")
    with pytest.raises(errors.WorkspaceUnusable, match="changed after it was loaded"):
        Workspace(folder).stored("town")


def test_a_version_whose_engine_is_not_known_here_is_not_served(held_by, monkeypatch):
    folder = held_by("toy")
    members = {name: kind for name, kind in engines._REGISTRY._members.items() if name != "toy"}
    monkeypatch.setattr(engines._REGISTRY, "_members", members)
    with pytest.raises(
        errors.WorkspaceUnusable, match='stored in the engine "toy", which is not installed here'
    ):
        Workspace(folder).stored("town")


def test_one_version_has_one_engine(held_by, town):
    """A second engine is refused by name; without a name the version stays where it is."""
    folder = held_by("toy")
    with pytest.raises(errors.BadRequest, match='already loaded, in the engine "toy"') as refused:
        load_dataset(folder, town.description, town.records, engine="duckdb")
    assert "discreet move-engine --to duckdb" in refused.value.advice
    load_dataset(folder, town.description, town.records)
    load_dataset(folder, town.description, town.records, engine="toy")
    assert (version_of(folder) / "engine").read_text() == "toy\n"
    assert len(list((folder / "datasets" / "town").glob("*/dataset.toml"))) == 1


def test_an_unknown_engine_is_refused_with_the_nearest_and_nothing_is_left(run_here, town, tmp_path):
    (tmp_path / "town.toml").write_text(town.description, "utf-8")
    (tmp_path / "town.csv").write_text("person\n", "utf-8")
    files = (tmp_path / "town.toml", tmp_path / "town.csv")
    done = run_here("load", *files, "--engine", "duckbd", "-w", tmp_path / "w")
    assert done.returncode == 2
    assert 'There is no engine "duckbd". Did you mean "duckdb"?' in " ".join(done.stderr.split())
    assert not (tmp_path / "w").exists()
    with pytest.raises(errors.UnknownEngine, match='Did you mean "toy"'):
        load_dataset(tmp_path, town.description + '\n[engine]\nkind = "tyo"\n', town.records)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ('engine = "toy"', "not a section"),
        ('[engine]\nkind = "toy"\nurl = ""', 'unknown key "url"'),
        ("[engine]\nkind = 3", "is 3"),
    ],
)
def test_a_section_that_cannot_be_read_is_refused_in_both_files(town, tmp_path, section, said):
    with pytest.raises(errors.BadDescription, match=said):
        parse_dataset(
            f"{section}\n{town.description}" if section[0] == "e" else f"{town.description}\n{section}"
        )
    (tmp_path / "workspace.toml").write_text(section)
    with pytest.raises(errors.BadOption, match=said):
        engine_name(tmp_path, parse_dataset(town.description))


def test_an_engine_that_is_not_installed_says_what_to_install(town, tmp_path):
    needs = Extra("discreet[far]", ("json", "no_such_cluster"))
    register(EngineKind("far", "far away", lambda *_: None, lambda *_: None, needs))
    with pytest.raises(
        errors.MissingExtra, match=r'"far" needs no_such_cluster. Install it: pip install "discreet\[far\]"'
    ):
        engine_kind("far")
    with pytest.raises(errors.MissingExtra):
        load_dataset(tmp_path / "w", town.description, town.records, engine="far")
    assert not (tmp_path / "w").exists()
