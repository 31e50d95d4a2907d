"""An auditor believes nothing that does not follow: the signature, the sums, the places, the earlier statement."""

import copy

import pytest

from discreet.errors import SignatureUnusable
from discreet.ledger.hash_chain import signature_message, verify_statement
from discreet.records.signing import signing_key


@pytest.fixture
def key(tmp_path):
    return signing_key(tmp_path)


def statement(rule="basic", entries=8):
    loss, failure = ("epsilon", "delta") if rule == "basic" else ("rho", "distance")
    charges = [
        {"entry": entry, "at": f"2026-01-0{entry}", "invariants": ["n"], loss: amount, failure: "1e-18"}
        for entry, amount in ((5, "0.1"), (6, "0.2"), (8, "0.000000000001"))
    ]
    budget = {
        "name": "census",
        "rule": rule,
        "cap": {loss: "1", failure: "1e-9"},
        "spent": {loss: "0.300000000001", failure: "3e-18"},
        "left": {loss: "0.699999999999", failure: "9.99999997e-10"},
        "charges": charges,
    }
    chain = {"id": "c", "entries": entries, "head": "h"}
    return {
        "kind": "discreet ledger statement",
        "schema": 1,
        "made": "2026",
        "chain": chain,
        "budgets": [budget],
    }


def sign(document, key):
    return {**document, "signature": key.sign(signature_message(document)).hex()}


@pytest.mark.parametrize("rule", ["basic", "zcdp"])
def test_what_follows_is_told(key, rule):
    """Floats would say that 0.1 and 0.2 are not 0.3."""
    told = verify_statement(sign(statement(rule), key), key.public)
    assert "signed by the key" in told[0]
    loss = "epsilon" if rule == "basic" else "rho"
    assert f'The 3 charges of the budget "census" add up to {loss} 0.300000000001' in told[1]
    assert "8 entries" in told[2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d["budgets"][0]["charges"].pop(), "do not add up"),
        (lambda d: d["budgets"][0]["charges"][0].update(epsilon="0.05"), "do not add up"),
        (lambda d: d["budgets"][0]["left"].update(epsilon="0.7"), "do not add up"),
        (lambda d: d["budgets"][0]["spent"].update(delta="4e-18"), "do not add up"),
        (lambda d: d["budgets"][0]["cap"].update(epsilon="0.1"), "do not add up"),
        (
            lambda d: d["budgets"][0]["charges"].append({"entry": 7, "epsilon": "-1", "delta": "0"}),
            "below zero",
        ),
        (lambda d: d["budgets"][0]["charges"][0].update(entry=6), "the same position"),
        (lambda d: d["budgets"][0]["charges"][0].update(entry=9), "the same position"),
        (lambda d: d["budgets"][0].update(rule="hope"), "by the unknown rule"),
        (lambda d: d["budgets"][0].pop("cap"), "not a complete ledger statement"),
        (lambda d: d.update(kind="another"), "not a complete ledger statement"),
    ],
)
def test_what_does_not_follow_is_refused_although_it_is_signed(key, change, words):
    document = statement()
    change(document)
    with pytest.raises(SignatureUnusable, match=words):
        verify_statement(sign(document, key), key.public)


def test_whatever_is_changed_after_it_was_signed_is_refused(key, tmp_path):
    """Wrong alternative: sums alone, which whoever changes a charge makes right again."""
    signed = sign(statement(), key)
    forged = copy.deepcopy(signed)
    forged["budgets"][0]["charges"][0]["epsilon"] = "0.05"
    forged["budgets"][0]["spent"]["epsilon"] = "0.250000000001"
    forged["budgets"][0]["left"]["epsilon"] = "0.749999999999"
    for wrong in (forged, {**signed, "made": "2025"}, {**signed, "signature": "00" * 64}):
        with pytest.raises(SignatureUnusable, match="not that of the key"):
            verify_statement(wrong, key.public)
    (tmp_path / "other").mkdir()
    with pytest.raises(SignatureUnusable, match="not that of the key"):
        verify_statement(signed, signing_key(tmp_path / "other").public)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda _d: None, ""),
        (lambda d: d["budgets"][0]["charges"][0].pop("invariants"), ""),  # of a program that said less
        (lambda d: d["budgets"][0]["charges"][0].update(invariants=[]), "missing or was changed"),
        (lambda d: d["budgets"][0].update(name="other"), "missing or was changed"),
        (lambda d: d["chain"].update(id="d"), "of different ledgers"),
        (lambda d: d["chain"].update(entries=9), "older than the earlier statement"),
        (lambda d: d["budgets"][0]["charges"][0].update(at="2020"), "missing or was changed"),
        (lambda d: d["budgets"][0]["charges"][0].update(entry=7), "missing or was changed"),
        (lambda d: d["budgets"][0]["cap"].update(epsilon="0.9"), "was raised"),
    ],
)
def test_an_earlier_statement_tells_of_a_workspace_that_was_brought_back(key, change, words):
    earlier = statement()
    change(earlier)
    now, before = sign(statement(), key), sign(earlier, key)
    if not words:
        assert (
            "All 3 charges of the statement of 2026 are still there"
            in verify_statement(now, key.public, before)[-1]
        )
        return
    with pytest.raises(SignatureUnusable, match=words):
        verify_statement(now, key.public, before)
