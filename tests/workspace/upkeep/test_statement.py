"""The auditor's statement of a workspace: exact, signed, and without a name, a key or a fingerprint."""

import json
import sqlite3
from fractions import Fraction

import pytest
from tests.workspace.test_ledger_marks import ask

from discreet.errors import LedgerUnusable, NotFound
from discreet.ledger.verification import verify_statement
from discreet.records.signing import signing_key
from discreet.workspace.ledger_place import LEDGER, accounts_of, open_ledger
from discreet.workspace.upkeep.statement import make_statement
from discreet.workspace.version import FINGERPRINT


def test_a_statement_says_all_that_was_charged_and_is_believed(dp_folder):
    ask(dp_folder)
    document = make_statement(dp_folder)
    told = verify_statement(document, signing_key(dp_folder).public)
    (budget,) = document["budgets"]
    ledger = open_ledger(dp_folder)
    state = ledger.state("town")
    assert Fraction(budget["spent"]["epsilon"]) == state.spent[0]
    assert [(each["entry"], each["for"], each["paid_by"]) for each in budget["charges"]] == [
        (5, "universe", "custodian"),
        (7, "margin", "account"),
    ]
    assert (
        budget["charges"][1]["margins"] == [["age", "area", "job", "sex"]] or budget["charges"][1]["margins"]
    )
    assert "computationally" in budget["promise"]
    assert document["chain"]["head"] == ledger.whole().head.tag
    assert "2 charges" in told[1]


@pytest.mark.slow
def test_a_statement_tells_no_account_and_no_fingerprint(dp_folder):
    ask(dp_folder)
    text = json.dumps(make_statement(dp_folder))
    assert "ann" not in {word.strip('"\\') for word in text.split()}
    (fingerprint,) = (dp_folder / "datasets" / "town").glob(f"*/{FINGERPRINT}")
    assert fingerprint.read_text("ascii") not in text
    with sqlite3.connect(dp_folder / LEDGER) as connection:
        names = [row[0] for row in connection.execute("SELECT records FROM versions")]
    connection.close()
    assert not [name for name in names if name in text]


@pytest.mark.slow
def test_a_statement_says_what_cannot_be_known(dp_folder, tmp_path):
    told = " ".join(make_statement(dp_folder)["assumptions"])
    for words in (
        "cannot be noticed from inside",
        "Other workspaces",
        "as honest as whoever holds the secret",
    ):
        assert words in told
    assert "taken as found" not in told
    with pytest.raises(NotFound):
        make_statement(tmp_path / "nothing")


def test_a_ledger_that_was_changed_is_not_stated(dp_folder):
    with sqlite3.connect(dp_folder / LEDGER) as connection:
        connection.execute("UPDATE families SET cap_loss = cap_loss * 2")
    connection.close()
    with pytest.raises(LedgerUnusable, match="its budget 'town' is not what its chain says"):
        make_statement(dp_folder)


@pytest.mark.slow
def test_what_an_old_ledger_held_is_said_to_be_taken_as_found(folder):
    accounts_of(folder).create("ann", "reader")
    with sqlite3.connect(folder / LEDGER) as connection:
        connection.execute("DELETE FROM chain")
    connection.close()
    for mark in folder.rglob("ledger.mark"):
        mark.unlink()
    document = make_statement(folder)
    assert document["chain"]["taken_as_found"] == 1
    assert any(
        sentence.startswith("1 entries were in the ledger before") for sentence in document["assumptions"]
    )
    assert [each["method"] for each in document["without_a_budget"]] == ["cellkey"]
