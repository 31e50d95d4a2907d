"""Workspaces of earlier programs: a version that was loaded never changes a number, or is refused by name.

`workspace-0.2.tar.xz` is a census with a rule, a survey, and a dp dataset with an account and a paid answer; its answers
were written down by the program that made it (`make golden-workspace`). `workspace-0.1.tar.xz` holds the same, made by
the program before revisions had numbers: its records are not sealed, so that its versions are refused and its ledger
keeps every charge.
"""

import json
import tarfile
from pathlib import Path

import pytest

from discreet.errors import BadDescription, TableNotReleased, WorkspaceUnusable
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

TABLES = {
    "town sex x age": ("town", "--rows", "sex", "--columns", "age"),
    "town levels": ("town", "--rows", "area", "--columns", "sex", "--levels", "area=region,area"),
    "town fitted": ("town", "--rows", "age", "--columns", "job", "--additivity", "fitted"),
    "town interior": ("town", "--rows", "age", "--columns", "job", "--additivity", "interior"),
    "town-dp declared": ("town-dp", "--rows", "area", "--columns", "age"),
    "town-dp sums": ("town-dp", "--rows", "region", "--group", "age=adult+old", "--columns", "age"),
    "town-dp paid": ("town-dp", "--rows", "sex", "--columns", "job", "--layers", "area"),
    "survey": ("spudlandia", "--rows", "state", "--columns", "likes"),
    "survey weighted": ("spudlandia", "--rows", "state", "--columns", "likes", "--measure", "weighted"),
}

REFUSED = {
    "withheld areas": ("town", "--rows", "area", "--columns", "age", "--layers", "job"),
    "filtered": ("town", "--rows", "job", "--filter", "area=N1,S1", "--no-totals"),
}


def unpacked(folder, name):
    with tarfile.open(Path(__file__).with_name(f"{name}.tar.xz")) as archive:
        archive.extractall(folder, filter="data")
    (folder / name).chmod(0o700)
    (folder / name / "secret").chmod(0o600)
    return folder / name


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    return unpacked(tmp_path_factory.mktemp("earlier"), "workspace-0.2")


@pytest.fixture
def first(tmp_path):
    return unpacked(tmp_path, "workspace-0.1")


@pytest.mark.parametrize("name", TABLES)
def test_a_version_of_an_earlier_program_has_the_same_numbers_and_statuses(golden, earlier, run_here, name):
    done = run_here("table", *TABLES[name], "--format", "csv", "-w", earlier)
    assert done.returncode == 0, done.stderr
    golden.check(name, done.stdout.splitlines())


@pytest.mark.parametrize("name", REFUSED)
def test_a_table_that_gave_withheld_areas_back_is_refused_in_every_version(earlier, run_here, name):
    """It was answered once: two areas were withheld, and the regions less the areas shown gave them back."""
    done = run_here("table", *REFUSED[name], "--format", "csv", "-w", earlier)
    assert (done.returncode, done.stdout) == (TableNotReleased.exit_code, "")
    assert "In 2 of 5 areas the mean cell has fewer than 12 people." in done.stderr


def test_what_an_earlier_program_has_spent_is_still_spent(golden, earlier, run_here):
    told = json.loads(run_here("ledger", "town-dp", "--json", "-w", earlier).stdout)
    golden.check("ledger", told)


def test_a_workspace_of_an_earlier_program_is_read_and_not_written_to(earlier):
    before = {path: path.read_bytes() for path in earlier.rglob("*") if path.is_file()}
    workspace = Workspace(earlier)
    for name in set(workspace.ids()) - {"spudlandia"}:
        workspace.stored(name)
    workspace.close()
    after = {path: path.read_bytes() for path in earlier.rglob("*") if path.is_file()}
    assert {path for path in after if not path.name.startswith("ledger.sqlite-")} == set(before)
    assert all(after[path] == raw for path, raw in before.items())


class TestVersionsOfBeforeTheSeals:
    """A version of 0.1 is refused with what to do, and what was spent stays spent."""

    @pytest.mark.parametrize("dataset", ["town", "town-dp", "spudlandia"])
    def test_it_is_refused_by_its_revision(self, first, run_here, dataset):
        rows = "state" if dataset == "spudlandia" else "sex"
        done = run_here("table", dataset, "--rows", rows, "-w", first)
        assert (done.returncode, done.stdout) == (70, "")
        assert "revision 1 of the arithmetic" in done.stderr
        assert "Load the dataset again." in done.stderr

    def test_it_is_loaded_again_from_its_own_description(self, first, town):
        (place,) = (first / "datasets" / "town").glob("[0-9a-f]*/dataset.toml")
        load_dataset(first, place.read_text("utf-8"), town.records)
        assert Workspace(first).stored("town").dataset.id == "town"

    def test_under_dp_it_is_charged_to_the_budget_that_has_spent_before(self, first, town, run_here):
        """The wrong alternative: a ledger that begins anew with the new arithmetic would have 4 spent, not 8.5."""
        (place,) = (first / "datasets" / "town-dp").glob("[0-9a-f]*/dataset.toml")
        text = place.read_text("utf-8")
        with pytest.raises(
            BadDescription, match='The version "1" of "town-dp" was loaded with other records'
        ):
            load_dataset(first, text, town.records)
        with pytest.raises(WorkspaceUnusable):
            Workspace(first).stored("town-dp")
        load_dataset(first, text.replace('version = "1"', 'version = "2"'), town.records)
        told = json.loads(run_here("ledger", "town-dp", "--json", "-w", first).stdout)
        assert (float(told["spent"]["epsilon"]), len(told["charges"])) == (8.5, 3)
