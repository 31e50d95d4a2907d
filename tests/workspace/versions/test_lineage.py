"""A description that leaves a key out keeps the default of its lineage's first load."""

import pytest
from tests.workspace.conftest import numbers

from discreet.model import protection
from discreet.model import revision as defaults
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace


@pytest.fixture
def bare(town):
    """The town without a word about its protection."""
    return town.description[: town.description.index("[protection]")]


def fill_former_noise(document):
    """What a third revision of the defaults would have to say: the noise before it had D = 5."""
    section = document.setdefault("protection", {})
    if section.get("method", "cellkey") == "cellkey":
        section.setdefault("noise", {"family": "maxent", "D": 5, "V": 3, "js": 2})


@pytest.fixture
def second_revision(monkeypatch):
    """Begin revision 3, in which the noise of a dataset that says nothing has D = 6."""

    def begin():
        monkeypatch.setattr(protection, "DEFAULT_NOISE", {"family": "maxent", "D": 6, "V": 3, "js": 2})
        monkeypatch.setitem(defaults.FORMER, 3, fill_former_noise)

    return begin


def noise_of(folder, dataset="town"):
    return Workspace(folder).stored(dataset).dataset.protection.noise["D"]


@pytest.mark.slow
def test_a_lineage_keeps_the_defaults_of_its_first_load(town, tmp_path, bare, second_revision):
    folder = tmp_path / "w"
    town.load(folder, bare).close()
    digest, once = Workspace(folder).stored("town").digest, numbers(folder)
    second_revision()
    assert (noise_of(folder), numbers(folder)) == (5, once)
    for text, same in ((bare, True), (bare.replace("A town", "The town"), False)):
        load_dataset(folder, text, town.records)
        assert (Workspace(folder).stored("town").digest == digest) == same
        assert (noise_of(folder), numbers(folder)) == (5, once)


@pytest.mark.slow
def test_a_new_lineage_gets_the_new_defaults_and_one_of_the_same_lineage_the_old(
    town, tmp_path, bare, second_revision
):
    folder = tmp_path / "w"
    town.load(folder, bare).close()
    second_revision()
    load_dataset(folder, bare.replace('id = "town"', 'id = "village"', 1), town.records)
    sister = bare.replace('id = "town"', 'id = "sister"\nlineage = "town"', 1)
    load_dataset(folder, sister, town.records)
    assert [noise_of(folder, name) for name in ("town", "village", "sister")] == [5, 6, 5]


def test_what_a_description_states_wins(town, tmp_path, bare, second_revision):
    folder = tmp_path / "w"
    town.load(folder, bare).close()
    second_revision()
    stated = bare + '[protection.noise]\nfamily = "maxent"\nD = 7\nV = 3\njs = 2\n'
    load_dataset(folder, stated, town.records)
    assert noise_of(folder) == 7


def test_the_same_description_under_other_defaults_is_another_version(
    town, tmp_path, second_revision, monkeypatch
):
    """A default that is not in the noise (a limit, say) must be in the version's name, too."""
    digests = []
    for revision in (1, 2):
        folder = tmp_path / str(revision)
        town.load(folder).close()
        digests.append(Workspace(folder).stored("town").digest)
        second_revision()
    assert digests[0] != digests[1]
