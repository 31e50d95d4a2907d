"""The ledger: what a family of datasets has spent, charged before anything is released.

    1  the canonical request becomes a row; if it is there already, it was paid for and is free
    2  UPDATE families SET spent = spent + charge WHERE spent + charge <= cap      (no row changed: refused)
    3  the same for the account's own share
    4  COMMIT; only then may the answer be computed

All four are one transaction, so a crash leaves either a charge or nothing, never an uncharged release. Sums are whole
numbers: charges are rounded up, caps down. What is added up is (epsilon, delta) by basic composition or rho and
distance by the zCDP filter, as the family's rule says; both remain valid when questions follow earlier answers.

Comes from: `pipeline` and the faces. Goes to: receipts; `budget_report`.
Source: docs/methods/dp.md, Theorem 2 (basic filter) and section 3 (zCDP filter); Rogers et al. (2016).
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from discreet.accounting.ledger_database import (
    ACCOUNTS,
    CHARGES,
    FAMILIES,
    SHARES,
    VERSIONS,
    LedgerDatabase,
    create_database,
    open_database,
)
from discreet.errors import BadDescription, BadKey, BadRequest, BudgetSpent, LedgerUnusable
from discreet.model.terms import RULES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection, Table

LOSS_UNIT = Fraction(1, 10**12)
FAILURE_UNIT = Fraction(1, 10**18)
LARGEST = 2**62
#: The steps of a charge, at which tests end the process.
STEPS = ("begun", "recorded", "family charged", "share charged", "committed")


@dataclass(frozen=True, slots=True)
class Charge:
    """What one answer costs.

    Args:
        family: The family of datasets.
        request: Everything that decides the answer, in canonical form (`canonical_request`).
        loss: Epsilon, or rho under the zCDP rule.
        failure: Delta, or the shipped tables' distance under the zCDP rule.
        account: Who pays from a share of their own; None for the custodian's universe.
    """

    family: str
    request: str
    loss: Fraction
    failure: Fraction
    account: str | None = None

    @property
    def key(self) -> str:
        """The primary key of the request."""
        return hashlib.sha256(self.request.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Family:
    """A family of datasets that share persons, as it is declared.

    Args:
        name: What it is called.
        cap: Its lifetime cap: loss and failure.
        rule: `basic` (epsilon, delta) or `zcdp` (rho, distance).
        neighbours: Whom all charges speak of: a loss for one relation cannot be added to one for another.
    """

    name: str
    cap: tuple[Fraction, Fraction]
    rule: str = "basic"
    neighbours: str = "add-remove"


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that an answer is paid for; `repeat` says that it was paid before, and cost nothing now."""

    request: str
    loss: Fraction
    failure: Fraction
    repeat: bool


@dataclass(frozen=True, slots=True)
class Account:
    """What one account may spend and has spent of a family."""

    account: str
    cap: tuple[Fraction, Fraction]
    spent: tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class FamilyState:
    """A family's cap and what is spent of it, in all and by whom."""

    family: str
    rule: str
    cap: tuple[Fraction, Fraction]
    spent: tuple[Fraction, Fraction]
    accounts: tuple[Account, ...]
    charges: tuple[dict[str, object], ...]

    @property
    def left(self) -> tuple[Fraction, Fraction]:
        """What may still be spent."""
        return self.cap[0] - self.spent[0], self.cap[1] - self.spent[1]


def canonical_request(*parts: object) -> str:
    """Everything that decides an answer as one text: dataset, version, fingerprint, mechanism, question.

    >>> canonical_request("town", ("age", "sex"), 1.0)
    '["town",["age","sex"],1.0]'
    """
    return json.dumps(parts, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def records_name(dataset: str, version: str, fingerprint: str) -> str:
    """A name for the records of one version that tells nothing about another: never equal across versions."""
    return hashlib.sha256(canonical_request("records", dataset, version, fingerprint).encode()).hexdigest()


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
        ledger = cls(open_database(place), on_step)
        ledger._check()
        return ledger

    def declare_family(
        self,
        family: str,
        cap: tuple[Fraction, Fraction],
        rule: str = "basic",
        neighbours: str = "add-remove",
    ) -> None:
        """Set the lifetime cap of a family; it may be lowered later, never raised.

        Args:
            family: The datasets that share persons.
            cap: Loss and failure.
            rule: `basic` (epsilon, delta) or `zcdp` (rho, distance).
            neighbours: Whom all charges speak of: a loss for one relation cannot be added to one for another.
        """
        with self.database.transaction() as connection:
            _declare(connection, Family(family, cap, rule, neighbours))

    def allow(self, family: str, account: str, cap: tuple[Fraction, Fraction]) -> None:
        """Open the ledger of a family to an account, up to a cap of its own; a later call sets another cap."""
        loss, failure = _down(cap)
        with self.database.transaction() as connection:
            where = (SHARES.c.family == family) & (SHARES.c.account == account)
            known = connection.execute(select(SHARES).where(where)).one_or_none()
            if known is None:
                row = {"family": family, "account": account, "cap_loss": loss, "cap_failure": failure}
                connection.execute(insert(SHARES).values(spent_loss=0, spent_failure=0, **row))
                return
            lowest = (max(loss, known.spent_loss), max(failure, known.spent_failure))
            connection.execute(update(SHARES).where(where).values(cap_loss=lowest[0], cap_failure=lowest[1]))

    def publish(
        self, charge: Charge, dataset: str, version: str, fingerprint: str, family: Family | None = None
    ) -> Receipt:
        """Charge the universe of a version, whose name belongs to these records from now on.

        Args:
            charge: What the universe costs.
            dataset: The dataset's id.
            version: The version's name.
            fingerprint: Of the records.
            family: Declared in the same transaction: a publication that is refused leaves no cap behind.

        Raises:
            BadDescription: The version was published with other records, or the dataset in another family.
            BudgetSpent: The family's cap does not allow it.
        """
        records = records_name(dataset, version, fingerprint)
        row = {"dataset": dataset, "version": version, "family": charge.family, "records": records}
        with self.database.transaction() as connection:
            if family is not None:
                _declare(connection, family)
            _refuse_other_family(connection, dataset, charge.family)
            where = (VERSIONS.c.dataset == dataset) & (VERSIONS.c.version == version)
            dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
            connection.execute(dialect.insert(VERSIONS).values(**row).on_conflict_do_nothing())
            known = connection.execute(select(VERSIONS.c.records).where(where)).scalar_one()
            if known != records:
                raise BadDescription(
                    f'The version "{version}" of "{dataset}" was published with other records or categories.',
                    "Give what has changed a new `version`; it is charged to the family as a new release.",
                )
            try:
                receipt = self._charged(connection, charge)
            except BudgetSpent:
                raise _uncovered(connection, charge) from None
        self._on_step("committed")
        return receipt

    def charge(self, charge: Charge) -> Receipt:
        """Charge an answer, or find that it is paid for; nothing may be computed before this returns.

        Raises:
            BudgetSpent: The family's or the account's cap does not allow it; nothing is charged.
            BadKey: The account is revoked.
            LedgerUnusable: No answers.
        """
        with self.database.transaction() as connection:
            receipt = self._charged(connection, charge)
        self._on_step("committed")
        return receipt

    def _charged(self, connection: Connection, charge: Charge) -> Receipt:
        """The charge within a transaction; a refusal undoes all of it."""
        loss, failure = _up(charge.loss, LOSS_UNIT), _up(charge.failure, FAILURE_UNIT)
        self._on_step("begun")
        _refuse_revoked(connection, charge.account)
        if not _record(connection, charge, loss, failure):
            return _earlier(connection, charge)
        self._on_step("recorded")
        if not _add(connection, FAMILIES, FAMILIES.c.family == charge.family, loss, failure):
            raise _spent(f'the family "{charge.family}"')
        self._on_step("family charged")
        if charge.account is not None:
            share = (SHARES.c.family == charge.family) & (SHARES.c.account == charge.account)
            if not _add(connection, SHARES, share, loss, failure):
                raise _spent(f'the account "{charge.account}"')
        self._on_step("share charged")
        return Receipt(charge.key, loss * LOSS_UNIT, failure * FAILURE_UNIT, repeat=False)

    def is_paid(self, family: str, request: str) -> bool:
        """Whether an answer was charged before."""
        key = hashlib.sha256(request.encode()).hexdigest()
        with self.database.transaction() as connection:
            where = (CHARGES.c.family == family) & (CHARGES.c.request == key)
            return connection.execute(select(CHARGES.c.request).where(where)).first() is not None

    def state(self, family: str) -> FamilyState:
        """A family's cap, what is spent and by whom."""
        with self.database.snapshot() as connection:
            row = connection.execute(select(FAMILIES).where(FAMILIES.c.family == family)).one_or_none()
            if row is None:
                raise BadRequest(f'The ledger knows no family "{family}".', "Publish a dataset of it first.")
            shares = connection.execute(select(SHARES).where(SHARES.c.family == family).order_by("account"))
            accounts = tuple(
                Account(
                    share.account,
                    (share.cap_loss * LOSS_UNIT, share.cap_failure * FAILURE_UNIT),
                    (share.spent_loss * LOSS_UNIT, share.spent_failure * FAILURE_UNIT),
                )
                for share in shares
            )
            listed = connection.execute(
                select(CHARGES).where(CHARGES.c.family == family).order_by("at", "request")
            )
            charges = tuple(dict(charge._mapping) for charge in listed)  # noqa: SLF001 - SQLAlchemy's public name
        return FamilyState(
            family,
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
        """What is spent must be the sum of the charges, for every family and every account."""
        with self.database.snapshot() as connection:
            for table, keys in ((FAMILIES, ["family"]), (SHARES, ["family", "account"])):
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


def _declare(connection: Connection, family: Family) -> None:
    """Set a family's cap within a transaction, or refuse to raise or change it."""
    if family.rule not in RULES:
        raise BadDescription(f'The ledger has no rule "{family.rule}".', f"Use {' or '.join(RULES)}.")
    loss, failure = _down(family.cap)
    known = connection.execute(select(FAMILIES).where(FAMILIES.c.family == family.name)).one_or_none()
    if known is None:
        row = {"family": family.name, "rule": family.rule, "neighbours": family.neighbours}
        caps = {"cap_loss": loss, "cap_failure": failure}
        connection.execute(insert(FAMILIES).values(spent_loss=0, spent_failure=0, **row, **caps))
        return
    if known.neighbours != family.neighbours:
        raise BadDescription(
            f'What the family "{family.name}" has spent was counted for {known.neighbours} neighbours, '
            f"and this is for {family.neighbours}.",
            f'Write neighbours = "{known.neighbours}": one cap cannot bound both.',
        )
    if known.rule != family.rule or loss > known.cap_loss or failure > known.cap_failure:
        raise BadDescription(
            f'The family "{family.name}" has a lifetime cap of {float(known.cap_loss * LOSS_UNIT):g} '
            f"(rule {known.rule}), which cannot be raised or changed.",
            "Keep the cap that was promised.",
        )
    if loss < known.spent_loss or failure < known.spent_failure:
        raise BadDescription(
            "The new cap is below what is spent already.", "Lower it to what is spent at most."
        )
    where = FAMILIES.c.family == family.name
    connection.execute(update(FAMILIES).where(where).values(cap_loss=loss, cap_failure=failure))


def _record(connection: Connection, charge: Charge, loss: int, failure: int) -> bool:
    """Write the request's row; False where it is there already. A second writer waits for the first."""
    row = {
        "family": charge.family,
        "request": charge.key,
        "account": charge.account,
        "loss": loss,
        "failure": failure,
        "what": charge.request,
        "at": datetime.now(UTC).isoformat(timespec="microseconds"),
    }
    if (
        connection.execute(select(FAMILIES.c.family).where(FAMILIES.c.family == charge.family)).first()
        is None
    ):
        raise BadRequest(f'The ledger knows no family "{charge.family}".', "Publish a dataset of it first.")
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    # RETURNING and not a row count: drivers do not agree on the count of an insert that met a conflict.
    statement = dialect.insert(CHARGES).values(**row).on_conflict_do_nothing().returning(CHARGES.c.request)
    return connection.execute(statement).first() is not None


def _add(connection: Connection, table: Table, where: object, loss: int, failure: int) -> bool:
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


def _earlier(connection: Connection, charge: Charge) -> Receipt:
    where = (CHARGES.c.family == charge.family) & (CHARGES.c.request == charge.key)
    row = connection.execute(select(CHARGES).where(where)).one()
    return Receipt(charge.key, row.loss * LOSS_UNIT, row.failure * FAILURE_UNIT, repeat=True)


def _refuse_other_family(connection: Connection, dataset: str, family: str) -> None:
    """The same persons under two caps would be promised less than is spent on them."""
    where = (VERSIONS.c.dataset == dataset) & (VERSIONS.c.family != family)
    other = connection.execute(select(VERSIONS.c.family).where(where)).scalars().first()
    if other is not None:
        raise BadDescription(
            f'"{dataset}" was published in the family "{other}", and this is "{family}".',
            "Keep the family: its lifetime cap is promised to the persons of this dataset.",
        )


def _refuse_revoked(connection: Connection, account: str | None) -> None:
    if account is None:
        return
    where = (ACCOUNTS.c.account == account) & ACCOUNTS.c.revoked.is_not(None)
    if connection.execute(select(ACCOUNTS.c.account).where(where)).first() is not None:
        raise BadKey(f'The account "{account}" is revoked.', "Ask the custodian for another.")


def _spent(whose: str) -> BudgetSpent:
    return BudgetSpent(
        f"The privacy budget of {whose} does not cover this answer; nothing was charged.",
        "Ask for a coarser table, for one that was answered before, or ask the custodian.",
    )


def _uncovered(connection: Connection, charge: Charge) -> BudgetSpent:
    """Why a version cannot be published: for the custodian, who cannot ask for a coarser table."""
    row = connection.execute(select(FAMILIES).where(FAMILIES.c.family == charge.family)).one()
    loss, failure = _up(charge.loss, LOSS_UNIT), _up(charge.failure, FAILURE_UNIT)
    # The charge was added to nothing: the row is what it was before.
    left = [(row.cap_loss - row.spent_loss) * LOSS_UNIT, (row.cap_failure - row.spent_failure) * FAILURE_UNIT]
    names = ("epsilon", "delta") if row.rule == "basic" else ("rho", "distance")
    costs = (loss * LOSS_UNIT, failure * FAILURE_UNIT)
    said = [
        ", ".join(f"{n} {float(v):.4g}" for n, v in zip(names, pair, strict=True)) for pair in (costs, left)
    ]
    return BudgetSpent(
        f'The lifetime cap of the family "{charge.family}" does not cover this version: it costs {said[0]}, and '
        f"{said[1]} is left. Nothing was charged.",
        "Lower `epsilon` or `delta` in [protection.budget]; the cap was promised and cannot be raised.",
    )


def _up(value: Fraction, unit: Fraction) -> int:
    """A charge in whole units, rounded up."""
    units = -(-value // unit)
    if not 0 <= units <= LARGEST:
        raise BadRequest(
            f"A charge of {float(value):g} cannot be booked.", "It must be 0 or more, and finite."
        )
    return int(units)


def _down(cap: tuple[Fraction, Fraction]) -> tuple[int, int]:
    """A cap in whole units, rounded down."""
    loss, failure = int(cap[0] // LOSS_UNIT), int(cap[1] // FAILURE_UNIT)
    if not (0 <= loss <= LARGEST and 0 <= failure <= 10**18):
        raise BadDescription(
            f"A cap of {float(cap[0]):g} and {float(cap[1]):g} cannot be booked.",
            "Give a loss of 0 or more, and a failure from 0 to 1.",
        )
    return loss, failure
