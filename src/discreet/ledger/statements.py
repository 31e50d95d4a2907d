"""The statements that a transaction of the ledger is made of; each refuses, or changes one row.

Comes from: `ledger`, which puts them together and commits. Goes to: the tables of a ledger (`tables`).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from discreet.errors import BadDescription, BadKey, BadRequest, BudgetSpent
from discreet.ledger.entries import FAILURE_UNIT, LOSS_UNIT, Receipt, cap_units, charge_units
from discreet.ledger.schema import UNKNOWN_NEIGHBOURS
from discreet.ledger.tables import ACCOUNTS, BUDGETS, CHARGES, VERSIONS
from discreet.model.terms import COMPOSITIONS

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

    from discreet.ledger.entries import Budget, Charge


def declare(connection: Connection, budget: Budget) -> None:
    """Set a budget's cap within a transaction, or refuse to raise or change it."""
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
        return
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
            f'The budget "{budget.name}" has a lifetime cap of {float(known.cap_loss * LOSS_UNIT):g} '
            f"(rule {known.rule}), which cannot be raised or changed.",
            "Keep the cap that was promised.",
        )
    if loss < known.spent_loss or failure < known.spent_failure:
        raise BadDescription(
            "The new cap is below what is spent already.",
            "A cap can be lowered to what is spent, and no further.",
        )
    where = BUDGETS.c.family == budget.name
    connection.execute(update(BUDGETS).where(where).values(cap_loss=loss, cap_failure=failure))


def record(connection: Connection, charge: Charge, loss: int, failure: int) -> bool:
    """Write the request's row; False where it is there already. A second writer waits for the first."""
    row = {
        "family": charge.budget,
        "request": charge.key,
        "account": charge.account,
        "loss": loss,
        "failure": failure,
        "what": charge.request,
        "at": datetime.now(UTC).isoformat(timespec="microseconds"),
    }
    if connection.execute(select(BUDGETS.c.family).where(BUDGETS.c.family == charge.budget)).first() is None:
        raise BadRequest(f'The ledger knows no budget "{charge.budget}".', "Load a dataset of it first.")
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    # RETURNING and not a row count: drivers do not agree on the count of an insert that met a conflict.
    statement = dialect.insert(CHARGES).values(**row).on_conflict_do_nothing().returning(CHARGES.c.request)
    return connection.execute(statement).first() is not None


def add(connection: Connection, table: Table, where: object, loss: int, failure: int) -> bool:
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


def earlier(connection: Connection, charge: Charge) -> Receipt:
    """The receipt of a request that was paid for before."""
    where = (CHARGES.c.family == charge.budget) & (CHARGES.c.request == charge.key)
    row = connection.execute(select(CHARGES).where(where)).one()
    return Receipt(charge.key, row.loss * LOSS_UNIT, row.failure * FAILURE_UNIT, repeat=True)


def refuse_other_budget(connection: Connection, dataset: str, budget: str) -> None:
    """The same persons under two caps would be promised less than is spent on them."""
    where = (VERSIONS.c.dataset == dataset) & (VERSIONS.c.family != budget)
    other = connection.execute(select(VERSIONS.c.family).where(where)).scalars().first()
    if other is not None:
        raise BadDescription(
            f'"{dataset}" was loaded in the budget "{other}", and this is "{budget}".',
            "Keep the budget: its lifetime cap is promised to the persons of this dataset.",
        )


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
    loss, failure = charge_units(charge.loss, LOSS_UNIT), charge_units(charge.failure, FAILURE_UNIT)
    # The charge was added to nothing: the row is what it was before.
    left = [(row.cap_loss - row.spent_loss) * LOSS_UNIT, (row.cap_failure - row.spent_failure) * FAILURE_UNIT]
    names = ("epsilon", "delta") if row.rule == "basic" else ("rho", "distance")
    costs = (loss * LOSS_UNIT, failure * FAILURE_UNIT)
    said = [
        ", ".join(f"{n} {float(v):.4g}" for n, v in zip(names, pair, strict=True)) for pair in (costs, left)
    ]
    return BudgetSpent(
        f'The lifetime cap of the budget "{charge.budget}" does not cover this version: it costs {said[0]}, and '
        f"{said[1]} is left. Nothing was charged.",
        "Lower `epsilon` or `delta` in [protection.budget]; the cap was promised and cannot be raised.",
    )
