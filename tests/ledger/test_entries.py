"""What is booked, in whole units and by name, and checkpoints: raised after the commit and before the answer."""

from fractions import Fraction

import pytest

from discreet.errors import BadDescription, BadRequest, LedgerUnusable
from discreet.ledger import entries
from discreet.ledger.ledger import Ledger
from discreet.model.privacy_budget import LOSS_UNIT


@pytest.mark.parametrize("value", [-LOSS_UNIT, (entries.LARGEST + 1) * LOSS_UNIT])
def test_a_charge_outside_what_a_ledger_can_hold_is_refused(value):
    with pytest.raises(BadRequest, match="cannot be booked"):
        entries.charge_units(value, LOSS_UNIT)


@pytest.mark.parametrize("cap", [(Fraction(-1), Fraction(0)), (Fraction(1), Fraction(11, 10))])
def test_a_cap_below_zero_or_a_failure_above_one_is_refused(cap):
    with pytest.raises(BadDescription, match="cannot be booked"):
        entries.cap_units(cap)


def test_names_tell_parts_apart_however_they_are_joined():
    assert entries.canonical_request("a,b", "c") != entries.canonical_request("a", "b,c")
    assert entries.records_name("town", "1", "f") != entries.records_name("town", "2", "f")
    charge = entries.Charge("census", entries.canonical_request("town", "a"), Fraction(1), Fraction(0))
    assert charge.key == entries.request_key(charge.request) != entries.request_key("town")
    with pytest.raises(ValueError, match="JSON"):
        entries.canonical_request(float("nan"))


KEY = bytes(range(32))


class Kept:
    """Marks in memory, which can fail."""

    def __init__(self):
        self.mark, self.writes, self.full = None, 0, False

    def by_version(self):
        return {} if self.mark is None else {"the town": self.mark}

    def current(self):
        return self.mark

    def write(self, mark):
        if self.full:
            raise LedgerUnusable("no room", "make some")
        self.mark, self.writes = mark, self.writes + 1


@pytest.fixture
def marks():
    return Kept()


@pytest.fixture
def ledger(tmp_path, marks):
    ledger = Ledger.create(tmp_path / "ledger.sqlite", KEY, marks)
    ledger.declare(entries.Budget("census", (Fraction(1), Fraction(1, 10**6))))
    return ledger


def charge(name):
    return entries.Charge("census", name, Fraction(1, 10), Fraction(0))


def test_a_charge_raises_the_mark_and_what_is_paid_is_read_without_a_write(ledger, marks):
    ledger.charge(charge("a"))
    assert marks.mark.position == 3
    writes = marks.writes
    assert ledger.is_paid("census", "a")
    assert ledger.paid("census", "a") == ("a",)
    assert ledger.charge(charge("a")).repeat
    assert not ledger.is_paid("census", "b")
    assert ledger.state("census").spent[0] == Fraction(1, 10)
    assert marks.writes == writes


def test_without_a_mark_nothing_is_answered_and_the_next_look_raises_it(ledger, marks):
    """The charge is there and the mark is not: as after a kill between them."""
    ledger.charge(charge("a"))
    marks.full = True
    with pytest.raises(LedgerUnusable, match="no room"):
        ledger.charge(charge("b"))
    for look in (lambda: ledger.is_paid("census", "b"), lambda: ledger.charge(charge("b"))):
        with pytest.raises(LedgerUnusable, match="no room"):
            look()
    assert ledger.is_paid("census", "a")  # what the mark covers is answered
    marks.full = False
    assert ledger.is_paid("census", "b")
    assert marks.mark.position == 4


def test_a_read_of_an_older_ledger_is_refused(ledger, marks, tmp_path):
    ledger.charge(charge("a"))
    marks.mark = entries.Checkpoint(4, "later")
    for look in (
        lambda: ledger.is_paid("census", "a"),
        lambda: ledger.paid("census", ""),
        lambda: ledger.state("census"),
        lambda: ledger.charge(charge("b")),
        lambda: Ledger.open(tmp_path / "ledger.sqlite", KEY, marks),
    ):
        with pytest.raises(LedgerUnusable, match="older than released tables: it ends with entry 3"):
            look()


def test_a_refused_load_and_a_rehearsal_raise_no_mark(ledger, marks):
    ledger.charge(charge("a"))
    before = marks.mark
    receipt = ledger.charge_version(charge("u"), "town", "1", "f", spend=False)
    assert not receipt.repeat
    assert marks.mark == before
    assert not ledger.is_paid("census", "u")
