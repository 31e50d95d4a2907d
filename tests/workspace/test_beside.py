"""Two versions beside each other: only where together they tell no more than either, or the custodian allows it."""

import numpy as np
import pytest

from discreet.answer.load import load_dataset
from discreet.answer.pipeline import release_table
from discreet.errors import BadRequest, UnknownVersion, VersionClosed
from discreet.model.request import TableRequest
from discreet.workspace.workspace import Workspace

pytestmark = pytest.mark.slow

REQUEST = TableRequest("town", ("area", "sex"), ("age", "job"))
APART = "versions_apart = 100\n"


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
            return load_dataset(self.folder, text, records, **options)

        def numbers(self, version=""):
            opened = Workspace(self.folder)
            try:
                return release_table(opened.stored("town", version), REQUEST).values
            finally:
                opened.close()

        def facts(self):
            return {v.version: v for v in Workspace(self.folder).versions("town")}

    return Loaded()


def test_the_town_says_how_its_protection_begins(town):
    assert "[protection]\n" in town.description, "the descriptions of these tests are made from it"


def test_a_version_that_many_records_separate_is_answered_beside_the_new_one(town, workspace):
    first = workspace.load(town.records, "1")
    cited = workspace.numbers()
    workspace.load(town.records.slice(100), "2")
    assert (workspace.numbers("1") == cited).all()
    assert (workspace.numbers(first[:8]) == cited).all(), "a citation names the digest"
    assert not (workspace.numbers() == cited).all()


@pytest.mark.parametrize("removed", [1, 99])
def test_a_version_that_few_records_separate_is_closed(town, workspace, removed):
    workspace.load(town.records, "1")
    workspace.load(town.records.slice(removed), "2")
    with pytest.raises(VersionClosed, match="few records"):
        workspace.numbers("1")
    assert workspace.facts()["1"].closed
    assert not workspace.facts()["2"].closed


def test_what_a_close_version_would_give_away(town, workspace):
    """The wrong alternative, allowed by hand: the cells that differ are those of the removed person."""
    workspace.load(town.records, "1")
    workspace.load(town.records.slice(1), "2", serve_beside=True)
    differ = workspace.numbers("1") != workspace.numbers("2")
    assert 0 < np.count_nonzero(differ) <= 16


def test_the_declared_number_decides(town, workspace):
    workspace.load(town.records, "1", "versions_apart = 3\n")
    workspace.load(town.records.slice(3), "2", "versions_apart = 3\n")
    workspace.numbers("1")
    workspace.load(town.records.slice(5), "3", "versions_apart = 3\n")
    workspace.numbers("1")
    with pytest.raises(VersionClosed):
        workspace.numbers("2")


def test_equal_records_under_another_name_stay_open(town, workspace):
    workspace.load(town.records, "1")
    workspace.load(town.records, "2")
    assert (workspace.numbers("1") == workspace.numbers("2")).all()


@pytest.mark.parametrize(
    ("extra", "options", "why"),
    [
        ("", {"corrections": "new-lineage"}, "other keys"),
        ("max_cells = 1000000\n", {}, "protected otherwise"),
    ],
)
def test_other_keys_or_another_protection_close_every_earlier_version(town, workspace, extra, options, why):
    workspace.load(town.records, "1")
    workspace.load(town.records.slice(200), "2", extra, **options)
    with pytest.raises(VersionClosed, match=why):
        workspace.numbers("1")


def test_a_version_that_comes_back_is_compared_with_all_that_are_open(town, workspace):
    """A correction that is undone: the first version returns, and the one between is close to it."""
    workspace.load(town.records, "1")
    workspace.load(town.records.slice(5), "2")
    workspace.load(town.records, "1")
    with pytest.raises(VersionClosed):
        workspace.numbers("2")
    assert workspace.facts()["1"].current
    assert len(workspace.facts()) == 2


def test_a_chain_of_small_steps_leaves_open_only_what_is_apart(town, workspace):
    for step in range(5):
        workspace.load(town.records.slice(60 * step), str(step))
    open_ones = [name for name, facts in workspace.facts().items() if not facts.closed]
    assert open_ones == ["4"], "each load closes the one before, which was the last that was open"


def test_another_dataset_of_the_lineage_may_not_be_close_either(town, workspace):
    workspace.load(town.records, "1")
    sister = town.description.replace('id = "town"', 'id = "village"\nlineage = "town"')
    with pytest.raises(BadRequest, match="same lineage"):
        load_dataset(workspace.folder, sister, town.records.slice(1))
    load_dataset(workspace.folder, sister, town.records)
    load_dataset(workspace.folder, sister.replace('version = "1"', 'version = "2"'), town.records.slice(200))
    assert sorted(Workspace(workspace.folder).ids()) == ["town", "village"]


def test_under_dp_every_version_that_was_charged_is_answered(private_town):
    text = private_town.description.replace('version = "1"', 'version = "2"')
    load_dataset(private_town.folder, text, private_town.records.slice(1))
    opened = Workspace(private_town.folder)
    assert [v.closed for v in opened.versions("town")] == ["", ""]
    assert opened.stored("town", "1").digest != opened.stored("town").digest


def test_a_version_is_found_by_digest_or_by_a_name_that_is_its_own(town, workspace):
    first = workspace.load(town.records, "1")
    second = workspace.load(town.records.slice(150), "1")
    with pytest.raises(UnknownVersion, match="2 versions") as told:
        workspace.numbers("1")
    assert first[:8] in told.value.advice
    assert second[:8] in told.value.advice
    with pytest.raises(UnknownVersion, match='no version "7"'):
        workspace.numbers("7")
    with pytest.raises(UnknownVersion):
        workspace.numbers(first[:7])
