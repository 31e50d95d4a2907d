"""The hash chain: only the key makes its tags, and every way to change a ledger is refused in its own words."""

import hashlib
import shutil
import sqlite3
from contextlib import closing, contextmanager
from fractions import Fraction

import pytest

from discreet.errors import LedgerUnusable
from discreet.ledger import hash_chain as chain
from discreet.ledger.entries import Budget, Charge, Checkpoint, request_key
from discreet.ledger.hash_chain import next_tag, refuse_other_history
from discreet.ledger.ledger import Ledger

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
    before = ledger._chain.last
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
        town = "the town", Checkpoint(2, "x")
        later = "the city", Checkpoint(3, "x")
        with pytest.raises(
            LedgerUnusable, match="ends with entry 2, but the city was released after entry 3"
        ):
            refuse_other_history(connection, [later])
        with pytest.raises(
            LedgerUnusable, match="its entry 2 is not the one after which the town was released"
        ):
            refuse_other_history(connection, [town, later])


#: Entries: 1 begun, 2 budget, 3 share, then charges 4, 5 and 6 of 100, 200 and 300 units.
UNIT = Fraction(1, 10**12)
SUMS = (
    "UPDATE families SET spent_loss = (SELECT SUM(loss) FROM charges)",
    "UPDATE shares SET spent_loss = (SELECT COALESCE(SUM(loss), 0) FROM charges WHERE account = 'ann')",
)
#: The loss of charge 5, and not the digits of an identifier or a moment that chance made the same.
EDIT_ENTRY = "UPDATE chain SET body = replace(body, ' 200,', ' 1,')"
FORGERIES = {
    "edited charge": (["UPDATE charges SET loss = 1 WHERE position = 5"], "its charge 5 is not what"),
    "another payer": (["UPDATE charges SET account = NULL WHERE position = 5"], "its charge 5 is not what"),
    "another request": (["UPDATE charges SET what = 'z' WHERE position = 4"], "its charge 4 is not what"),
    "edited entry": (["UPDATE charges SET loss = 1 WHERE position = 5", EDIT_ENTRY], "breaks at entry 5"),
    "deleted row": (["DELETE FROM charges WHERE position = 6"], "it has 3 charges, and its chain has 4"),
    "deleted middle": (
        ["DELETE FROM charges WHERE position = 5", "DELETE FROM chain WHERE position = 5"],
        "breaks at entry 5",
    ),
    "deleted middle, numbered again": (
        [
            "DELETE FROM charges WHERE position = 5",
            "DELETE FROM chain WHERE position = 5",
            "UPDATE charges SET position = 5 WHERE position = 6",
            "UPDATE chain SET position = 5 WHERE position = 6",
        ],
        "breaks at entry 5",
    ),
    "swapped entries": (
        [
            f"UPDATE {table} SET position = {a} WHERE position = {b}"
            for table in ("charges", "chain")
            for a, b in ((99, 4), (4, 5), (5, 99))
        ],
        "breaks at entry 4",
    ),
    "swapped charges": (
        [f"UPDATE charges SET position = {a} WHERE position = {b}" for a, b in ((99, 4), (4, 5), (5, 99))],
        "its charge 4 is not what",
    ),
    "raised cap": (["UPDATE families SET cap_loss = cap_loss * 2"], "its budget 'census' is not what"),
    "other rule": (["UPDATE families SET rule = 'zcdp'"], "its budget 'census' is not what"),
    "raised share": (
        ["UPDATE shares SET cap_loss = cap_loss * 2"],
        "its share 'census' of 'ann' is not what",
    ),
    "forgotten share": (["DELETE FROM shares"], "its share 'census' of 'ann' is not what"),
    "forgotten lineage": (["DELETE FROM lineages"], "its lineage 'town' of 'town' is not what"),
    "other records": (["UPDATE versions SET records = 'x'"], "its version 'town' of '1' is not what"),
    "sums alone": (["UPDATE families SET spent_loss = 0"], "does not add up"),
    "no chain": (["DELETE FROM chain WHERE position > 1"], "its chain has 0"),
}


def filled(place, key=KEY):
    ledger = Ledger.create(place, key)
    cap = (Fraction(1), Fraction(1, 10**6))
    ledger.declare(Budget("census", cap))
    ledger.allow("census", "ann", cap)
    for loss, account in ((100, None), (200, "ann"), (300, None)):
        ledger.charge(Charge("census", f"q{loss}", loss * UNIT, Fraction(0), account))
    charge = Charge("census", "universe", 400 * UNIT, Fraction(0))
    ledger.charge_version(charge, "town", "1", "f")
    return ledger


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    place = tmp_path_factory.mktemp("books") / "ledger.sqlite"
    filled(place).close()
    return place


@pytest.fixture
def place(original, tmp_path):
    return shutil.copy(original, tmp_path / "ledger.sqlite")


@contextmanager
def raw(place):
    """A connection without Discreet; what it writes is committed."""
    with closing(sqlite3.connect(place)) as connection, connection:
        yield connection


def change(place, statements):
    with raw(place) as connection:
        connection.executescript(";".join(statements))


@pytest.mark.parametrize(("statements", "words"), FORGERIES.values(), ids=FORGERIES)
def test_a_ledger_that_was_changed_is_refused(place, statements, words):
    """Sums are made right, too: whoever changes a ledger by hand would do so."""
    change(place, [*statements, *(SUMS if words != "does not add up" else ())])
    with pytest.raises(LedgerUnusable, match=words) as refused:
        Ledger.open(place, KEY)
    assert "Restore the newest unchanged copy" in refused.value.advice


def test_the_ledger_of_another_workspace_is_refused(place):
    with pytest.raises(LedgerUnusable, match="not written with the secret of this workspace") as refused:
        Ledger.open(place, OTHER)
    assert "belongs to another workspace" in refused.value.advice


def forge(place, tag):
    """Change a charge and make all tags again, by whatever the forger can compute."""
    statements = ["UPDATE charges SET loss = 1 WHERE position = 5", EDIT_ENTRY]
    change(place, [*statements, *SUMS])
    with raw(place) as connection:
        before = ""
        chain = connection.execute("SELECT position, kind, body FROM chain ORDER BY position").fetchall()
        for position, kind, body in chain:
            before = tag(b"", before, position, kind, body)
            connection.execute("UPDATE chain SET tag = ? WHERE position = ?", (before, position))


def test_a_forger_without_the_key_makes_no_chain_and_would_make_an_unkeyed_one(tmp_path, monkeypatch, place):
    """Wrong alternative: a chain of plain hashes, which everybody can make again."""

    def unkeyed(_key, before, position, kind, body):
        return hashlib.sha256(f"{before} {position} {kind} {body}".encode()).hexdigest()

    forge(place, unkeyed)
    with pytest.raises(LedgerUnusable, match="not written with the secret"):
        Ledger.open(place, KEY)
    monkeypatch.setattr(chain, "next_tag", unkeyed)
    weak = tmp_path / "unkeyed.sqlite"
    filled(weak).close()
    forge(weak, unkeyed)
    assert (
        Ledger.open(weak, KEY).state("census").spent[0] == 801 * UNIT
    )  # 199 units were taken back unnoticed


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE families SET cap_loss = cap_loss * 2", "its budget 'census'"),
        ("UPDATE shares SET cap_loss = cap_loss * 2", "its share 'census' of 'ann'"),
        ("UPDATE families SET spent_loss = 0", "does not add up"),
        ("DELETE FROM chain WHERE position > 6", "older than released tables"),
        ("UPDATE chain SET tag = 'x' WHERE position = 9", "not the one that was charged"),
    ],
)
def test_a_ledger_that_is_changed_while_it_is_served_charges_nothing(place, statement, words):
    ledger = Ledger.open(place, KEY)
    change(place, [statement])
    with pytest.raises(LedgerUnusable, match=words):
        ledger.charge(Charge("census", "next", UNIT, Fraction(0), "ann"))
    with raw(place) as connection:
        assert not connection.execute("SELECT * FROM charges WHERE what = 'next'").fetchall()


def test_what_others_append_is_read_on_and_checked(place):
    ledger, other = Ledger.open(place, KEY), Ledger.open(place, KEY)
    other.charge(Charge("census", "theirs", UNIT, Fraction(0)))
    ledger.charge(Charge("census", "ours", UNIT, Fraction(0)))
    assert other.is_paid("census", "ours")
    assert [row["position"] for row in ledger.state("census").charges] == [4, 5, 6, 9, 10, 11]
    assert request_key("ours") in {row["request"] for row in other.state("census").charges}
