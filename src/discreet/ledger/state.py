"""What a ledger holds at one moment, as values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import select

from discreet.errors import BadRequest
from discreet.ledger.chain import newest_mark
from discreet.ledger.entries import Account, BudgetState
from discreet.ledger.marks import START
from discreet.ledger.tables import BUDGETS, CHAIN, CHARGES, LINEAGES, SHARES, VERSIONS
from discreet.model.amount import FAILURE_UNIT, LOSS_UNIT

if TYPE_CHECKING:
    from fractions import Fraction

    from sqlalchemy import Connection, Row

    from discreet.ledger.marks import Mark


@dataclass(frozen=True, slots=True)
class WholeLedger:
    """All budgets, lineages and versions, and the chain.

    Args:
        budgets: Each with its neighbours.
        lineages: (dataset, lineage, method, budget).
        versions: (dataset, version, budget).
        begun: The chain's id, when it was begun, and how many entries were taken as found.
        head: The last entry of the chain.
    """

    budgets: tuple[tuple[BudgetState, str], ...]
    lineages: tuple[tuple[str, str, str, str], ...]
    versions: tuple[tuple[str, str, str], ...]
    begun: tuple[str, str, int]
    head: Mark


def budget_state(connection: Connection, budget: str) -> BudgetState:
    """A budget's cap, what is spent and by whom.

    Raises:
        BadRequest: The ledger does not know it.
    """
    row = connection.execute(select(BUDGETS).where(BUDGETS.c.family == budget)).one_or_none()
    if row is None:
        raise BadRequest(f'The ledger knows no budget "{budget}".', "Load a dataset of it first.")
    shares = connection.execute(select(SHARES).where(SHARES.c.family == budget).order_by("account"))
    accounts = tuple(Account(share.account, *_amounts(share)) for share in shares)
    listed = connection.execute(select(CHARGES).where(CHARGES.c.family == budget).order_by("at", "request"))
    charges = tuple(dict(charge._mapping) for charge in listed)  # noqa: SLF001 - SQLAlchemy's public name
    return BudgetState(budget, row.rule, *_amounts(row), accounts, charges)


def whole_ledger(connection: Connection) -> WholeLedger:
    """All that a ledger holds."""
    budgets = connection.execute(select(BUDGETS.c.family, BUDGETS.c.neighbours).order_by("family"))
    lineages = select(LINEAGES.c.dataset, LINEAGES.c.lineage, LINEAGES.c.method, LINEAGES.c.family)
    versions = select(VERSIONS.c.dataset, VERSIONS.c.version, VERSIONS.c.family)
    first = connection.execute(select(CHAIN.c.body).where(CHAIN.c.position == 1)).scalar_one()
    return WholeLedger(
        tuple((budget_state(connection, name), neighbours) for name, neighbours in budgets.all()),
        tuple(tuple(row) for row in connection.execute(lineages.order_by("dataset", "lineage"))),
        tuple(tuple(row) for row in connection.execute(versions.order_by("dataset", "version"))),
        tuple(json.loads(first)),
        newest_mark(connection) or START,
    )


def _amounts(row: Row[Any]) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    """The cap of a row, and what is spent of it."""
    return (
        (row.cap_loss * LOSS_UNIT, row.cap_failure * FAILURE_UNIT),
        (row.spent_loss * LOSS_UNIT, row.spent_failure * FAILURE_UNIT),
    )
