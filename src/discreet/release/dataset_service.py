"""A dataset service: everything an interface (web, API, command line) may do with one version of a dataset.

    service = registry.door("census", key)         for the account of a key, or without one
    service.answer(service.check(request))         a `Release`, or a refusal

No record can be reached through it. Methods other than those of a table import what they need when they are called, so a
table starts without SciPy.
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
from discreet.release.checked_request import CheckedRequest, ParsedRequest, check_request, parse_request
from discreet.release.notes import whole_note
from discreet.release.pipeline import make_release
from discreet.workspace.workspace import StoredDataset

if TYPE_CHECKING:
    from discreet.margins.margin_set import Axes, MarginSet
    from discreet.model.columns import Listing
    from discreet.release.dry_run import Attempt


#: How many alternatives to a refused table are looked for.
MOST_REPAIRS = 5


class DatasetService:
    """One version of a dataset, for one requester.

    Args:
        stored: The version.
        requester: The account that asks; None without one.
        admit: Called before each answer; it may raise, and then nothing is charged or counted.
    """

    __slots__ = ("_admit", "_requester", "_stored")

    def __init__(
        self,
        stored: StoredDataset,
        requester: Requester | None = None,
        admit: Callable[[CheckedRequest], None] = lambda _checked: None,
    ) -> None:
        self._stored = stored
        self._requester = requester
        self._admit = admit

    @property
    def dataset(self) -> Dataset:
        """The public description."""
        return self._stored.dataset

    @property
    def digest(self) -> str:
        """The version."""
        return self._stored.digest

    @property
    def edition(self) -> str:
        """Version and labels: everything that a reader sees follows from it."""
        return f"{self.digest} {self.dataset.wording}".rstrip()

    @property
    def account(self) -> str | None:
        """The account that asks; None without one."""
        return None if self._requester is None else self._requester.account

    def require(self, role: str) -> None:
        """Refuse an account that has not the role; local use without an account may do everything."""
        if self._requester is not None:
            self._requester.require(role)

    def promise(self) -> tuple[str, ...]:
        """What the protection does and does not guarantee."""
        stored = self._stored
        return stored.protector.promise(stored.dataset, "", COUNT.subject)

    def note(self, additivity: str = "") -> str:
        """The note that every reader must see."""
        return whole_note(self.dataset, self._stored.protector.tables, additivity)

    def noise_text(self) -> str:
        """The noise as our JSON: the noise table, or under `dp` the plan with all its tables."""
        from discreet.release.methodology_document import noise_text

        return noise_text(self._stored)

    def check(self, request: TableRequest) -> CheckedRequest:
        """Check a request before a record is read.

        Raises:
            BadRequest, UnknownVariable, UnknownCategory: The request cannot be parsed.
            Refused: A rule does not allow it; the message says which and what to do.
        """
        return check_request(self._stored, request, self._requester)

    def answer(self, asked: CheckedRequest) -> Release:
        """Admit, charge, count, protect and release."""
        self._admit(asked)
        return make_release(asked)

    def check_nonzero(self, request: TableRequest, most_cells: int | None = None) -> CheckedRequest:
        """Check a request for the list of its non-zero cells; the table may be too large to lay out.

        Args:
            request: The table.
            most_cells: The maximum number of cells of the table; by default as many as can be numbered.

        Raises:
            BadRequest: Its cells cannot be listed, and why.
            Refused: A rule does not allow it.
        """
        from discreet.release.nonzero_listing import check_nonzero

        return check_nonzero(self._stored, request, self._requester, most_cells)

    def nonzero(self, asked: CheckedRequest) -> Listing:
        """The non-zero cells of a request that `check_nonzero` returned."""
        from discreet.release.nonzero_listing import list_nonzero

        return list_nonzero(asked)

    def release(self, request: TableRequest) -> Release:
        """Answer a request, or refuse it."""
        return self.answer(self.check(request))

    def dry_run(self, request: TableRequest) -> dict[str, Any]:
        """The size of a table and the verdict of the rules, without its numbers."""
        from discreet.release.dry_run import dry_run

        return dry_run(self._stored, request, self._requester)

    def refuse_unreleased(self, request: TableRequest) -> None:
        """Refuse a table that `answer` would refuse, without its numbers; nothing unpaid is read.

        Raises:
            Refused: As `answer` would.
        """
        from discreet.release.dry_run import try_request

        refusal = try_request(self._stored, request, self._requester).refusal
        if refusal is not None:
            raise refusal

    def foresee(self, request: TableRequest) -> Attempt:
        """The outcome of a request as far as it is known without counting a record.

        Raises:
            BadRequest, UnknownVariable, UnknownCategory: The request cannot be parsed.
        """
        from discreet.release.dry_run import try_request

        requester = None if self._requester is None else replace(self._requester, takes=False)
        return try_request(self._stored, request, requester, counting=False)

    def repairs(
        self, request: TableRequest, *, counting: bool, most: int = MOST_REPAIRS
    ) -> list[TableRequest]:
        """Allowed tables near a refused one, the nearest first.

        Args:
            request: The refused table.
            counting: Whether records may be counted for the rules on counts; otherwise only rules on shape are certain.
            most: How many are looked for.
        """
        from discreet.release.dry_run import repairs

        return list(islice(repairs(self._stored, request, counting=counting), most))

    def offer(self, request: TableRequest) -> TableRequest | None:
        """The table for a reader's choice: the same, or one in its place; None if there is none."""
        return request

    def start(self, request: TableRequest) -> TableRequest:
        """The table that is shown first: this one, if it is offered."""
        return self.offer(request) or request

    def read(self, request: TableRequest) -> ParsedRequest:
        """Parse a request without a check whether it is allowed."""
        return parse_request(self.dataset, request)

    def budget(self) -> dict[str, Any]:
        """What a dataset under `dp` promises and costs, and what its budget has left."""
        from discreet.release.budget_document import budget_of

        return budget_of(self._stored)

    def budget_left(self) -> str | None:
        """The remainder of the budget, in a sentence; None without a budget."""
        from discreet.release.budget_document import budget_left

        return budget_left(self._stored)

    def ledger(self) -> dict[str, Any]:
        """What the budget has spent, by account; for custodians."""
        from discreet.release.budget_document import ledger_of

        return ledger_of(self._stored)

    def open_share(self, account: str, cap: tuple[Fraction, Fraction]) -> None:
        """Give an account a share of the budget, up to a cap; for custodians."""
        from discreet.release.budget_document import open_share

        open_share(self._stored, account, cap)

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
        """Many margins released together; without `spend` only their cost and expected errors."""
        from discreet.release.joint_margins import JointMargins

        wish = JointMargins.of(self._stored, wanted, method, epsilon, delta, weights)
        if not spend:
            return wish.advice_document()
        self.require("analyst")
        return wish.release(self.account).document()

    def __repr__(self) -> str:
        return f"<DatasetService of {self.dataset.id} {self.digest[:8]}>"


def unlock_service(service: DatasetService) -> StoredDataset:
    """The version behind a service: for `assess` alone, which shows a custodian risk and utility."""
    return service._stored  # noqa: SLF001 - this is the lock
