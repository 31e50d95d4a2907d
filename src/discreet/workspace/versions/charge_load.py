"""The ledger's part of a load: a lineage keeps one method and one budget, and under `dp` its universe is charged.

The ledger decides, not the folders: deleting a folder does not undo its releases. Another workspace has its own
ledger and its own cap.
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
        BadDescription: This workspace loaded the dataset or its lineage under another one.
    """
    ledger = ledger_if_any(folder)
    if ledger is not None:
        with closing(ledger):
            ledger.check_lineage(_lineage_entry(dataset))


def charge_load(
    folder: Path, dataset: Dataset, noise: NoiseTable | NoisePlan, fingerprint: str, checkpoints: Checkpoints
) -> Receipt | None:
    """Enter a lineage and charge its universe before the version can be seen, then write its checkpoint.

    Returns:
        The receipt; None under the cell key method.

    Raises:
        BadDescription: The lineage has another method or budget, or the version has other records.
        BudgetSpent: Nothing was charged.
    """
    with closing(ledger_for_loading(folder)) as ledger:
        return record_load(ledger.with_checkpoints(checkpoints), dataset, noise, fingerprint)


def record_load(
    ledger: Ledger,
    dataset: Dataset,
    noise: NoiseTable | NoisePlan,
    fingerprint: str,
    *,
    spend: bool = True,
) -> Receipt | None:
    """As `charge_load` in an open ledger; without `spend` everything is checked and nothing is written."""
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
