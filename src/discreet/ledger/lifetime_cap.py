"""The lifetime cap of a budget, and the shares of accounts: declaration, charges, and the amount left.

    UPDATE families SET spent = spent + charge WHERE spent + charge <= cap      (no row changed: refused)

`charge_within_cap` is the only statement that spends. A cap can be lowered to the amount spent, and never raised. Each
function runs in the caller's transaction (`ledger`), and refuses or changes one row.
"""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, Row, Table, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from discreet.errors import BadDescription, BadKey, BadRequest, BudgetSpent, LedgerUnusable
from discreet.ledger.database import ACCOUNTS, BUDGETS, LINEAGES, SHARES, UNKNOWN_NEIGHBOURS, by_key, find_row
from discreet.ledger.entries import AMOUNTS, Budget, Charge, LineageEntry, cap_units
from discreet.model.privacy_budget import COMPOSITIONS, FAILURE_UNIT, LOSS_UNIT, format_amount


def declare_budget(connection: Connection, budget: Budget) -> bool:
    """Set a budget's cap, or refuse to raise or change it; False if it is unchanged."""
    if budget.composition not in COMPOSITIONS:
        raise BadDescription(
            f'The ledger has no rule "{budget.composition}".', f"Use {' or '.join(COMPOSITIONS)}."
        )
    loss, failure = cap_units(budget.cap)
    known = find_row(connection, BUDGETS, budget.name)
    if known is None:
        row = {"budget": budget.name, "composition": budget.composition, "neighbours": budget.neighbours}
        caps = {"cap_loss": loss, "cap_failure": failure}
        connection.execute(insert(BUDGETS).values(spent_loss=0, spent_failure=0, **row, **caps))
        return True
    if known.neighbours == UNKNOWN_NEIGHBOURS:
        raise BadDescription(
            f'The charges of the budget "{budget.name}" come from an early Discreet that did not record their '
            "neighbours.",
            "It cannot be charged further. Use another budget.",
        )
    if known.neighbours != budget.neighbours:
        raise BadDescription(
            f'The charges of the budget "{budget.name}" are for {known.neighbours} neighbours, and this one is '
            f"for {budget.neighbours}.",
            f'Write neighbours = "{known.neighbours}": one cap cannot bound both.',
        )
    if known.composition != budget.composition or loss > known.cap_loss or failure > known.cap_failure:
        raise BadDescription(
            f'The budget "{budget.name}" has a lifetime cap of {format_amount(known.cap_loss * LOSS_UNIT)} '
            f"(rule {known.composition}), which cannot be raised or changed.",
            "Keep the cap that was promised.",
        )
    if loss < known.spent_loss or failure < known.spent_failure:
        raise BadDescription(
            "The new cap is below the amount already spent.",
            "Choose a cap of at least the amount spent.",
        )
    if (loss, failure) == (known.cap_loss, known.cap_failure):
        return False
    changed = update(BUDGETS).where(by_key(BUDGETS, budget.name))
    connection.execute(changed.values(cap_loss=loss, cap_failure=failure))
    return True


def budget_row(connection: Connection, budget: str) -> Row[Any]:
    """The row of a budget.

    Raises:
        BadRequest: There is none.
    """
    row = find_row(connection, BUDGETS, budget)
    if row is None:
        raise BadRequest(f'The ledger has no budget "{budget}".', "Load a dataset of it first.")
    return row


def insert_once(connection: Connection, table: Table, row: Mapping[str, object]) -> bool:
    """Insert a row; False if its key exists. A second writer waits for the first."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    # RETURNING, because drivers disagree on the row count of an insert with a conflict.
    inserting = (
        dialect.insert(table).values(**row).on_conflict_do_nothing(index_elements=list(table.primary_key))
    )
    return connection.execute(inserting.returning(*table.primary_key)).first() is not None


def charge_within_cap(
    connection: Connection, table: Table, key: tuple[str, ...], loss: int, failure: int
) -> bool:
    """Add a charge to the amount spent, if it fits under the cap: the one conditional update. False if it does not fit."""
    fits = (table.c.spent_loss + loss <= table.c.cap_loss) & (
        table.c.spent_failure + failure <= table.c.cap_failure
    )
    changed = connection.execute(
        update(table)
        .where(by_key(table, *key), fits)
        .values(spent_loss=table.c.spent_loss + loss, spent_failure=table.c.spent_failure + failure)
        .returning(table.c.spent_loss)
    )
    return len(changed.all()) == 1


def set_share(connection: Connection, budget: str, account: str, loss: int, failure: int) -> tuple[int, int]:
    """Set an account's share, never below its spending; returns the caps that were set."""
    known = find_row(connection, SHARES, budget, account)
    if known is None:
        row = {"budget": budget, "account": account, "cap_loss": loss, "cap_failure": failure}
        connection.execute(insert(SHARES).values(spent_loss=0, spent_failure=0, **row))
        return loss, failure
    caps = (max(loss, known.spent_loss), max(failure, known.spent_failure))
    changed = update(SHARES).where(by_key(SHARES, budget, account))
    connection.execute(changed.values(cap_loss=caps[0], cap_failure=caps[1]))
    return caps


def amount_left(connection: Connection, charge: Charge) -> tuple[Fraction, Fraction]:
    """What the payer of a charge has left: the account's share, or the budget."""
    if charge.account is None:
        row = find_row(connection, BUDGETS, charge.budget)
    else:
        row = find_row(connection, SHARES, charge.budget, charge.account)
    if row is None:
        return Fraction(0), Fraction(0)
    return (row.cap_loss - row.spent_loss) * LOSS_UNIT, (row.cap_failure - row.spent_failure) * FAILURE_UNIT


def refuse_other_promise(connection: Connection, entry: LineageEntry) -> None:
    """Refuse another method or budget of a lineage, which keeps both permanently.

    A release without a bound cannot be bounded later, nor the reverse; and under two caps the guarantee for the same persons
    would be weaker than each.
    """
    same = (LINEAGES.c.dataset == entry.dataset) | (LINEAGES.c.lineage == entry.lineage)
    for known in connection.execute(select(LINEAGES).where(same).order_by(LINEAGES.c.dataset)):
        if known.method != entry.method:
            raise BadDescription(
                f'"{known.dataset}" was loaded under the method {known.method}, and this is {entry.method}.',
                "Give a dataset of other people another id and lineage. The same records cannot have two kinds of "
                "protection.",
            )
        if known.budget != entry.budget:
            raise BadDescription(
                f'"{known.dataset}" was loaded in the budget "{known.budget}", and this is "{entry.budget}".',
                "Keep the budget: its lifetime cap was promised to the people in this lineage.",
            )


def refuse_other_terms(connection: Connection, budget: Budget) -> None:
    """Refuse a budget in the ledger that is neither the declared one nor a lowered one: it was changed after the load."""
    row = find_row(connection, BUDGETS, budget.name)
    if row is None:
        return
    loss, failure = cap_units(budget.cap)
    same = row.composition == budget.composition and row.neighbours in {budget.neighbours, UNKNOWN_NEIGHBOURS}
    if not (same and row.cap_loss <= loss and row.cap_failure <= failure):
        raise LedgerUnusable(
            f'The cap, rule or neighbours of the budget "{budget.name}" in the ledger differ from those of a '
            "loaded version.",
            "It was changed after the load. Restore the newest unchanged copy.",
        )


def refuse_revoked(connection: Connection, account: str | None) -> None:
    """Refuse charges of a revoked account."""
    row = None if account is None else find_row(connection, ACCOUNTS, account)
    if row is not None and row.revoked is not None:
        raise BadKey(f'The account "{account}" is revoked.', "Ask the custodian for another.")


def no_budget_for_answer(whose: str) -> BudgetSpent:
    """The refusal of an answer, for the requester."""
    return BudgetSpent(
        f"{whose} does not cover this answer; nothing was charged.",
        "Ask for a coarser table, for one that was answered before, or ask the custodian.",
    )


def no_budget_for_version(connection: Connection, charge: Charge) -> BudgetSpent:
    """The refusal of a version, for the custodian."""
    row = find_row(connection, BUDGETS, charge.budget)
    names = AMOUNTS["basic" if row is None else row.composition]
    cost, left = (
        ", ".join(f"{n} {format_amount(v)}" for n, v in zip(names, pair, strict=True))
        for pair in (charge.booked, amount_left(connection, replace(charge, account=None)))
    )
    return BudgetSpent(
        f'The lifetime cap of the budget "{charge.budget}" does not cover this version: it costs {cost}, and '
        f"{left} is left. Nothing was charged.",
        "Lower `epsilon` or `delta` in [protection.budget]; the cap was promised and cannot be raised.",
    )
