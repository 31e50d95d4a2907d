"""The door: all that a face may hold of a dataset. It answers; nothing reaches a record through it.

    door = doors.door("census", key)    whoever asks, with a key or without (`doors`)
    door.answer(door.check(request))    a `Release`, or a refusal

A method other than a table's imports what it needs when it is called: a table starts without SciPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any

from discreet.ledger.requester import Requester
from discreet.model.dataset import Dataset
from discreet.model.measure import COUNT
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.release import checked_request as question
from discreet.release import pipeline
from discreet.release.checked_request import CheckedRequest
from discreet.release.notes import whole_note
from discreet.workspace.workspace import StoredDataset

if TYPE_CHECKING:
    from discreet.margins.margin_set import Axes, MarginSet
    from discreet.model.columns import Listing
    from discreet.release.dry_run import Attempt


#: So many tables are looked for in place of one that is refused.
MOST_REPAIRS = 5


def _admit(_question: CheckedRequest) -> None:
    """Let every question through."""


class DatasetService:
    """One version of a dataset, for somebody who asks."""

    __slots__ = ("_admit", "_asker", "_stored")

    def __init__(
        self,
        stored: StoredDataset,
        asker: Requester | None = None,
        admit: Callable[[CheckedRequest], None] = _admit,
    ) -> None:
        self._stored = stored
        self._asker = asker
        self._admit = admit

    @property
    def dataset(self) -> Dataset:
        """The public description."""
        return self._stored.dataset

    @property
    def digest(self) -> str:
        """Which version answers."""
        return self._stored.digest

    @property
    def edition(self) -> str:
        """Which version answers, and in which words: what a reader sees follows from it."""
        return f"{self.digest} {self.dataset.wording}".rstrip()

    @property
    def account(self) -> str | None:
        """Who asks; None for anybody."""
        return None if self._asker is None else self._asker.account

    def require(self, role: str) -> None:
        """Refuse who asks, unless the account has a role; nobody has none."""
        if self._asker is not None:
            self._asker.require(role)

    def promise(self) -> tuple[str, ...]:
        """What the protection does and does not promise."""
        stored = self._stored
        return stored.protector.promise(stored.dataset, "", COUNT.subject)

    def note(self, additivity: str = "") -> str:
        """What every reader must be told."""
        return whole_note(self.dataset, self._stored.protector.tables, additivity)

    def noise_text(self) -> str:
        """The noise that is looked up, as our JSON: the noise table, or under `dp` the plan with all its tables."""
        from discreet.release.methodology_document import noise_text

        return noise_text(self._stored)

    def check(self, request: TableRequest) -> CheckedRequest:
        """Check a request, before a record is read.

        Raises:
            BadRequest, UnknownVariable, UnknownCategory: The request cannot be read.
            Refused: A rule does not allow it; the message says which and what to do.
        """
        return question.check_request(self._stored, request, self._asker)

    def answer(self, asked: CheckedRequest) -> Release:
        """Charge, count, protect and release; whoever admits questions may refuse it before."""
        self._admit(asked)
        return pipeline.make_release(asked)

    def check_nonzero(self, request: TableRequest, most_cells: int | None = None) -> CheckedRequest:
        """Check a request of which only the cells that are not 0 are listed; the table may be too large to lay out.

        Args:
            request: What is asked.
            most_cells: How many cells the table may have; as many as can be numbered by default.

        Raises:
            BadRequest: Its cells cannot be listed, and why.
            Refused: A rule does not allow it.
        """
        from discreet.release import nonzero_listing as nonzero

        return nonzero.check_nonzero(self._stored, request, self._asker, most_cells)

    def nonzero(self, asked: CheckedRequest) -> Listing:
        """The cells that are not 0 of a question that `check_nonzero` gave."""
        from discreet.release import nonzero_listing as nonzero

        return nonzero.list_nonzero(asked)

    def release(self, request: TableRequest) -> Release:
        """Answer a request, or refuse it."""
        return self.answer(self.check(request))

    def dry_run(self, request: TableRequest) -> dict[str, Any]:
        """How large a table is and what the rules say of it, without its numbers."""
        from discreet.release import dry_run

        return dry_run.dry_run(self._stored, request, self._asker)

    def refuse_unreleased(self, request: TableRequest) -> None:
        """Refuse a table that `answer` would refuse, without its numbers; nothing unpaid is read.

        Raises:
            Refused: As `answer` would.
        """
        from discreet.release import dry_run

        refusal = dry_run.try_request(self._stored, request, self._asker).refusal
        if refusal is not None:
            raise refusal

    def foresee(self, request: TableRequest) -> Attempt:
        """What would become of a request, as far as it is known without counting a record.

        Raises:
            BadRequest, UnknownVariable, UnknownCategory: The request cannot be read.
        """
        from discreet.release import dry_run

        asker = None if self._asker is None else replace(self._asker, takes=False)
        return dry_run.try_request(self._stored, request, asker, counting=False)

    def repairs(
        self, request: TableRequest, *, counting: bool, most: int = MOST_REPAIRS
    ) -> list[TableRequest]:
        """The tables nearby that are allowed, the nearest first.

        Args:
            request: What was refused.
            counting: Whether records may be counted for the rules on counts; without, only rules of shape are sure.
            most: How many are looked for.
        """
        from discreet.release import dry_run

        return list(islice(dry_run.repairs(self._stored, request, counting=counting), most))

    def offer(self, request: TableRequest) -> TableRequest | None:
        """The table that a reader's choice leads to: its own, or one that is offered in its place; None: nowhere."""
        return request

    def start(self, request: TableRequest) -> TableRequest:
        """The table that is shown where nobody has chosen one: this one, if it is offered."""
        return self.offer(request) or request

    def read(self, request: TableRequest) -> question.ParsedRequest:
        """Understand a request without asking whether it is allowed."""
        return question.parse_request(self.dataset, request)

    def budget(self) -> dict[str, Any]:
        """What a dataset under `dp` promises and costs, and what its budget has left."""
        from discreet.release import budget_document as budgets

        return budgets.budget_of(self._stored)

    def budget_left(self) -> str | None:
        """What is left of the budget, in a sentence; None for a dataset without one."""
        from discreet.release import budget_document as budgets

        return budgets.budget_left(self._stored)

    def ledger(self) -> dict[str, Any]:
        """What the budget has spent, and by whom; for custodians."""
        from discreet.release import budget_document as budgets

        return budgets.ledger_of(self._stored)

    def open_share(self, account: str, cap: tuple[Fraction, Fraction]) -> None:
        """Open the ledger to an account, up to a cap of its own; for custodians."""
        from discreet.release import budget_document as budgets

        budgets.open_share(self._stored, account, cap)

    def margins(
        self,
        wanted: MarginSet,
        method: str,
        epsilon: Fraction | float | str,
        delta: Fraction | float | str = 0,
        weights: str | Mapping[Axes, float] = "cells",
        *,
        spend: bool = True,
    ) -> dict[str, Any]:
        """Many margins released together; without `spend` only what they would cost."""
        from discreet.release.joint_margins import JointMargins

        wish = JointMargins.of(self._stored, wanted, method, epsilon, delta, weights)
        if not spend:
            return wish.advice_document()
        self.require("analyst")
        return wish.release(self.account).document()

    def __repr__(self) -> str:
        return f"<Door of {self.dataset.id} {self.digest[:8]}>"


def unlock_service(door: DatasetService) -> StoredDataset:
    """What stands behind a door: for `assess`, which shows a custodian risk and utility, alone."""
    return door._stored  # noqa: SLF001 - this is the lock
