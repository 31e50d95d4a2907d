"""The statements that a transaction of the ledger is made of; each refuses, or changes one row."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, Row, Table, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from discreet.errors import BadDescription, BadKey, BadRequest, BudgetSpent, LedgerUnusable
from discreet.ledger.database import ACCOUNTS, BUDGETS, CHARGES, LINEAGES, SHARES, UNKNOWN_NEIGHBOURS
from discreet.ledger.entries import Budget, Charge, LineageEntry, Receipt, cap_units
from discreet.model.privacy_budget import COMPOSITIONS, FAILURE_UNIT, LOSS_UNIT, format_amount


def declare_budget(connection: Connection, budget: Budget) -> bool:
    """Set a budget's cap within a transaction, or refuse to raise or change it; False where it is so already."""
    if budget.composition not in COMPOSITIONS:
        raise BadDescription(
            f'The ledger has no rule "{budget.composition}".', f"Use {' or '.join(COMPOSITIONS)}."
        )
    loss, failure = cap_units(budget.cap)
    known = connection.execute(select(BUDGETS).where(BUDGETS.c.family == budget.name)).one_or_none()
    if known is None:
        row = {"family": budget.name, "rule": budget.composition, "neighbours": budget.neighbours}
        caps = {"cap_loss": loss, "cap_failure": failure}
        connection.execute(insert(BUDGETS).values(spent_loss=0, spent_failure=0, **row, **caps))
        return True
    if known.neighbours == UNKNOWN_NEIGHBOURS:
        raise BadDescription(
            f'What the budget "{budget.name}" has spent was booked by an early Discreet that did not write down '
            "its neighbours.",
            "Nothing can be added to it. Its charges are kept, and other budgets can be used.",
        )
    if known.neighbours != budget.neighbours:
        raise BadDescription(
            f'What the budget "{budget.name}" has spent was counted for {known.neighbours} neighbours, '
            f"and this is for {budget.neighbours}.",
            f'Write neighbours = "{known.neighbours}": one cap cannot bound both.',
        )
    if known.rule != budget.composition or loss > known.cap_loss or failure > known.cap_failure:
        raise BadDescription(
            f'The budget "{budget.name}" has a lifetime cap of {format_amount(known.cap_loss * LOSS_UNIT)} '
            f"(rule {known.rule}), which cannot be raised or changed.",
            "Keep the cap that was promised.",
        )
    if loss < known.spent_loss or failure < known.spent_failure:
        raise BadDescription(
            "The new cap is below what is spent already.",
            "A cap can be lowered to what is spent, and no further.",
        )
    if (loss, failure) == (known.cap_loss, known.cap_failure):
        return False
    where = BUDGETS.c.family == budget.name
    connection.execute(update(BUDGETS).where(where).values(cap_loss=loss, cap_failure=failure))
    return True


def insert_charge(
    connection: Connection, charge: Charge, loss: int, failure: int, position: int, at: str
) -> bool:
    """Write the request's row; False where it is there already. A second writer waits for the first."""
    row = {
        "family": charge.budget,
        "request": charge.key,
        "account": charge.account,
        "loss": loss,
        "failure": failure,
        "what": charge.request,
        "at": at,
        "position": position,
    }
    if connection.execute(select(BUDGETS.c.family).where(BUDGETS.c.family == charge.budget)).first() is None:
        raise BadRequest(f'The ledger knows no budget "{charge.budget}".', "Load a dataset of it first.")
    return insert_once(connection, CHARGES, row)


def insert_once(connection: Connection, table: Table, row: Mapping[str, object]) -> bool:
    """Insert a row; False where one of its name is there already."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    # RETURNING and not a row count: drivers do not agree on the count of an insert that met a conflict.
    inserting = (
        dialect.insert(table).values(**row).on_conflict_do_nothing(index_elements=list(table.primary_key))
    )
    return connection.execute(inserting.returning(*table.primary_key)).first() is not None


def charge_within_cap(connection: Connection, table: Table, where: object, loss: int, failure: int) -> bool:
    """The one conditional update: True where the charge fits under the cap."""
    fits = (table.c.spent_loss + loss <= table.c.cap_loss) & (
        table.c.spent_failure + failure <= table.c.cap_failure
    )
    changed = connection.execute(
        update(table)
        .where(where, fits)  # type: ignore[arg-type]
        .values(spent_loss=table.c.spent_loss + loss, spent_failure=table.c.spent_failure + failure)
        .returning(table.c.spent_loss)
    )
    return len(changed.all()) == 1


def set_share(connection: Connection, budget: str, account: str, loss: int, failure: int) -> tuple[int, int]:
    """Set an account's share, which is never below what is spent of it; returns the caps that were set."""
    where = (SHARES.c.family == budget) & (SHARES.c.account == account)
    known = connection.execute(select(SHARES).where(where)).one_or_none()
    if known is None:
        row = {"family": budget, "account": account, "cap_loss": loss, "cap_failure": failure}
        connection.execute(insert(SHARES).values(spent_loss=0, spent_failure=0, **row))
        return loss, failure
    caps = (max(loss, known.spent_loss), max(failure, known.spent_failure))
    connection.execute(update(SHARES).where(where).values(cap_loss=caps[0], cap_failure=caps[1]))
    return caps


def repeat_receipt(connection: Connection, charge: Charge) -> Receipt:
    """The receipt of a request that was paid for before."""
    where = (CHARGES.c.family == charge.budget) & (CHARGES.c.request == charge.key)
    row = connection.execute(select(CHARGES).where(where)).one()
    paid = (row.loss * LOSS_UNIT, row.failure * FAILURE_UNIT)
    return Receipt(charge.key, *paid, repeat=True, left=amount_left(connection, charge))


def amount_left(connection: Connection, charge: Charge) -> tuple[Fraction, Fraction]:
    """What whoever pays a charge has left: the account's share, or the budget."""
    table, where = BUDGETS, BUDGETS.c.family == charge.budget
    if charge.account is not None:
        table, where = SHARES, (SHARES.c.family == charge.budget) & (SHARES.c.account == charge.account)
    row = connection.execute(select(table).where(where)).one_or_none()
    if row is None:
        return Fraction(0), Fraction(0)
    return (row.cap_loss - row.spent_loss) * LOSS_UNIT, (row.cap_failure - row.spent_failure) * FAILURE_UNIT


def refuse_other_promise(connection: Connection, entry: LineageEntry) -> None:
    """One lineage keeps its method and its budget for ever.

    What was once released without a bound cannot be bounded, nor the reverse; and under two caps the same persons
    would be promised less than is spent on them.

    Raises:
        BadDescription: The dataset or its lineage was loaded under another method or budget.
    """
    same = (LINEAGES.c.dataset == entry.dataset) | (LINEAGES.c.lineage == entry.lineage)
    for known in connection.execute(select(LINEAGES).where(same).order_by(LINEAGES.c.dataset)):
        if known.method != entry.method:
            raise BadDescription(
                f'"{known.dataset}" was loaded under the method {known.method}, and this is {entry.method}.',
                "Give other persons another id and lineage: no set of records may have two protections.",
            )
        if known.family != entry.budget:
            raise BadDescription(
                f'"{known.dataset}" was loaded in the budget "{known.family}", and this is "{entry.budget}".',
                "Keep the budget: its lifetime cap is promised to the persons of this lineage.",
            )


def refuse_other_terms(connection: Connection, budget: Budget) -> None:
    """Refuse a budget in the ledger that is neither the declared one nor a lowered one."""
    row = connection.execute(select(BUDGETS).where(BUDGETS.c.family == budget.name)).one_or_none()
    if row is not None and not _keeps(row, budget):
        raise LedgerUnusable(
            f'The ledger has another cap, rule or neighbours for the budget "{budget.name}" than the sealed terms of a '
            "version.",
            "It was changed after the load. Restore the newest copy that was not changed.",
        )


def _keeps(row: Row[Any], budget: Budget) -> bool:
    """Whether a budget in the ledger is a declared one, or a lowered one; early ledgers did not know its neighbours."""
    loss, failure = cap_units(budget.cap)
    same = row.rule == budget.composition and row.neighbours in {budget.neighbours, UNKNOWN_NEIGHBOURS}
    return same and row.cap_loss <= loss and row.cap_failure <= failure


def enter_lineage(connection: Connection, entry: LineageEntry) -> bool:
    """Write down the method and the budget of a lineage, or refuse another one; False where it is written already.

    The caller holds the lock of the chain: two loads at once may not both find nothing.
    """
    refuse_other_promise(connection, entry)
    row = {"dataset": entry.dataset, "lineage": entry.lineage, "method": entry.method, "family": entry.budget}
    return insert_once(connection, LINEAGES, row)


def refuse_revoked(connection: Connection, account: str | None) -> None:
    """An account that was ended pays for nothing."""
    if account is None:
        return
    where = (ACCOUNTS.c.account == account) & ACCOUNTS.c.revoked.is_not(None)
    if connection.execute(select(ACCOUNTS.c.account).where(where)).first() is not None:
        raise BadKey(f'The account "{account}" is revoked.', "Ask the custodian for another.")


def no_budget_for_answer(whose: str) -> BudgetSpent:
    """Why an answer cannot be charged: for whoever asked."""
    return BudgetSpent(
        f"{whose} does not cover this answer; nothing was charged.",
        "Ask for a coarser table, for one that was answered before, or ask the custodian.",
    )


def no_budget_for_version(connection: Connection, charge: Charge) -> BudgetSpent:
    """Why a version cannot be loaded: for the custodian, who cannot ask for a coarser table."""
    row = connection.execute(select(BUDGETS).where(BUDGETS.c.family == charge.budget)).one()
    # The charge was added to nothing: the row is what it was before.
    left = [(row.cap_loss - row.spent_loss) * LOSS_UNIT, (row.cap_failure - row.spent_failure) * FAILURE_UNIT]
    names = ("epsilon", "delta") if row.rule == "basic" else ("rho", "distance")
    said = [
        ", ".join(f"{n} {format_amount(v)}" for n, v in zip(names, pair, strict=True))
        for pair in (charge.booked, left)
    ]
    return BudgetSpent(
        f'The lifetime cap of the budget "{charge.budget}" does not cover this version: it costs {said[0]}, and '
        f"{said[1]} is left. Nothing was charged.",
        "Lower `epsilon` or `delta` in [protection.budget]; the cap was promised and cannot be raised.",
    )
