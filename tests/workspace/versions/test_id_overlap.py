"""Records that were loaded before under another name are recognised, and only the custodian is told."""

import pyarrow as pa
import pytest

from discreet.release.load_cautions import dry_load_document, load_with_cautions
from discreet.workspace.operate.manage_versions import remove_dataset
from discreet.workspace.operate.rotate import rotate
from discreet.workspace.versions.id_overlap import SKETCH
from discreet.workspace.versions.load_version import LoadJob
from discreet.workspace.workspace import Workspace

ID = "person"


def renamed(description, name="copy", more=""):
    return description.replace('id = "town"', f'id = "{name}"{more}', 1)


def with_ids(town, ids):
    """The records with other ids."""
    return town.records.set_column(town.records.schema.get_field_index(ID), ID, pa.array(ids))


@pytest.fixture
def folder(town_folder):
    return town_folder


def cautions(folder, description, records):
    """What a rehearsal and a load say of ids, which must be the same."""
    before = dry_load_document(LoadJob(folder, description, records))["cautions"]
    told = load_with_cautions(LoadJob(folder, description, records)).cautions
    of_ids, rehearsed = ([each for each in found if "loaded before" in each] for found in (told, before))
    assert of_ids == rehearsed
    return of_ids


def test_the_same_people_under_another_id_are_recognised_and_not_refused(folder, town):
    (told,) = cautions(folder, renamed(town.description), town.records)
    assert told.startswith('100 % of the ids were loaded before, as "town" 1 (cellkey)')
    assert "give this dataset the lineage or the budget of the other" in told
    assert Workspace(folder).ids() == ["copy", "town"]


@pytest.mark.slow
def test_a_part_of_them_is_recognised_with_its_share(folder, town):
    half = town.records.num_rows // 2
    old = [str(each) for each in town.records.column(ID).to_pylist()[:half]]
    ids = [*old, *(f"new {n}" for n in range(town.records.num_rows - half))]
    (told,) = cautions(folder, renamed(town.description), with_ids(town, ids))
    assert told.startswith("50 % of the ids")


@pytest.mark.slow
def test_a_removed_dataset_is_still_recognised(folder, town):
    remove_dataset(folder, "town")
    assert len(cautions(folder, renamed(town.description), town.records)) == 1


@pytest.mark.slow
def test_kin_and_strangers_are_not_told_of(folder, town):
    """Other people, the same lineage, and a new version of the same dataset."""
    strangers = with_ids(town, [f"other {n}" for n in range(town.records.num_rows)])
    assert cautions(folder, renamed(town.description), strangers) == []
    sister = renamed(town.description, "sister", '\nlineage = "town"')
    assert not [each for each in cautions(folder, sister, town.records) if '"town"' in each]


@pytest.mark.slow
def test_datasets_of_one_budget_are_not_told_of_and_those_of_two_are(private_town):
    description = private_town.description
    told = cautions(private_town.folder, renamed(description), private_town.records)
    assert told == []
    other = renamed(description, "third").replace('family = "town"', 'family = "another"')
    assert len(cautions(private_town.folder, other, private_town.records)) == 2


@pytest.mark.slow
def test_records_without_ids_and_those_of_another_secret_tell_nothing(folder, town):
    """Places in a file are the same numbers in every file: they would always seem to be loaded before."""
    numbered = town.description.replace(f'id_column = "{ID}"', 'id_column = "row number"')
    assert numbered != town.description
    rows = town.records.drop_columns([ID])
    assert cautions(folder, renamed(numbered, "rows"), rows) == []
    assert not list((folder / "datasets" / "rows").rglob(SKETCH))
    rotate(folder)
    assert cautions(folder, renamed(town.description), town.records) == []
