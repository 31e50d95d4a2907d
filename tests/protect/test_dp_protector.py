"""The protector of `dp`: inside the universe for nothing, outside at the asker's cost, never without the ledger."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.errors import LedgerUnusable, OutsideUniverse
from discreet.ledger import entries
from discreet.ledger.requester import Requester
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.release.checked_request import check_request
from discreet.release.pipeline import make_release, release_table
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


def test_an_analyst_is_told_what_was_charged_and_what_is_left(stored):
    _, told = covered(stored, OUTSIDE, asker(stored)).pay()
    assert (told["account"], told["epsilon"], told["left"]["epsilon"]) == ("ann", 0.5, 0.5)
    assert told["sentence"] == 'Charged epsilon 0.5 to the budget "town"; 0.5 of the share of "ann" is left.'
    assert covered(stored, INSIDE, asker(stored)).pay()[1] is None


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


def test_payments_at_the_same_instant_are_answered_in_the_order_of_the_ledger(stored):
    """Wrong alternative: both are charged, and the smaller table has other numbers from the second payment on."""
    payer, budget = asker(stored), stored.dp.ledger
    coarser = TableRequest("town", ("area",), ("job",))
    small, large = (check_request(stored, request, payer) for request in (coarser, OUTSIDE))
    before = budget.state("town").spent[0]
    make_release(large)
    first = make_release(small)
    assert budget.state("town").spent[0] == before + Fraction(1, 2), (
        "the smaller table was paid with the larger"
    )
    assert first.charged is None
    assert (release_table(stored, coarser).noisy == first.noisy).all()


def test_the_first_of_two_payments_answers_whatever_the_clock_says(stored, monkeypatch):
    """Wrong alternative: the time of payment, which a clock that is set back turns around."""
    payer = asker(stored)
    coarser = TableRequest("town", ("area",), ("job",))
    covered(stored, coarser, payer).pay()
    before = release_table(stored, coarser).noisy
    monkeypatch.setattr(entries, "now", lambda: "2001-01-01T00:00:00.000000+00:00")
    covered(stored, OUTSIDE, payer).pay()
    assert (release_table(stored, coarser).noisy == before).all()


def test_what_is_excluded_is_answered_for_no_price(private_town, tmp_path):
    """To be outside the universe is to have a price; to be excluded is not."""
    text = private_town.description.replace("up_to = 1\n", 'up_to = 1\nexclude = [["area", "job"]]\n')
    load_dataset(tmp_path / "w", text, private_town.records)
    stored = Workspace(tmp_path / "w").stored("town")
    for asked in (OUTSIDE, TableRequest("town", ("area",), ("job",))):
        with pytest.raises(OutsideUniverse, match="area x job are excluded: they are never answered"):
            covered(stored, asked, asker(stored))
    assert covered(stored, TableRequest("town", ("sex", "age"), ("job",)), asker(stored)).unpaid


def test_a_ledger_that_has_forgotten_the_version_answers_nothing(stored, monkeypatch):
    monkeypatch.setattr(type(stored.dp.ledger), "is_paid", lambda *_: False)
    with pytest.raises(LedgerUnusable, match="does not know"):
        covered(stored, INSIDE)
