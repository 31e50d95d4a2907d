"""The protector of `dp`: inside the universe for nothing, outside at the asker's cost, never without the ledger."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.errors import LedgerUnusable, NotAllowed, OutsideUniverse
from discreet.ledger.requester import Requester
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.release.pipeline import release_table
from discreet.workspace.versions.load_version import load_dataset
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
    return Requester("ann", stored.dp.ledger.database, role)


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


def test_an_analyst_is_told_what_was_charged_and_what_is_left(stored):
    told = covered(stored, OUTSIDE, asker(stored)).pay()
    assert (told["account"], told["epsilon"], told["left"]["epsilon"]) == ("ann", 0.5, 0.5)
    assert told["sentence"] == 'Charged epsilon 0.5 to the budget "town"; 0.5 of the share of "ann" is left.'
    assert covered(stored, INSIDE, asker(stored)).pay() is None


def test_sums_of_a_paid_margin_are_free_and_are_its_sums(stored):
    """A coarser table of what was bought is a function of released numbers: it may not be sold again."""
    payer = asker(stored)
    covered(stored, OUTSIDE, payer).pay()
    paid = stored.dp.ledger.state("town").spent
    coarser = TableRequest("town", ("area",), ("job",))
    protector = covered(stored, coarser)
    assert not protector.unpaid
    assert protector.extra.margin == ("area", "job", "sex")
    assert stored.dp.ledger.state("town").spent == paid
    whole = release_table(stored, replace(OUTSIDE, totals=False))
    names = [dimension.name for dimension in whole.dimensions]
    assert sorted(names) == ["area", "job", "sex"]
    sums = whole.noisy.sum(axis=names.index("sex"))
    part = release_table(stored, replace(coarser, totals=False)).noisy
    left = [name for name in names if name != "sex"]
    assert (part == (sums if left == ["area", "job"] else sums.T)).all()


def test_the_margin_that_was_paid_first_answers_for_ever(stored):
    payer = asker(stored)
    coarser = TableRequest("town", ("area",), ("job",))
    covered(stored, coarser, payer).pay()
    before = release_table(stored, coarser).noisy
    covered(stored, OUTSIDE, payer).pay()
    assert (release_table(stored, coarser).noisy == before).all()
    assert covered(stored, coarser).extra.margin == ("area", "job")


def test_what_is_excluded_is_answered_for_no_price(private_town, tmp_path):
    """To be outside the universe is to have a price; to be excluded is not."""
    text = private_town.description.replace("up_to = 1\n", 'up_to = 1\nexclude = [["area", "job"]]\n')
    load_dataset(tmp_path / "w", text, private_town.records)
    stored = Workspace(tmp_path / "w").stored("town")
    for asked in (OUTSIDE, TableRequest("town", ("area",), ("job",))):
        with pytest.raises(OutsideUniverse, match="area x job are excluded: they are never answered"):
            covered(stored, asked, asker(stored))
    assert covered(stored, TableRequest("town", ("sex", "age"), ("job",)), asker(stored)).unpaid


def test_nobody_is_told_to_send_a_key_and_a_reader_to_ask_for_a_role(stored):
    with pytest.raises(OutsideUniverse, match=r"epsilon 0\.5: send your key"):
        covered(stored, OUTSIDE)
    with pytest.raises(NotAllowed, match="analyst"):
        covered(stored, OUTSIDE, asker(stored, "reader"))


def test_the_law_is_found_once_for_a_shape(stored, monkeypatch):
    from discreet.protect import margin_choice as cover

    asked = canonical(INSIDE, stored.dataset)
    shape = table_shape(asked, stored.dataset)
    protector = stored.dp.cover(asked, [shape], None)
    monkeypatch.setattr(cover, "choose_margins", None)
    assert protector.law(shape).variance().shape == shape.lengths


def test_a_ledger_that_has_forgotten_the_version_answers_nothing(stored, monkeypatch):
    monkeypatch.setattr(type(stored.dp.ledger), "is_paid", lambda *_: False)
    with pytest.raises(LedgerUnusable, match="does not know"):
        covered(stored, INSIDE)
