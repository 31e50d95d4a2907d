"""Verification of a signed statement by an auditor: the signature, the sums, and that it extends an earlier statement.

    message   = "discreet ledger statement 1", a line end, and the document without its signature, as canonical JSON
    spent     = sum of the listed charges, of loss and of failure apart, in exact decimals
    left      = cap - spent >= 0

No workspace is needed. Both compositions are sums: `basic` of epsilon and delta, `zcdp` of rho and the distance of the
shipped noise from its ideal distribution. `NOT_CHECKED` lists what a statement cannot show.

Source: docs/methods/ledger.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from discreet.errors import SignatureUnusable
from discreet.model.privacy_budget import COMPOSITIONS, read_amount
from discreet.records.signing import PublicKey

KIND, SCHEMA = "discreet ledger statement", 1
#: The amounts of each composition.
AMOUNTS = {"basic": ("epsilon", "delta"), "zcdp": ("rho", "distance")}
NOT_CHECKED = (
    "That the listed charges are all charges: the tags of the chain need the secret. `discreet doctor` checks them in "
    "the workspace.",
    "That the noise was what was charged, and that the published numbers are those of the workspace.",
    "What other workspaces have released about the same persons, and that datasets share persons only as declared.",
    "That no older copy of the whole workspace was brought back; a statement of before that tells it (--earlier).",
)


def signature_message(document: Mapping[str, Any]) -> bytes:
    """The signed bytes of a statement: all of it except the signature."""
    unsigned = {key: value for key, value in document.items() if key != "signature"}
    text = json.dumps(unsigned, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"{KIND} {SCHEMA}\n{text}".encode()


def verify_statement(
    document: Mapping[str, Any], key: PublicKey, earlier: Mapping[str, Any] | None = None
) -> list[str]:
    """The verified facts, in sentences.

    Args:
        document: The statement.
        key: Of the workspace that signed it, from a separate source.
        earlier: An earlier statement of the same workspace.

    Raises:
        SignatureUnusable: It is no statement, this key did not sign it, or its content is inconsistent.
    """
    try:
        _refuse_other_signature(document, key)
        found = [f"The statement of {document['made']} was signed by the key {key.fingerprint}."]
        found += [_check_sums(budget) for budget in document["budgets"]]
        found.append(_check_positions(document))
        if earlier is not None:
            _refuse_other_signature(earlier, key)
            found.append(_check_continues(document, earlier))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise SignatureUnusable(
            "This is no statement of a ledger, or it lacks a part.",
            "Give the file that `discreet ledger statement` wrote, HTML or JSON.",
        ) from None
    return found


def _refuse_other_signature(document: Mapping[str, Any], key: PublicKey) -> None:
    if (document["kind"], document["schema"]) != (KIND, SCHEMA):
        raise ValueError
    key.verify(bytes.fromhex(document["signature"]), signature_message(document))


def _check_sums(budget: Mapping[str, Any]) -> str:
    """The sums of the listed charges, recomputed."""
    name, rule = budget["name"], budget["rule"]
    if rule not in COMPOSITIONS:
        raise _wrong(f'The budget "{name}" adds up by the rule "{rule}", which nobody knows.')
    for amount in AMOUNTS[rule]:
        total = sum((_amount(charge[amount]) for charge in budget["charges"]), Fraction(0))
        cap, spent, left = (_amount(budget[each][amount]) for each in ("cap", "spent", "left"))
        if min(_amount(charge[amount]) for charge in budget["charges"] or [{amount: "0"}]) < 0:
            raise _wrong(f'A charge of the budget "{name}" is below zero.')
        if total != spent or left != cap - spent or left < 0:
            raise _wrong(f'The charges of the budget "{name}" do not add up to what it says: {amount}.')
    told = ", ".join(f"{amount} {budget['spent'][amount]}" for amount in AMOUNTS[rule])
    caps = ", ".join(f"{amount} {budget['cap'][amount]}" for amount in AMOUNTS[rule])
    return f'The {len(budget["charges"])} charges of the budget "{name}" add up to {told}, within {caps}.'


def _check_positions(document: Mapping[str, Any]) -> str:
    """Every charge is a separate entry of the chain."""
    entries = [charge["entry"] for budget in document["budgets"] for charge in budget["charges"]]
    last = document["chain"]["entries"]
    if len(set(entries)) != len(entries) or not all(1 <= entry <= last for entry in entries):
        raise _wrong("Two charges have one place in the chain, or one has none.")
    return f"Each charge has its own place among the {last} entries of the chain."


def _check_continues(document: Mapping[str, Any], earlier: Mapping[str, Any]) -> str:
    """Everything in the earlier statement is still there, unchanged."""
    if document["chain"]["id"] != earlier["chain"]["id"]:
        raise _wrong("The two statements are of different ledgers.")
    if document["chain"]["entries"] < earlier["chain"]["entries"]:
        raise _wrong("The ledger is older than the earlier statement: charges were forgotten.")
    now, before = (dict(_entries(each)) for each in (document, earlier))
    if not all(said.items() <= now.get(entry, {}).items() for entry, said in before.items()):
        raise _wrong("A charge of the earlier statement is missing or was changed.")
    for name, caps in _caps(earlier).items():
        later = _caps(document).get(name)
        if later is None or any(new > old for new, old in zip(later, caps, strict=True)):
            raise _wrong(f'The cap of the budget "{name}" was raised since the earlier statement.')
    return (
        f"All {len(before)} charges of the statement of {earlier['made']} are there, and no cap was raised."
    )


def _entries(document: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, str]]]:
    """The facts of each charge; a later program may add more."""
    for budget in document["budgets"]:
        for charge in budget["charges"]:
            said = {**charge, "budget": budget["name"], "rule": budget["rule"]}
            yield charge["entry"], {name: json.dumps(each) for name, each in said.items()}


def _caps(document: Mapping[str, Any]) -> dict[str, list[Fraction]]:
    return {
        each["name"]: [_amount(each["cap"][amount]) for amount in AMOUNTS[each["rule"]]]
        for each in document["budgets"]
    }


def _amount(text: str) -> Fraction:
    return read_amount(text, "an amount", Fraction(1, 10**18))


def _wrong(message: str) -> SignatureUnusable:
    return SignatureUnusable(message, "Ask whoever signed it for another statement, and why.")
