"""The chain: one entry after the other, and tags that only the key gives."""

from fractions import Fraction

import pytest

from discreet.errors import LedgerUnusable
from discreet.ledger.chain import next_tag, refuse_other_history
from discreet.ledger.entries import Budget, Charge
from discreet.ledger.ledger import Ledger
from discreet.ledger.marks import Mark

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.sqlite", KEY)
    ledger.declare(Budget("census", (Fraction(1), Fraction(1, 10**6))))
    return ledger


def test_a_tag_depends_on_all_that_it_covers():
    """Lengths are told: no two entries have one message."""
    same = (KEY, "t", 2, "charge", "[1]")
    others = [(OTHER, *same[1:]), (KEY, "u", *same[2:]), (KEY, "t", 3, "charge", "[1]")]
    others += [(KEY, "t", 2, "share", "[1]"), (KEY, "t", 2, "charge[", "1]"), (KEY, "t", 2, "charge", "[2]")]
    assert len({next_tag(*given) for given in [same, *others]}) == 1 + len(others)


def test_entries_under_the_old_key_have_their_old_tags_again(ledger, tmp_path):
    """So marks that were made before a rotation hold again when its backup comes back."""
    ledger.charge(Charge("census", "a", Fraction(1, 10), Fraction(0)))
    before = ledger._books.last
    with ledger._reading() as reader:
        refuse_other_history(reader.connection, [("x", before)])
    ledger.rekey(OTHER)
    ledger.close()
    again = Ledger.open(tmp_path / "ledger.sqlite", OTHER)
    with pytest.raises(LedgerUnusable, match="not the one that was charged"), again._reading() as reader:
        refuse_other_history(reader.connection, [("x", before)])
    again.rekey(KEY)
    with Ledger.open(tmp_path / "ledger.sqlite", KEY)._reading() as reader:
        refuse_other_history(reader.connection, [("x", before)])


def test_the_first_mark_that_a_ledger_does_not_extend_is_named(ledger):
    with ledger._reading() as reader:
        connection = reader.connection
        refuse_other_history(connection, [])
        with pytest.raises(
            LedgerUnusable, match="ends with entry 2, and the town was answered after entry 3"
        ):
            refuse_other_history(connection, [("the town", Mark(3, "x"))])
        with pytest.raises(
            LedgerUnusable, match="its entry 2 is not the one after which the town was answered"
        ):
            refuse_other_history(connection, [("the town", Mark(2, "x")), ("the city", Mark(3, "x"))])
