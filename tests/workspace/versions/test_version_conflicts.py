"""Versions next to each other, corrected records, and records that were loaded before under another name."""

import json

import numpy as np
import pyarrow as pa
import pytest
from tests.workspace.conftest import place_of

from discreet.errors import BadRequest, VersionClosed
from discreet.model.request import TableRequest
from discreet.release.load_cautions import dry_load_document, load_with_cautions
from discreet.release.pipeline import release_table
from discreet.workspace.operate.manage_versions import remove_dataset
from discreet.workspace.operate.rotate import rotate
from discreet.workspace.versions.load_version import LoadJob
from discreet.workspace.versions.version import read_version
from discreet.workspace.versions.version_conflicts import SKETCH
from discreet.workspace.workspace import Workspace

REQUEST = TableRequest("town", ("area", "sex"), ("age", "job"))


def described(town, version, extra=""):
    """The town's description under another version name, with lines for [protection]."""
    text = town.description.replace('version = "1"', f'version = "{version}"')
    return text.replace("[protection]\n", f"[protection]\n{extra}", 1)


@pytest.fixture
def workspace(town, tmp_path):
    """Loads versions of the town and asks for them."""

    class Loaded:
        folder = tmp_path / "w"

        def load(self, records, version, extra="", **options):
            text = described(town, version, extra)
            return load_with_cautions(LoadJob(self.folder, text, records, **options)).digest

        def numbers(self, version=""):
            return numbers(self.folder, version)

        def facts(self):
            return {v.version: v for v in Workspace(self.folder).versions("town")}

    return Loaded()


@pytest.mark.slow
def test_a_version_that_many_records_separate_is_answered_beside_the_new_one(town, workspace):
    first = workspace.load(town.records, "1")
    cited = workspace.numbers()
    workspace.load(town.records.slice(100), "2")
    assert (workspace.numbers("1") == cited).all()
    assert (workspace.numbers(first[:8]) == cited).all(), "a citation names the digest"
    assert not (workspace.numbers() == cited).all()


@pytest.mark.slow
@pytest.mark.parametrize("removed", [1, 99])
def test_a_version_that_few_records_separate_is_closed(town, workspace, removed):
    workspace.load(town.records, "1")
    workspace.load(town.records.slice(removed), "2")
    with pytest.raises(VersionClosed, match="few records"):
        workspace.numbers("1")
    assert workspace.facts()["1"].closed
    assert not workspace.facts()["2"].closed


@pytest.mark.slow
def test_the_declared_number_decides(town, workspace):
    workspace.load(town.records, "1", "versions_apart = 3\n")
    workspace.load(town.records.slice(3), "2", "versions_apart = 3\n")
    workspace.numbers("1")
    workspace.load(town.records.slice(5), "3", "versions_apart = 3\n")
    workspace.numbers("1")
    with pytest.raises(VersionClosed):
        workspace.numbers("2")


@pytest.mark.slow
def test_equal_records_under_another_name_stay_open(town, workspace):
    workspace.load(town.records, "1")
    workspace.load(town.records, "2")
    assert (workspace.numbers("1") == workspace.numbers("2")).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "options", "why"),
    [
        ("", {"corrections": "new-lineage"}, "other keys"),
        ("max_cells = 1000000\n", {}, "protected differently"),
    ],
)
def test_other_keys_or_another_protection_close_every_earlier_version(town, workspace, extra, options, why):
    workspace.load(town.records, "1")
    workspace.load(town.records.slice(200), "2", extra, **options)
    with pytest.raises(VersionClosed, match=why):
        workspace.numbers("1")


@pytest.mark.slow
def test_a_version_that_comes_back_is_compared_with_all_that_are_open(town, workspace):
    """A correction that is undone: the first version returns, and the one between is close to it."""
    workspace.load(town.records, "1")
    workspace.load(town.records.slice(5), "2")
    workspace.load(town.records, "1")
    with pytest.raises(VersionClosed):
        workspace.numbers("2")
    assert workspace.facts()["1"].current
    assert len(workspace.facts()) == 2


@pytest.mark.slow
def test_another_dataset_of_the_lineage_may_not_be_close_either(town, workspace):
    workspace.load(town.records, "1")
    sister = town.description.replace('id = "town"', 'id = "village"\nlineage = "town"')
    with pytest.raises(BadRequest, match="same lineage"):
        load_with_cautions(LoadJob(workspace.folder, sister, town.records.slice(1)))
    load_with_cautions(LoadJob(workspace.folder, sister, town.records))
    load_with_cautions(
        LoadJob(workspace.folder, sister.replace('version = "1"', 'version = "2"'), town.records.slice(200))
    )
    assert sorted(Workspace(workspace.folder).ids()) == ["town", "village"]


@pytest.mark.slow
def test_under_dp_every_version_that_was_charged_is_answered(private_town):
    text = private_town.description.replace('version = "1"', 'version = "2"')
    load_with_cautions(LoadJob(private_town.folder, text, private_town.records.slice(1)))
    opened = Workspace(private_town.folder)
    assert [v.closed for v in opened.versions("town")] == ["", ""]
    assert opened.stored("town", "1").digest != opened.stored("town").digest


def load(folder, town, records, **options):
    report = load_with_cautions(LoadJob(folder, town.description, records, **options))
    return report.digest, [sentence for sentence in report.cautions if sentence.startswith("Compared with")]


def numbers(folder, version=""):
    workspace = Workspace(folder)
    try:
        return release_table(workspace.stored("town", version), REQUEST).values
    finally:
        workspace.close()


def test_with_kept_keys_few_cells_change_and_the_custodian_is_told(town, folder):
    once = numbers(folder)
    digest, said = load(folder, town, town.records.slice(1))
    assert digest == place_of(folder).name
    assert said[0].startswith("Compared with the current version: 0 records added, 1 removed, 0 changed.")
    assert 0 < np.count_nonzero(numbers(folder) != once) <= 16, "the removed person is in at most 2^4 cells"


def test_collect_serves_nothing_and_leaves_nothing(town, folder):
    before, names = (
        place_of(folder).name,
        sorted(path.name for path in (folder / "datasets" / "town").iterdir()),
    )
    digest, said = load(folder, town, town.records.slice(3), corrections="collect")
    assert digest == before == place_of(folder).name
    assert "3 removed" in said[0]
    assert sorted(path.name for path in (folder / "datasets" / "town").iterdir()) == names


def test_collect_under_dp_charges_nothing(private_town):
    def charges():
        workspace = Workspace(private_town.folder)
        found = len(workspace.stored("town").dp.ledger.state("town").charges)
        workspace.close()
        return found

    text = private_town.description.replace('version = "1"', 'version = "2"')
    once = charges()
    few = private_town.records.slice(1)
    said = load_with_cautions(LoadJob(private_town.folder, text, few, corrections="collect")).cautions
    assert charges() == once
    assert said
    assert not any("removed" in sentence for sentence in said)  # what a load says is the same for neighbours


@pytest.mark.slow
def test_a_new_lineage_changes_the_numbers_and_stays_for_later_loads(town, folder, secret):
    once = numbers(folder)
    _, said = load(folder, town, town.records.slice(1), corrections="new-lineage")
    anew = numbers(folder)
    assert "1 removed" in said[0]
    changed = np.count_nonzero(anew != once) / np.count_nonzero(once)
    assert changed > 0.5, "the wrong alternative, the same keys, changes at most 16 cells"
    assert read_version(place_of(folder), secret).revisions.keys == 2
    _, said = load(folder, town, town.records.slice(1))
    assert said == []
    assert (numbers(folder) == anew).all(), "the next load does not fall back to the first keys"
    load(folder, town, town.records, corrections="new-lineage")
    assert read_version(place_of(folder), secret).revisions.keys == 3


@pytest.mark.parametrize("choice", ["colect", ""])
def test_an_unknown_choice_is_refused(town, folder, choice):
    with pytest.raises(BadRequest, match="which is not a choice"):
        load(folder, town, town.records, corrections=choice)


def test_choices_without_a_meaning_are_refused(town, tmp_path, private_town):
    with pytest.raises(BadRequest, match="nothing to correct"):
        load(tmp_path / "new", town, town.records, corrections="collect")
    with pytest.raises(BadRequest, match="Under dp"):
        load(private_town.folder, private_town, town.records, corrections="new-lineage")


def test_the_command_tells_it_on_standard_error_alone(town, folder, run_here, tmp_path):
    (tmp_path / "town.toml").write_text(town.description)
    town.records.slice(2).to_pandas().to_csv(tmp_path / "town.csv", index=False)
    given = (tmp_path / "town.toml", tmp_path / "town.csv")
    done = run_here("load", *given, "--corrections", "collect", "--json", "-w", folder)
    assert done.returncode == 0, done.stderr
    assert "2 removed" in done.stderr
    assert "Nothing was published" in done.stderr
    assert json.loads(done.stdout)["digest"] == place_of(folder).name
    assert "removed" not in done.stdout


ID = "person"


def renamed(description, name="copy", more=""):
    return description.replace('id = "town"', f'id = "{name}"{more}', 1)


def with_ids(town, ids):
    """The records with other ids."""
    return town.records.set_column(town.records.schema.get_field_index(ID), ID, pa.array(ids))


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
    assert "Give this dataset the lineage or budget of the other" in told
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


def test_ids_that_only_number_records_are_no_evidence(tmp_path, town):
    numbers = with_ids(town, range(1, len(town.records) + 1))
    assert cautions(tmp_path, town.description, numbers) == []
    assert cautions(tmp_path, renamed(town.description), numbers) == []
    assert not list(tmp_path.rglob(SKETCH))
