"""The protector of `dp`: inside the universe for nothing, outside at the asker's cost, never without the ledger."""

from fractions import Fraction

import pytest

from discreet.errors import LedgerUnusable, NotAllowed, OutsideUniverse
from discreet.ledger.group_meter import Asker
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.workspace.workspace import Workspace

INSIDE, OUTSIDE = (
    TableRequest("town", ("sex",), ("age",)),
    TableRequest("town", ("sex",), ("job",), ("area",)),
)


@pytest.fixture
def stored(private_town):
    workspace = Workspace(private_town.folder)
    yield workspace.stored("town")
    workspace.close()


def covered(stored, request, asker=None):
    asked = canonical(request, stored.dataset)
    return stored.dp.cover(asked, [table_shape(asked, stored.dataset)], asker)


def asker(stored, role="analyst"):
    stored.dp.ledger.allow("town", "ann", (Fraction(1), Fraction(1, 10**9)))
    return Asker("ann", stored.dp.ledger.database, role)


def test_a_declared_table_is_covered_for_nothing(stored):
    protector = covered(stored, INSIDE)
    assert not protector.unpaid
    assert protector.tables == stored.dp.tables
    protector.pay()
    assert stored.dp.ledger.state("town").spent[0] == pytest.approx(4, abs=0.01)


def test_a_table_outside_is_paid_for_once_and_free_after_that(stored):
    first = covered(stored, OUTSIDE, asker(stored))
    assert first.unpaid
    assert len(first.tables) == len(stored.dp.tables) + 1
    before = stored.dp.ledger.state("town").spent[0]
    first.pay()
    assert stored.dp.ledger.state("town").spent[0] == before + Fraction(1, 2)
    assert not covered(stored, OUTSIDE).unpaid


def test_nobody_is_told_to_send_a_key_and_a_reader_to_ask_for_a_role(stored):
    with pytest.raises(OutsideUniverse, match=r"epsilon 0\.5: send your key"):
        covered(stored, OUTSIDE)
    with pytest.raises(NotAllowed, match="analyst"):
        covered(stored, OUTSIDE, asker(stored, "reader"))


def test_the_law_is_found_once_for_a_shape(stored, monkeypatch):
    from discreet.protect import cover

    asked = canonical(INSIDE, stored.dataset)
    shape = table_shape(asked, stored.dataset)
    protector = stored.dp.cover(asked, [shape], None)
    monkeypatch.setattr(cover, "cover", None)
    assert protector.law(shape).variance().shape == shape.lengths


def test_a_ledger_that_has_forgotten_the_version_answers_nothing(stored, monkeypatch):
    monkeypatch.setattr(type(stored.dp.ledger), "is_paid", lambda *_: False)
    with pytest.raises(LedgerUnusable, match="does not know"):
        covered(stored, INSIDE)
