"""Values of a ledger: charges, budgets, receipts, checkpoints, and the integers in which amounts are booked.

    loss in units of 1e-12, failure in units of 1e-18; charges are rounded up, caps down
    checkpoint = (position, tag): the last entry of the chain that was written before an answer left

A ledger may be ahead of a checkpoint, and must extend it: an older copy lacks the entry, and one that was restored and
charged again has another entry at its position. Checkpoints are stored outside the ledger (by `workspace`).
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import NamedTuple, Protocol

from discreet.errors import BadDescription, BadRequest
from discreet.model.privacy_budget import FAILURE_UNIT, LOSS_UNIT, round_up_to_units

LARGEST = 2**62
#: The names of loss and failure under each composition.
AMOUNTS = {"basic": ("epsilon", "delta"), "zcdp": ("rho", "distance")}


def now() -> str:
    """The time as written in entries and charges."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


@dataclass(frozen=True, slots=True)
class Charge:
    """The cost of one answer.

    Args:
        budget: The name of the budget that pays.
        request: Everything that decides the answer, in canonical form (`canonical_request`).
        loss: Epsilon, or rho under zCDP.
        failure: Delta, or the shipped tables' distance under zCDP.
        account: The account whose share pays; None for the custodian's universe.
    """

    budget: str
    request: str
    loss: Fraction
    failure: Fraction
    account: str | None = None

    @property
    def key(self) -> str:
        """The primary key of the request."""
        return request_key(self.request)

    @property
    def booked(self) -> tuple[Fraction, Fraction]:
        """Loss and failure rounded up to the ledger's units."""
        return round_up_to_units(self.loss, self.failure)


class KnownPaid(NamedTuple):
    """How many paid requests with a prefix were known when a request was checked."""

    prefix: str
    number: int


NOTHING_PAID = KnownPaid("", 0)


@dataclass(frozen=True, slots=True)
class Budget:
    """The declared lifetime cap (loss and failure) that datasets about the same people share.

    Losses add up by the composition: `basic` (epsilon, delta) or `zcdp` (rho, distance). Losses for different neighbouring
    relations cannot be added.
    """

    name: str
    cap: tuple[Fraction, Fraction]
    composition: str = "basic"
    neighbours: str = "add-remove"


@dataclass(frozen=True, slots=True)
class LineageEntry:
    """The permanent method of a lineage, `cellkey` or `dp`, and under `dp` the name of its budget."""

    dataset: str
    lineage: str
    method: str
    budget: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that an answer is paid, with its cost when it was charged.

    Args:
        request: The primary key of the request.
        loss: Of the charge.
        failure: Of the charge.
        repeat: It was paid before, and cost nothing now.
        left: The rest of the account's share, or of the budget if no account pays.
    """

    request: str
    loss: Fraction
    failure: Fraction
    repeat: bool
    left: tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Account:
    """The cap and spending of one account for a budget."""

    account: str
    cap: tuple[Fraction, Fraction]
    spent: tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class BudgetState:
    """The cap of a budget and its spending, in total and by account."""

    name: str
    composition: str
    cap: tuple[Fraction, Fraction]
    spent: tuple[Fraction, Fraction]
    accounts: tuple[Account, ...]
    charges: tuple[dict[str, object], ...]

    @property
    def left(self) -> tuple[Fraction, Fraction]:
        """What may still be spent."""
        return self.cap[0] - self.spent[0], self.cap[1] - self.spent[1]


def canonical_request(*parts: object) -> str:
    """Everything that decides an answer as one text: dataset, version, fingerprint, mechanism, request.

    >>> canonical_request("town", ("age", "sex"), 1.0)
    '["town",["age","sex"],1.0]'
    """
    return json.dumps(parts, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def request_key(request: str) -> str:
    """The primary key of a canonical request."""
    return hashlib.sha256(request.encode()).hexdigest()


def records_name(dataset: str, version: str, fingerprint: str) -> str:
    """A name for the records of one version that is never equal across versions."""
    return request_key(canonical_request("records", dataset, version, fingerprint))


def charge_units(value: Fraction, unit: Fraction) -> int:
    """A charge in integer units, rounded up."""
    units = -(-value // unit)
    if not 0 <= units <= LARGEST:
        raise BadRequest(
            f"A charge of {float(value):g} cannot be booked.", "It must be 0 or more, and finite."
        )
    return int(units)


def cap_units(cap: tuple[Fraction, Fraction]) -> tuple[int, int]:
    """A cap in integer units, rounded down."""
    loss, failure = int(cap[0] // LOSS_UNIT), int(cap[1] // FAILURE_UNIT)
    if not (0 <= loss <= LARGEST and 0 <= failure <= 10**18):
        raise BadDescription(
            f"A cap of {float(cap[0]):g} and {float(cap[1]):g} cannot be booked.",
            "Give a loss of 0 or more, and a failure from 0 to 1.",
        )
    return loss, failure


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """An entry of a chain: its position from 1, and its tag."""

    position: int
    tag: str


#: Before the first entry.
START = Checkpoint(0, "")


class Checkpoints(Protocol):
    """The store of checkpoints: those of all versions by name, and that of the version in the query."""

    def by_version(self) -> Mapping[str, Checkpoint]: ...

    def current(self) -> Checkpoint | None: ...

    def write(self, mark: Checkpoint) -> None:
        """Raise the version's checkpoint, durably; it never goes down."""


class NoCheckpoints:
    """For a ledger that nothing is answered from."""

    def by_version(self) -> Mapping[str, Checkpoint]:
        return {}

    def current(self) -> Checkpoint | None:
        return None

    def write(self, mark: Checkpoint) -> None:
        pass
