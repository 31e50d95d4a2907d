"""What a dataset under `dp` promises, costs and has left, for every face.

The budget is public: every word of it follows from the description, and from what was charged. Who was charged is
for custodians.

Comes from: a `StoredDataset`. Goes to: `discreet budget`, `discreet ledger`, `catalogue.budget`, HTTP, pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.answer.budget_document import budget_document, ledger_document, left_sentence, planned_budget
from discreet.errors import BadRequest, nearest
from discreet.ledger.accounts import Accounts, require_role
from discreet.workspace.ledger_place import has_ledger, open_ledger

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path

    from discreet.ledger.entries import BudgetState
    from discreet.protect.dp_protector import DpProtector
    from discreet.workspace.workspace import StoredDataset


def budget_of(stored: StoredDataset) -> dict[str, Any]:
    """What the universe promises and costs, and what the budget has spent.

    Raises:
        BadRequest: The dataset has no budget.
        LedgerUnusable: What is spent is not known.
    """
    published = _published(stored)
    state = published.ledger.state(published.plan.terms.name)
    return budget_document(published.plan, stored.dataset, state)


def budget_before(folder: Path | None, description: str) -> dict[str, Any]:
    """The budget of a description that is not loaded yet, beside what has been spent of it in a workspace.

    Raises:
        BadDescription: It cannot be read, or its protection is not `dp`.
        LedgerUnusable: What is spent is not known.
    """

    def state_of(budget: str) -> BudgetState | None:
        if folder is None or not has_ledger(folder):
            return None
        ledger = open_ledger(folder)
        try:
            return ledger.state(budget)
        except BadRequest:
            return None
        finally:
            ledger.close()

    return planned_budget(description, state_of)


def ledger_of(stored: StoredDataset) -> dict[str, Any]:
    """What the budget has spent, what is left, and by whom; for custodians."""
    published = _published(stored)
    return ledger_document(published.ledger.state(published.plan.terms.name))


def budget_left(stored: StoredDataset) -> str | None:
    """What is left of the budget's lifetime cap, in a sentence; None for a dataset without a budget."""
    if stored.published is None:
        return None
    published = stored.published
    return left_sentence(published.ledger.state(published.plan.terms.name), published.plan.terms)


def open_share(stored: StoredDataset, account: str, cap: tuple[Fraction, Fraction]) -> None:
    """Open the ledger of a dataset's budget to an account, up to a cap of its own."""
    published = _published(stored)
    if published.plan.answer is None:
        raise BadRequest(
            f'"{stored.dataset.id}" answers nothing outside its universe.',
            "Set answer_cost in [protection.budget] and load it again.",
        )
    known = {
        each.account: each.role
        for each in Accounts(published.ledger.database).listing()
        if each.revoked is None
    }
    if account not in known:
        raise BadRequest(
            f'There is no account "{account}".',
            nearest(account, known) if known else "Create it with `discreet account create --role analyst`.",
        )
    require_role(account, known[account], "analyst")
    published.ledger.allow(published.plan.terms.name, account, cap)


def _published(stored: StoredDataset) -> DpProtector:
    if stored.published is None:
        raise BadRequest(
            f'"{stored.dataset.id}" is protected by the cell key method and has no privacy budget.',
            "Only datasets with the method dp have one.",
        )
    return stored.published
