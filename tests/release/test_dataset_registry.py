"""Doors open to whoever may ask, and tell nobody else that a dataset is there."""

import pytest

from discreet.errors import BadKey, UnknownDataset
from discreet.model.request import TableRequest
from discreet.release.dataset_registry import Authoriser, DatasetRegistry, open_registry
from discreet.workspace.ledger_location import open_accounts


def test_who_asks_is_known_by_the_key_and_a_wrong_one_opens_nothing(town, tmp_path):
    town.load(tmp_path / "w").close()
    key = open_accounts(tmp_path / "w").create("ann", "reader")
    doors = open_registry(tmp_path / "w")
    assert doors.folder == tmp_path / "w"
    assert (doors.door("town").account, doors.door("town", key).account) == (None, "ann")
    with pytest.raises(BadKey):
        doors.door("town", key[:-1] + ("a" if key[-1] != "a" else "b"))
    with pytest.raises(UnknownDataset, match="town"):
        doors.door("twon")
    doors.close()


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
    doors, numbers = DatasetRegistry(workspace, gate=Closed()), []
    assert doors.ids() == ["open"]
    for name in ("town", "none"):
        looked.clear()
        with pytest.raises(UnknownDataset, match=name):
            doors.door(name)
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
        registry.door("town").release(TableRequest("town", ("sex",)))
    registry.close()
