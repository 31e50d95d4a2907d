"""The auditor's statement: what a ledger has charged, under which caps, and the resulting guarantee; signed.

    {kind, schema, made, program, chain: {id, begun, taken_as_found, entries, head},
     budgets: [{name, rule, neighbours, cap, spent, left, promise, lineages, versions, charges}],
     without_a_budget: [{dataset, lineage, method}], assumptions, not_checked, public_key, signature}

Amounts are exact decimals, as text. No account, key or fingerprint is in it. The ledger is verified first: its hash chain,
its sums and all checkpoints. An auditor verifies the statement with `ledger/hash_chain.py`.
"""

import json
from contextlib import closing
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.ledger.database import UNKNOWN_NEIGHBOURS
from discreet.ledger.entries import AMOUNTS, BudgetState
from discreet.ledger.hash_chain import KIND, NOT_CHECKED, SCHEMA, signature_message
from discreet.ledger.ledger import WholeLedger
from discreet.model.privacy_budget import FAILURE_UNIT, LOSS_UNIT, NUMBER, format_amount
from discreet.records.signing import signing_key
from discreet.workspace.folder_layout import refuse_no_workspace
from discreet.workspace.ledger_location import open_ledger

ASSUMPTIONS = (
    "The secret of the workspace is known to nobody who should not know it. Noise and chain are pseudo-random: what is "
    "promised holds against whoever cannot break HKDF-SHA256, AES-256 and BLAKE2b.",
    "Datasets that share persons were declared to be of one budget or one lineage. Other workspaces have ledgers of "
    "their own, and are not counted here.",
    "The statement is as honest as whoever holds the secret and the signing key: they could make another chain.",
    "A whole workspace that was brought back from an older copy, its ledger and all marks together, cannot be noticed "
    "from inside. What was charged after the copy is then missing here. An earlier statement tells it.",
)


def make_statement(folder: Path) -> dict[str, Any]:
    """The signed statement of a workspace's ledger.

    Raises:
        LedgerUnusable: There is no ledger, or it fails verification.
    """
    refuse_no_workspace(folder)
    with closing(open_ledger(folder)) as ledger:
        whole = ledger.whole()
    name, begun, found = whole.begun
    assumptions = list(ASSUMPTIONS)
    if found:
        assumptions.append(
            f"{found} entries were in the ledger before it had a chain and were taken as found at {begun[:19]} UTC: whether "
            "they had been changed before cannot be known."
        )
    key = signing_key(folder)
    document = {
        "kind": KIND,
        "schema": SCHEMA,
        "made": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "program": f"discreet {__version__}",
        "chain": {
            "id": name,
            "begun": begun,
            "taken_as_found": found,
            "entries": whole.head.position,
            "head": whole.head.tag,
        },
        "budgets": [_budget(state, neighbours, whole) for state, neighbours in whole.budgets],
        "without_a_budget": [
            {"dataset": dataset, "lineage": lineage, "method": method}
            for dataset, lineage, method, budget in whole.lineages
            if not budget
        ],
        "assumptions": assumptions,
        "not_checked": list(NOT_CHECKED),
        "public_key": key.public.text,
    }
    return {**document, "signature": key.sign(signature_message(document)).hex()}


def _budget(state: BudgetState, neighbours: str, whole: WholeLedger) -> dict[str, Any]:
    ordered = sorted(state.charges, key=lambda each: int(str(each["position"])))
    charges = [_charge(charge, state.composition, neighbours) for charge in ordered]
    return {
        "name": state.name,
        "rule": state.composition,
        "neighbours": neighbours,
        "cap": _amounts(state.cap, state.composition),
        "spent": _amounts(state.spent, state.composition),
        "left": _amounts(state.left, state.composition),
        "promise": _promise(state, neighbours, charges),
        "lineages": [
            {"dataset": dataset, "lineage": lineage}
            for dataset, lineage, _, budget in whole.lineages
            if budget == state.name
        ],
        "versions": [
            {"dataset": dataset, "version": version}
            for dataset, version, budget in whole.versions
            if budget == state.name
        ],
        "charges": charges,
    }


def _charge(charge: dict[str, Any], rule: str, neighbours: str) -> dict[str, Any]:
    kind, dataset, version, _, asked, *more = json.loads(charge["what"])
    margins = [] if kind == "universe" else asked if kind == "margins" else [asked]
    # Margins released together, and early charges, have no invariant except the total.
    records, invariants = None, [NUMBER] if neighbours == "replace-one" else []
    if kind == "margins":
        records = more[-1][4]
    elif more and isinstance(more[-1], list):
        _, records, invariants = more[-1]
    return {
        "entry": charge["position"],
        "at": charge["at"],
        "for": kind,
        "dataset": dataset,
        "version": version,
        "margins": margins,
        "records_per_unit": records,
        "invariants": invariants,
        "paid_by": "custodian" if charge["account"] is None else "account",
        **_amounts((charge["loss"] * LOSS_UNIT, charge["failure"] * FAILURE_UNIT), rule),
    }


def _promise(state: BudgetState, neighbours: str, charges: list[dict[str, Any]]) -> str:
    """The guarantee that follows from the charges (docs/methods/dp.md, Theorem 2 and section 3)."""
    if neighbours == UNKNOWN_NEIGHBOURS:
        return "An early Discreet did not write down whom these charges speak of: nothing is promised."
    spent, cap = (_amounts(each, state.composition) for each in (state.spent, state.cap))
    if state.composition == "basic":
        bound = f"({spent['epsilon']}, {spent['delta']})-differentially private"
        most = f"({cap['epsilon']}, {cap['delta']})"
    else:
        bound = f"within {spent['distance']} of a mechanism that is {spent['rho']}-zCDP"
        most = f"{cap['rho']} and {cap['distance']}"
    return (
        f'All that this workspace has released under the budget "{state.name}" together is computationally {bound} for '
        f"{neighbours} neighbours{_invariants_clause(charges)}; it may never come to more than {most}."
    )


def _invariants_clause(charges: list[dict[str, Any]]) -> str:
    public = sorted({(each["dataset"], name) for each in charges for name in each["invariants"]})
    named = [
        f'the number of records of{"" if name == NUMBER else f" each {name} of"} "{dataset}"'
        for dataset, name in public
    ]
    return f" that agree on what is released exactly, which is {' and '.join(named)}" if named else ""


def _amounts(pair: tuple[Fraction, Fraction], rule: str) -> dict[str, str]:
    return dict(zip(AMOUNTS[rule], map(format_amount, pair), strict=True))
