"""A load as the ledger sees it: its lineage keeps one method and one budget, and under `dp` its universe is charged.

The ledger is asked and not the folders: a folder that was deleted does not undo what was released from it. What this
workspace has never seen cannot be known: a second workspace has a ledger and a cap of its own.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from discreet.ledger.entries import Budget, Checkpoints, LineageEntry, Receipt
from discreet.ledger.ledger import Ledger
from discreet.model.dataset import Dataset
from discreet.model.universe import dp_terms
from discreet.noise.table import NoiseTable
from discreet.protect.charges import budget_cap, version_charge
from discreet.protect.plan import NoisePlan
from discreet.workspace.ledger_location import ledger_for_loading, ledger_if_any


def refuse_other_method(folder: Path, dataset: Dataset) -> None:
    """Refuse a lineage that was loaded under another method or budget, before a record is read.

    Raises:
        BadDescription: The dataset or its lineage was loaded otherwise by this workspace.
    """
    ledger = ledger_if_any(folder)
    if ledger is None:
        return
    try:
        ledger.check_lineage(_lineage_entry(dataset))
    finally:
        ledger.close()


def charge_load(
    folder: Path, dataset: Dataset, noise: NoiseTable | NoisePlan, fingerprint: str, marks: Checkpoints
) -> Receipt | None:
    """Write down a lineage and charge its universe, before anybody can see the version; its mark is written then.

    Returns:
        What was charged; None where there is nothing to charge.

    Raises:
        BadDescription: The lineage was loaded otherwise, or the version with other records.
        BudgetSpent: Nothing was charged.
    """
    with closing(ledger_for_loading(folder)) as ledger:
        return record_load(ledger.with_checkpoints(marks), dataset, noise, fingerprint)


def record_load(
    ledger: Ledger,
    dataset: Dataset,
    noise: NoiseTable | NoisePlan,
    fingerprint: str,
    *,
    spend: bool = True,
) -> Receipt | None:
    """The same in an open ledger; without `spend` everything is checked and nothing is written."""
    if isinstance(noise, NoisePlan):
        budget = plan_budget(noise)
        charge = version_charge(noise, dataset, dataset.version, fingerprint)
        names = (dataset.id, dataset.version, fingerprint)
        return ledger.charge_version(charge, *names, budget, lineage=dataset.lineage, spend=spend)
    if spend:
        ledger.enter_lineage(_lineage_entry(dataset))
    else:
        ledger.check_lineage(_lineage_entry(dataset))
    return None


def plan_budget(plan: NoisePlan) -> Budget:
    """The budget that a version declares in its sealed terms."""
    terms = plan.terms
    return Budget(terms.name, budget_cap(terms), terms.composition, terms.neighbours)


def _lineage_entry(dataset: Dataset) -> LineageEntry:
    budget = dp_terms(dataset)[0].name if dataset.protection.is_dp else ""
    return LineageEntry(dataset.id, dataset.lineage, dataset.protection.method, budget)
