"""The auditor's statement of a workspace: exact, signed, and without a name, a key or a fingerprint."""

import json
import re
import runpy
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from tests.workspace.versions.test_checkpoints import ask

from discreet.errors import NotFound
from discreet.ledger.entries import Budget, Charge, canonical_request
from discreet.ledger.hash_chain import signature_message, verify_statement
from discreet.records.keys import create_secret
from discreet.records.signing import signing_key
from discreet.workspace.ledger_location import LEDGER, ledger_for_loading, open_accounts, open_ledger
from discreet.workspace.operate.statement import make_statement
from discreet.workspace.versions.version import FINGERPRINT


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
    assert budget["charges"][1]["margins"]
    assert "computationally" in budget["promise"]
    assert budget["neighbours"] == "add-remove"
    assert "agree" not in budget["promise"]  # nothing is exact
    assert document["chain"]["head"] == ledger.whole().head.tag
    assert "2 charges" in told[1]


@pytest.mark.slow
def test_a_statement_does_not_promise_what_exact_numbers_give_away(joint_town, tmp_path):
    """Wrong alternative: "for replace-one neighbours", of whom one may have left their region, which is seen for certain."""
    lines = 'family = "town"\ninvariants = ["region"]\nneighbours = "replace-one"\nepsilon'
    joint_town.load(tmp_path, joint_town.description.replace('family = "town"\nepsilon', lines, 1)).close()
    (budget,) = make_statement(tmp_path)["budgets"]
    assert [(each["records_per_unit"], each["invariants"]) for each in budget["charges"]] == [
        (1, ["n", "region"])
    ]
    assert (
        "for replace-one neighbours that agree on what is released exactly, which is the number of records of "
        '"town" and the number of records of each region of "town";'
    ) in budget["promise"]


@pytest.mark.parametrize(
    ("neighbours", "what", "told"),
    [
        ("replace-one", ["universe", "town", "1", "", []], (None, ["n"])),
        ("add-remove", ["margin", "town", "1", "", ["sex"], "noise"], (None, [])),
        (
            "replace-one",
            ["margins", "town", "1", "", [["sex"]], ["m", 1.0, 0.0, "replace-one", 2, "cells", ""]],
            (2, ["n"]),
        ),
    ],
)
def test_early_charges_and_margins_say_what_may_be_exact(tmp_path, neighbours, what, told):
    """An early charge does not say how many records it speaks of; of margins only the total is exact."""
    (tmp_path / "datasets").mkdir()
    create_secret(tmp_path / "secret")
    ledger = ledger_for_loading(tmp_path)
    ledger.declare(Budget("town", (Fraction(1), Fraction(1, 1000)), neighbours=neighbours))
    ledger.charge(Charge("town", canonical_request(*what), Fraction(1, 2), Fraction(0)))
    ledger.close()
    (budget,) = make_statement(tmp_path)["budgets"]
    assert [(each["records_per_unit"], each["invariants"]) for each in budget["charges"]] == [told]


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


@pytest.mark.slow
def test_what_an_old_ledger_held_is_said_to_be_taken_as_found(folder):
    open_accounts(folder).create("ann", "reader")
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


VERIFIER = Path(__file__).parents[3] / "docs/how-to/verify_statement.py"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (None, "The signature is valid"),
        (lambda text: text.replace(b'"made": "2', b'"made": "3'), "The signature is not of this key"),
        (lambda text: re.sub(rb'"signature": "..', b'"signature": "00', text), "The signature is not"),
    ],
    ids=["sound", "changed", "other signature"],
)
def test_the_documented_verifier_needs_no_discreet(dp_folder, tmp_path, change, said):
    """It knows the signed bytes from its own documentation: neither it nor this process hands it ours."""
    statement = json.dumps(make_statement(dp_folder), indent=1).encode()
    (tmp_path / "statement.json").write_bytes(change(statement) if change else statement)
    (tmp_path / "office.pem").write_text(signing_key(dp_folder).public.text)
    run = [sys.executable, VERIFIER, tmp_path / "statement.json", tmp_path / "office.pem"]
    found = subprocess.run(run, capture_output=True, text=True, check=False)
    assert found.stdout.startswith(said), found
    assert found.returncode == (change is not None)
    assert "discreet." not in VERIFIER.read_text("utf-8")


def test_the_documented_verifier_adds_up_the_charges(dp_folder):
    """Signed again after a charge was changed: what the signing key alone could hide."""
    problems = runpy.run_path(str(VERIFIER))["problems"]
    key, document = signing_key(dp_folder), make_statement(dp_folder)
    document["budgets"][0]["charges"][0]["epsilon"] = "0.25"
    document["signature"] = key.sign(signature_message(document)).hex()
    assert problems(document, key.public.text.encode()) == ["town: the charges do not add up (epsilon)."]
