"""What a dataset under `dp` promises, costs and has left, for every face.

The budget is public: every word of it follows from the description, and from what was charged. Who was charged is
for custodians.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.answer.budget_document import budget_document, ledger_document, left_sentence, planned_budget
from discreet.errors import BadRequest, NoBudget
from discreet.ledger.roles import require_role
from discreet.model.nearest import nearest
from discreet.model.told import told
from discreet.workspace.ledger_place import ledger_if_any
from discreet.workspace.lineage import lineage_defaults

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path

    from discreet.ledger.entries import BudgetState
    from discreet.protect.dp_protector import DpProtector
    from discreet.workspace.workspace import StoredDataset


def budget_of(stored: StoredDataset) -> dict[str, Any]:
    """What the universe promises and costs, and what the budget has spent.

    Raises:
        NoBudget: The dataset has none.
        LedgerUnusable: What is spent is not known.
    """
    dp = _dp(stored)
    state = dp.ledger.state(dp.plan.terms.name)
    return budget_document(dp.plan, stored.dataset, state)


def budget_before(folder: Path | None, description: str) -> dict[str, Any]:
    """The budget of a description that is not loaded yet, beside what has been spent of it in a workspace.

    Raises:
        BadDescription: It cannot be read, or its protection is not `dp`.
        LedgerUnusable: What is spent is not known.
    """

    def state_of(budget: str) -> BudgetState | None:
        ledger = None if folder is None else ledger_if_any(folder)
        if ledger is None:
            return None
        try:
            return ledger.state(budget)
        except BadRequest:
            return None
        finally:
            ledger.close()

    defaults = None if folder is None else lineage_defaults(folder, description)
    return planned_budget(description, state_of, defaults)


def ledger_of(stored: StoredDataset) -> dict[str, Any]:
    """What the budget has spent, what is left, and by whom; for custodians."""
    dp = _dp(stored)
    return ledger_document(dp.ledger.state(dp.plan.terms.name))


def budget_left(stored: StoredDataset) -> str | None:
    """What is left of the budget's lifetime cap, in a sentence; None for a dataset without a budget."""
    dp = stored.dp
    if dp is None:
        return None
    return left_sentence(dp.ledger.state(dp.plan.terms.name), dp.plan.terms)


def open_share(stored: StoredDataset, account: str, cap: tuple[Fraction, Fraction]) -> None:
    """Open the ledger of a dataset's budget to an account, up to a cap of its own."""
    from discreet.ledger.accounts import Accounts  # noqa: PLC0415 - no other budget asks the database here

    dp = _dp(stored)
    if dp.plan.answer is None:
        raise BadRequest(
            told('"{id}" answers nothing outside its universe.', id=stored.dataset.id),
            told("Set answer_cost in [protection.budget] and load it again."),
        )
    known = {
        each.account: each.role for each in Accounts(dp.ledger.database).listing() if each.revoked is None
    }
    if account not in known:
        raise BadRequest(
            told('There is no account "{account}".', account=account),
            nearest(account, known)
            if known
            else told("Create it with `discreet account create --role analyst`."),
        )
    require_role(account, known[account], "analyst")
    dp.ledger.allow(dp.plan.terms.name, account, cap)


def _dp(stored: StoredDataset) -> DpProtector:
    if stored.dp is None:
        raise NoBudget(
            told(
                '"{id}" is protected by the cell key method and has no privacy budget.', id=stored.dataset.id
            ),
            told("Only datasets with the method dp have one."),
        )
    return stored.dp
