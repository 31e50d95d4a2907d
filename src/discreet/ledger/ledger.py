"""The ledger: what a budget has spent, charged before anything is released.

    1  the canonical request becomes a row; if it is there already, it was paid for and is free
    2  UPDATE families SET spent = spent + charge WHERE spent + charge <= cap      (no row changed: refused)
    3  the same for the account's own share
    4  COMMIT; only then may the answer be computed

All four are one transaction, so a crash leaves either a charge or nothing, never an uncharged release. Sums are whole
numbers: charges are rounded up, caps down. What is added up is (epsilon, delta) by basic composition or rho and
distance by the zCDP filter, as the budget's composition says; both remain valid when questions follow earlier answers.

Comes from: `answer` and the faces. Goes to: receipts, `answer/budget_document.py`.
Source: docs/methods/dp.md, Theorem 2 (basic filter) and section 3 (zCDP filter); Rogers et al. (2016).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from discreet.errors import BadDescription, BadRequest, BudgetSpent, LedgerUnusable
from discreet.ledger.database import LedgerDatabase, create_database, open_database
from discreet.ledger.entries import (
    Account,
    Budget,
    BudgetState,
    LineageEntry,
    Receipt,
    cap_units,
    charge_units,
    records_name,
    request_key,
)
from discreet.ledger.statements import (
    add,
    declare,
    earlier,
    enter_lineage,
    left_for,
    no_budget_for_answer,
    no_budget_for_version,
    record,
    refuse_other_promise,
    refuse_revoked,
)
from discreet.ledger.tables import BUDGETS, CHARGES, SHARES, VERSIONS
from discreet.model.amount import FAILURE_UNIT, LOSS_UNIT

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction
    from pathlib import Path

    from sqlalchemy import Connection

    from discreet.ledger.entries import Charge

#: The steps of a charge, at which tests end the process.
STEPS = ("begun", "recorded", "family charged", "share charged", "committed")


class Ledger:
    """The ledger of a workspace.

    Args:
        database: An open database.
        on_step: Told when each of `STEPS` is done; for tests that end the process there.
    """

    def __init__(self, database: LedgerDatabase, on_step: Callable[[str], None] = lambda _step: None) -> None:
        self.database = database
        self._on_step = on_step

    @classmethod
    def create(cls, place: Path | str) -> Ledger:
        """A new ledger in a file, or at the URL of an empty PostgreSQL database."""
        return cls(create_database(place))

    @classmethod
    def open(cls, place: Path | str, on_step: Callable[[str], None] = lambda _step: None) -> Ledger:
        """An existing ledger, checked: its sums must be those of its charges.

        Raises:
            LedgerUnusable: It is missing, damaged, out of reach, or does not add up.
        """
        ledger = cls(open_database(place, on_step), on_step)
        ledger._check()
        return ledger

    def allow(self, budget: str, account: str, cap: tuple[Fraction, Fraction]) -> None:
        """Open the ledger of a budget to an account, up to a cap of its own; a later call sets another cap."""
        loss, failure = cap_units(cap)
        with self.database.transaction() as connection:
            where = (SHARES.c.family == budget) & (SHARES.c.account == account)
            known = connection.execute(select(SHARES).where(where)).one_or_none()
            if known is None:
                row = {"family": budget, "account": account, "cap_loss": loss, "cap_failure": failure}
                connection.execute(insert(SHARES).values(spent_loss=0, spent_failure=0, **row))
                return
            lowest = (max(loss, known.spent_loss), max(failure, known.spent_failure))
            connection.execute(update(SHARES).where(where).values(cap_loss=lowest[0], cap_failure=lowest[1]))

    def check_lineage(self, entry: LineageEntry) -> None:
        """Refuse a method or a budget that is not the lineage's own; nothing is written.

        Raises:
            BadDescription: It was loaded under another.
        """
        with self.database.snapshot() as connection:
            refuse_other_promise(connection, entry)

    def enter_lineage(self, entry: LineageEntry) -> None:
        """Write down the method of a lineage that nothing is charged for.

        Raises:
            BadDescription: It was loaded under another.
        """
        with self.database.transaction() as connection:
            enter_lineage(connection, entry)

    def charge_version(
        self,
        charge: Charge,
        dataset: str,
        version: str,
        fingerprint: str,
        budget: Budget | None = None,
        *,
        lineage: str = "",
        spend: bool = True,
    ) -> Receipt:
        """Charge the universe of a version, whose name belongs to these records from now on.

        Args:
            charge: What the universe costs.
            dataset: The dataset's id.
            version: The version's name.
            fingerprint: Of the records.
            budget: Declared in the same transaction: a load that is refused leaves no cap behind.
            lineage: The dataset's lineage; its id by default.
            spend: False: everything is checked as if it were charged, and then undone.

        Raises:
            BadDescription: The version was loaded with other records, or the lineage in another budget.
            BudgetSpent: The budget's cap does not allow it.
        """
        records = records_name(dataset, version, fingerprint)
        row = {"dataset": dataset, "version": version, "family": charge.budget, "records": records}
        with self.database.transaction() as connection:
            if budget is not None:
                declare(connection, budget)
            enter_lineage(connection, LineageEntry(dataset, lineage or dataset, "dp", charge.budget))
            where = (VERSIONS.c.dataset == dataset) & (VERSIONS.c.version == version)
            dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
            connection.execute(dialect.insert(VERSIONS).values(**row).on_conflict_do_nothing())
            known = connection.execute(select(VERSIONS.c.records).where(where)).scalar_one()
            if known != records:
                raise BadDescription(
                    f'The version "{version}" of "{dataset}" was loaded with other records or categories.',
                    "Give what has changed a new `version`; it is charged to the budget again.",
                )
            try:
                receipt = self._charged(connection, charge)
            except BudgetSpent:
                raise no_budget_for_version(connection, charge) from None
            if not spend:
                connection.rollback()
                return receipt
        self._on_step("committed")
        return receipt

    def charge(self, charge: Charge) -> Receipt:
        """Charge an answer, or find that it is paid for; nothing may be computed before this returns.

        Raises:
            BudgetSpent: The budget's or the account's cap does not allow it; nothing is charged.
            BadKey: The account is revoked.
            LedgerUnusable: No answers.
        """
        with self.database.transaction() as connection:
            receipt = self._charged(connection, charge)
        self._on_step("committed")
        return receipt

    def _charged(self, connection: Connection, charge: Charge) -> Receipt:
        """The charge within a transaction; a refusal undoes all of it."""
        loss, failure = charge_units(charge.loss, LOSS_UNIT), charge_units(charge.failure, FAILURE_UNIT)
        self._on_step("begun")
        refuse_revoked(connection, charge.account)
        if not record(connection, charge, loss, failure):
            return earlier(connection, charge)
        self._on_step("recorded")
        if not add(connection, BUDGETS, BUDGETS.c.family == charge.budget, loss, failure):
            raise no_budget_for_answer(f'The budget "{charge.budget}"')
        self._on_step("family charged")
        if charge.account is not None:
            share = (SHARES.c.family == charge.budget) & (SHARES.c.account == charge.account)
            if not add(connection, SHARES, share, loss, failure):
                raise no_budget_for_answer(f'The share of the account "{charge.account}"')
        self._on_step("share charged")
        left = left_for(connection, charge)
        return Receipt(charge.key, loss * LOSS_UNIT, failure * FAILURE_UNIT, repeat=False, left=left)

    def is_paid(self, budget: str, request: str) -> bool:
        """Whether an answer was charged before."""
        with self.database.snapshot() as connection:
            where = (CHARGES.c.family == budget) & (CHARGES.c.request == request_key(request))
            return connection.execute(select(CHARGES.c.request).where(where)).first() is not None

    def paid(self, budget: str, beginning: str) -> tuple[str, ...]:
        """All paid requests that begin so, in the order of payment."""
        with self.database.snapshot() as connection:
            where = (CHARGES.c.family == budget) & CHARGES.c.what.startswith(beginning, autoescape=True)
            listed = select(CHARGES.c.what).where(where).order_by("at", "request")
            return tuple(connection.execute(listed).scalars())

    def state(self, budget: str) -> BudgetState:
        """A budget's cap, what is spent and by whom."""
        with self.database.snapshot() as connection:
            row = connection.execute(select(BUDGETS).where(BUDGETS.c.family == budget)).one_or_none()
            if row is None:
                raise BadRequest(f'The ledger knows no budget "{budget}".', "Load a dataset of it first.")
            shares = connection.execute(select(SHARES).where(SHARES.c.family == budget).order_by("account"))
            accounts = tuple(
                Account(
                    share.account,
                    (share.cap_loss * LOSS_UNIT, share.cap_failure * FAILURE_UNIT),
                    (share.spent_loss * LOSS_UNIT, share.spent_failure * FAILURE_UNIT),
                )
                for share in shares
            )
            listed = connection.execute(
                select(CHARGES).where(CHARGES.c.family == budget).order_by("at", "request")
            )
            charges = tuple(dict(charge._mapping) for charge in listed)  # noqa: SLF001 - SQLAlchemy's public name
        return BudgetState(
            budget,
            row.rule,
            (row.cap_loss * LOSS_UNIT, row.cap_failure * FAILURE_UNIT),
            (row.spent_loss * LOSS_UNIT, row.spent_failure * FAILURE_UNIT),
            accounts,
            charges,
        )

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()

    def _check(self) -> None:
        """What is spent must be the sum of the charges, for every budget and every account."""
        with self.database.snapshot() as connection:
            for table, keys in ((BUDGETS, ["family"]), (SHARES, ["family", "account"])):
                columns = [CHARGES.c[key] for key in keys]
                sums = {
                    tuple(row[: len(keys)]): (int(row[-2]), int(row[-1]))
                    for row in connection.execute(
                        select(*columns, func.sum(CHARGES.c.loss), func.sum(CHARGES.c.failure)).group_by(
                            *columns
                        )
                    )
                }
                for row in connection.execute(select(table)):
                    wanted = sums.get(tuple(getattr(row, key) for key in keys), (0, 0))
                    if (row.spent_loss, row.spent_failure) != wanted:
                        raise LedgerUnusable(
                            "The ledger does not add up: what is spent is not the sum of its charges.",
                            "Restore the newest copy that does.",
                        )
