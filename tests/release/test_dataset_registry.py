"""Doors open to whoever may ask, and tell nobody else that a dataset is there."""

import pytest

from discreet.errors import BadKey, UnknownDataset
from discreet.model.request import TableRequest
from discreet.release.dataset_registry import Authoriser, DatasetRegistry, open_registry, unlock_service
from discreet.workspace.ledger_location import open_accounts


def test_who_asks_is_known_by_the_key_and_a_wrong_one_opens_nothing(town, tmp_path):
    town.load(tmp_path / "w").close()
    key = open_accounts(tmp_path / "w").create("ann", "reader")
    registry = open_registry(tmp_path / "w")
    assert registry.folder == tmp_path / "w"
    assert (registry.open("town").account, registry.open("town", key).account) == (None, "ann")
    with pytest.raises(BadKey):
        registry.open("town", key[:-1] + ("a" if key[-1] != "a" else "b"))
    with pytest.raises(UnknownDataset, match="town"):
        registry.open("twon")
    registry.close()


class Closed(Authoriser):
    """A gate that closes one dataset."""

    def is_open(self, dataset):
        return dataset.id != "town"


def test_a_dataset_that_may_not_be_seen_is_refused_by_as_much_work_as_one_that_is_not_there(
    town, tmp_path, monkeypatch
):
    """Wrong alternative: nothing is looked up for a name that is not there, and the time tells which names are."""
    workspace = town.load(tmp_path / "w")
    town.load(tmp_path / "w", town.description.replace('"town"', '"open"')).close()
    looked, stored = [], workspace.stored
    monkeypatch.setattr(workspace, "stored", lambda *given: looked.append(given) or stored(*given))
    registry, numbers = DatasetRegistry(workspace, gate=Closed()), []
    assert registry.ids() == ["open"]
    for name in ("town", "none"):
        looked.clear()
        with pytest.raises(UnknownDataset, match=name):
            registry.open(name)
        numbers.append(len(looked))
    assert numbers[0] == numbers[1] > 0
    workspace.close()


def test_an_authoriser_admits_each_answer_of_a_workspace(town, tmp_path):
    """Wrong alternative: a subclass refuses in `admit`, and nobody calls it."""

    class Refusing(Authoriser):
        def admit(self, question):
            raise BadKey(question.title, "")

    registry = DatasetRegistry(town.load(tmp_path / "w"), gate=Refusing())
    with pytest.raises(BadKey, match="by sex"):
        registry.open("town").release(TableRequest("town", ("sex",)))
    registry.close()


def test_a_service_holds_nothing_that_a_caller_could_read_records_through(town_workspace):
    service = DatasetRegistry(town_workspace).open("town")
    assert not {"engine", "stored", "secret"} & set(dir(service))
    assert not hasattr(service, "__dict__")
    assert repr(service) == f"<DatasetService of town {service.digest[:8]}>"
    assert unlock_service(service).dataset is service.dataset
