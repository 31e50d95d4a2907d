"""The ledger: what a budget has spent, charged before anything is released.

    1  insert the canonical request; if it exists, it was paid before and is free
    2  charge the budget within its lifetime cap, or refuse (`lifetime_cap`)
    3  the same for the account's share
    4  append the charge to the hash chain (`hash_chain`)
    5  COMMIT
    6  raise the checkpoint of the version to this entry; only then may the answer be computed

The first five are one transaction, so a crash leaves either a charge or nothing, never an uncharged release. A crash
before step 6 leaves a ledger ahead of its checkpoint, which is sound; the checkpoint is raised when the charge is next
used. Before each charge the ledger must extend all checkpoints of the workspace, and its rows must agree with the chain.
Amounts are integers: charges are rounded up, caps down. They are (epsilon, delta) under basic composition, or rho and
distance under the zCDP filter; both remain valid for adaptive queries.

Source: docs/methods/dp.md, Theorem 2 (basic filter) and section 3 (zCDP filter); Rogers et al. (2016).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, select

from discreet.errors import BadDescription, BudgetSpent
from discreet.ledger import entries, hash_chain, lifetime_cap
from discreet.ledger.database import (
    BUDGETS,
    CHAIN,
    CHARGES,
    LINEAGES,
    SHARES,
    VERSIONS,
    LedgerDatabase,
    by_key,
    create_database,
    find_row,
    open_database,
)
from discreet.model.privacy_budget import FAILURE_UNIT, LOSS_UNIT


@dataclass(frozen=True, slots=True)
class WholeLedger:
    """All budgets with their neighbours, lineages, versions, and the beginning and the last entry of the chain."""

    budgets: tuple[tuple[entries.BudgetState, str], ...]
    lineages: tuple[tuple[str, str, str, str], ...]
    versions: tuple[tuple[str, str, str], ...]
    begun: tuple[str, str, int]
    head: entries.Checkpoint


def budget_state(connection: Connection, budget: str) -> entries.BudgetState:
    """A budget's cap and its spending by account."""
    row = lifetime_cap.budget_row(connection, budget)
    shares = connection.execute(select(SHARES).where(SHARES.c.budget == budget).order_by("account"))
    accounts = tuple(entries.Account(share.account, *_amounts(share)) for share in shares)
    listed = connection.execute(select(CHARGES).where(CHARGES.c.budget == budget).order_by("position"))
    charges = tuple(dict(charge._mapping) for charge in listed)  # noqa: SLF001 - SQLAlchemy's public name
    return entries.BudgetState(budget, row.composition, *_amounts(row), accounts, charges)


def _amounts(row: Row[Any]) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    return (
        (row.cap_loss * LOSS_UNIT, row.cap_failure * FAILURE_UNIT),
        (row.spent_loss * LOSS_UNIT, row.spent_failure * FAILURE_UNIT),
    )


#: The steps of a charge; tests end the process at each.
STEPS = ("begun", "recorded", "budget charged", "share charged", "committed", "marked")


class Ledger:
    """The ledger of a workspace.

    Args:
        database: An open database.
        key: Of its hash chain.
        checkpoints: Those that it must extend.
        on_step: Called after each of `STEPS`; tests end the process there.
        chain: The cached state of its chain.
    """

    def __init__(
        self,
        database: LedgerDatabase,
        key: bytes,
        checkpoints: entries.Checkpoints | None = None,
        on_step: Callable[[str], None] = lambda _step: None,
        chain: hash_chain.ChainState | None = None,
    ) -> None:
        self.database, self._key, self._on_step = database, key, on_step
        self._checkpoints: entries.Checkpoints = checkpoints or entries.NoCheckpoints()
        self._chain = chain or hash_chain.ChainState()

    @classmethod
    def create(cls, place: Path | str, key: bytes, checkpoints: entries.Checkpoints | None = None) -> Ledger:
        """A new ledger in a file, or at the URL of an empty PostgreSQL database."""
        ledger = cls(create_database(place), key, checkpoints)
        ledger._check()
        return ledger

    @classmethod
    def open(
        cls,
        place: Path | str,
        key: bytes,
        checkpoints: entries.Checkpoints | None = None,
        on_step: Callable[[str], None] = lambda _step: None,
    ) -> Ledger:
        """Open an existing ledger, and check its sums, its chain, and that it extends all checkpoints.

        Raises:
            LedgerUnusable: It is missing, damaged, out of reach, older than a checkpoint, not of this key, or was changed.
        """
        ledger = cls(open_database(place, on_step), key, checkpoints, on_step)
        ledger._check()
        return ledger

    def with_checkpoints(self, checkpoints: entries.Checkpoints) -> Ledger:
        """The same ledger for a version with a separate checkpoint."""
        return Ledger(self.database, self._key, checkpoints, self._on_step, self._chain)

    @contextmanager
    def _writing(self) -> Iterator[hash_chain.Writer]:
        """A transaction on an unchanged ledger; the checkpoint is raised after the commit."""
        known = self._checkpoints.by_version()
        with self.database.transaction() as connection:
            writer = hash_chain.open_writer(connection, self._key)
            hash_chain.refuse_other_history(connection, [*known.items(), ("this program", self._chain.last)])
            self._chain.catch_up(connection, self._key)
            yield writer
        self._on_step("committed")
        own = self._checkpoints.current()
        if writer.relied_on > (own.position if own else 0):
            self._checkpoints.write(writer.last)
        self._on_step("marked")

    @contextmanager
    def _reading(self) -> Iterator[hash_chain.Reader]:
        """Reads of one snapshot; the checkpoint is raised if it does not cover them, and nothing else is written."""
        own, seen = self._checkpoints.current(), self._chain.last
        with self.database.snapshot() as connection:
            hash_chain.refuse_other_history(
                connection, [("this version", own or entries.START), ("this program", seen)]
            )
            reader = hash_chain.Reader(connection)
            yield reader
            covered = reader.relied_on <= (own.position if own else 0)
            newest = None if covered else hash_chain.newest_checkpoint(connection)
        if newest is not None:
            self._checkpoints.write(newest)

    def allow(self, budget: str, account: str, cap: tuple[Fraction, Fraction]) -> None:
        """Give an account a share of a budget, up to a cap; a later call changes the cap."""
        loss, failure = entries.cap_units(cap)
        with self._writing() as writer:
            self._chain.refuse_other_row(writer.connection, "share", budget, account)
            loss, failure = lifetime_cap.set_share(writer.connection, budget, account, loss, failure)
            writer.append("share", budget, account, loss, failure)

    def check_lineage(self, entry: entries.LineageEntry) -> None:
        """Refuse another method or budget of a lineage; nothing is written."""
        with self._reading() as reader:
            lifetime_cap.refuse_other_promise(reader.connection, entry)

    def enter_lineage(self, entry: entries.LineageEntry) -> None:
        """Record the method of a lineage without charges, or refuse another one."""
        with self._writing() as writer:
            _enter_lineage(writer, entry)

    def charge_version(
        self,
        charge: entries.Charge,
        dataset: str,
        version: str,
        fingerprint: str,
        budget: entries.Budget | None = None,
        *,
        lineage: str = "",
        spend: bool = True,
    ) -> entries.Receipt:
        """Charge the universe of a version, whose name belongs to these records from now on.

        Args:
            charge: The cost of the universe.
            dataset: The dataset's id.
            version: The version's name.
            fingerprint: Of the records.
            budget: Declared in the same transaction, so that a refused load leaves no cap behind.
            lineage: The dataset's lineage; its id by default.
            spend: False for a dry run: everything is validated, then rolled back.

        Raises:
            BadDescription: The version was loaded with other records, or the lineage in another budget.
            BudgetSpent: The budget's cap does not allow it.
        """
        records = entries.records_name(dataset, version, fingerprint)
        row = {"dataset": dataset, "version": version, "budget": charge.budget, "records": records}
        with self._writing() as writer:
            connection = writer.connection
            self._refuse_changed(connection, charge)
            if budget is not None:
                self._declare(writer, budget)
            _enter_lineage(writer, entries.LineageEntry(dataset, lineage or dataset, "dp", charge.budget))
            if lifetime_cap.insert_once(connection, VERSIONS, row):
                writer.append("version", *row.values())
            known = find_row(connection, VERSIONS, dataset, version)
            if known is None or known.records != records:
                raise BadDescription(
                    f'The version "{version}" of "{dataset}" was loaded with other records, categories or secret.',
                    "Give what has changed a new `version`; it is charged to the budget again.",
                )
            try:
                receipt = self._book(writer, charge)
            except BudgetSpent:
                raise lifetime_cap.no_budget_for_version(connection, charge) from None
            if not spend:
                connection.rollback()
                writer.relied_on = 0
        return receipt

    def charge(self, charge: entries.Charge) -> entries.Receipt:
        """Charge an answer, or find that it is paid; nothing may be computed before this returns.

        Raises:
            BudgetSpent: The budget's or the account's cap does not allow it; nothing is charged.
            BadKey: The account is revoked.
            LedgerUnusable: No answers.
        """
        with self._writing() as writer:
            self._refuse_changed(writer.connection, charge)
            return self._book(writer, charge)

    def charge_if_current(self, charge: entries.Charge, known: entries.KnownPaid) -> entries.Receipt | None:
        """Charge an answer like `charge`, unless other requests with the prefix of `known` were paid since: then None."""
        with self._writing() as writer:
            paid = _paid_with_prefix(writer.connection, charge.budget, known.prefix)
            if len(paid) > known.number:
                writer.relied_on = paid[-1].position
                return None
            self._refuse_changed(writer.connection, charge)
            return self._book(writer, charge)

    def file_mark(self) -> tuple[int, ...] | None:
        """A value that changes when another file replaces the ledger; None if unknown."""
        return self.database.mark()

    def check_checkpoints(self) -> None:
        """Refuse a ledger that does not extend all checkpoints; the first is named."""
        known = self._checkpoints.by_version()
        with self.database.snapshot() as connection:
            hash_chain.refuse_other_history(connection, known.items())

    def refuse_other_terms(self, budget: entries.Budget) -> None:
        """Refuse a ledger whose budget differs from the sealed terms of a version; only its cap may be lower."""
        with self._reading() as reader:
            lifetime_cap.refuse_other_terms(reader.connection, budget)

    def declare(self, budget: entries.Budget) -> None:
        """Set a budget's cap, or refuse to raise or change it."""
        with self._writing() as writer:
            self._declare(writer, budget)

    def _declare(self, writer: hash_chain.Writer, budget: entries.Budget) -> None:
        self._chain.refuse_other_row(writer.connection, "budget", budget.name)
        if lifetime_cap.declare_budget(writer.connection, budget):
            row = (budget.name, budget.composition, budget.neighbours, *entries.cap_units(budget.cap))
            writer.append("budget", *row)

    def _refuse_changed(self, connection: Connection, charge: entries.Charge) -> None:
        """Refuse to charge a budget or a share whose row differs from the chain."""
        self._chain.refuse_other_row(connection, "budget", charge.budget)
        if charge.account is not None:
            self._chain.refuse_other_row(connection, "share", charge.budget, charge.account)

    def _book(self, writer: hash_chain.Writer, charge: entries.Charge) -> entries.Receipt:
        """The charge within a transaction; a refusal rolls all of it back."""
        connection = writer.connection
        loss = entries.charge_units(charge.loss, LOSS_UNIT)
        failure = entries.charge_units(charge.failure, FAILURE_UNIT)
        self._on_step("begun")
        lifetime_cap.refuse_revoked(connection, charge.account)
        lifetime_cap.budget_row(connection, charge.budget)
        body = (charge.budget, charge.key, charge.account, loss, failure, entries.now())
        row = dict(zip(hash_chain.KINDS["charge"].columns, body, strict=True))
        beyond = {"what": charge.request, "position": writer.next_position}
        if not lifetime_cap.insert_once(connection, CHARGES, row | beyond):
            paid = connection.execute(select(CHARGES).where(by_key(CHARGES, charge.budget, charge.key))).one()
            writer.relied_on = max(writer.relied_on, paid.position or 0)
            left = lifetime_cap.amount_left(connection, charge)
            cost = (paid.loss * LOSS_UNIT, paid.failure * FAILURE_UNIT)
            return entries.Receipt(charge.key, *cost, repeat=True, left=left)
        self._on_step("recorded")
        if not lifetime_cap.charge_within_cap(connection, BUDGETS, (charge.budget,), loss, failure):
            raise lifetime_cap.no_budget_for_answer(f'The budget "{charge.budget}"')
        self._on_step("budget charged")
        if charge.account is not None:
            share = (charge.budget, charge.account)
            if not lifetime_cap.charge_within_cap(connection, SHARES, share, loss, failure):
                raise lifetime_cap.no_budget_for_answer(f'The share of the account "{charge.account}"')
        self._on_step("share charged")
        writer.append("charge", *body)
        left = lifetime_cap.amount_left(connection, charge)
        return entries.Receipt(charge.key, loss * LOSS_UNIT, failure * FAILURE_UNIT, repeat=False, left=left)

    def is_paid(self, budget: str, request: str) -> bool:
        """Whether a request was charged before; the checkpoint covers the charge when this returns."""
        with self._reading() as reader:
            row = find_row(reader.connection, CHARGES, budget, entries.request_key(request))
            reader.relied_on = 0 if row is None else row.position
        return row is not None

    def paid(self, budget: str, prefix: str) -> tuple[str, ...]:
        """All paid requests with a prefix, in the order of the hash chain; the checkpoint covers them when this returns."""
        with self._reading() as reader:
            found = _paid_with_prefix(reader.connection, budget, prefix)
            reader.relied_on = found[-1].position if found else 0
        return tuple(row.what for row in found)

    def state(self, budget: str) -> entries.BudgetState:
        """A budget's cap and its spending by account."""
        with self._reading() as reader:
            return budget_state(reader.connection, budget)

    def whole(self) -> WholeLedger:
        """The whole content of the ledger in one snapshot."""
        with self._reading() as reader:
            connection = reader.connection
            budgets = connection.execute(select(BUDGETS.c.budget, BUDGETS.c.neighbours).order_by("budget"))
            lineages = select(LINEAGES).order_by("dataset", "lineage")
            versions = select(VERSIONS.c.dataset, VERSIONS.c.version, VERSIONS.c.budget)
            first = connection.execute(select(CHAIN.c.body).where(CHAIN.c.position == 1)).scalar_one()
            return WholeLedger(
                tuple((budget_state(connection, name), neighbours) for name, neighbours in budgets.all()),
                tuple(tuple(row) for row in connection.execute(lineages)),
                tuple(tuple(row) for row in connection.execute(versions.order_by("dataset", "version"))),
                tuple(json.loads(first)),
                hash_chain.newest_checkpoint(connection) or entries.START,
            )

    def rekey(self, key: bytes) -> None:
        """Recompute the chain under another key, in one transaction; copies under the old key are refused from then on."""
        with self.database.transaction() as connection:
            before = hash_chain.open_writer(connection, self._key).last
            self._chain.catch_up(connection, self._key)
            writer = hash_chain.retag(connection, key)
            writer.append(hash_chain.REKEYED, entries.now(), before.tag)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def _check(self) -> None:
        """Check sums, chain and checkpoints; begin the chain if there is none."""
        known = self._checkpoints.by_version()
        with self.database.snapshot() as connection:
            begun = hash_chain.newest_checkpoint(connection)
            if begun is not None:
                self._chain = hash_chain.replay_chain(connection, self._key)
            hash_chain.refuse_other_history(connection, known.items())
        if begun is None:
            with self.database.transaction() as connection:
                hash_chain.refuse_other_sums(connection)
                hash_chain.begin_chain(hash_chain.open_writer(connection, self._key))
            self._check()


def _enter_lineage(writer: hash_chain.Writer, entry: entries.LineageEntry) -> None:
    """Insert a lineage, or refuse another method or budget; the lock of the chain lets no other load come between."""
    lifetime_cap.refuse_other_promise(writer.connection, entry)
    row = asdict(entry)
    if lifetime_cap.insert_once(writer.connection, LINEAGES, row):
        writer.append("lineage", *row.values())
    writer.relied_on = writer.last.position


def _paid_with_prefix(connection: Connection, budget: str, prefix: str) -> Sequence[Any]:
    """The paid requests with a prefix and their positions, in the order of the hash chain: clocks can be set back."""
    where = (CHARGES.c.budget == budget) & CHARGES.c.what.startswith(prefix, autoescape=True)
    return connection.execute(
        select(CHARGES.c.what, CHARGES.c.position).where(where).order_by("position")
    ).all()
