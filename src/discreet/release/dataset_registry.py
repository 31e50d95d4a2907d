"""The dataset registry: which datasets a workspace has, who may query which, and the service of each.

    registry = open_registry(folder)
    service = registry.open("census", key)         for the account of a key, or without one
    service.answer(service.check(request))         a `Release`, or a refusal

A `DatasetService` is all that an interface (web, API, command line) may do with one version of a dataset: no record can be
reached through it. An `Authoriser` validates keys and decides which datasets accept queries; a server has its own. Methods
other than those of a table import what they need when they are called, so a table starts without SciPy.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.ledger.requester import Requester
from discreet.model.dataset import Dataset
from discreet.model.release import Release
from discreet.model.request import COUNT, TableRequest
from discreet.release.checked_request import CheckedRequest, ParsedRequest, check_request, parse_request
from discreet.release.notes import whole_note
from discreet.release.pipeline import make_release
from discreet.workspace.folder_layout import log_key
from discreet.workspace.versions.history import VersionFacts
from discreet.workspace.versions.public_parts import PublicParts
from discreet.workspace.workspace import StoredDataset, Workspace, dataset_not_found

if TYPE_CHECKING:
    from discreet.ledger.requester import Register
    from discreet.margins.margin_set import Axes, MarginSet
    from discreet.model.columns import Listing
    from discreet.release.dry_run import Attempt

#: How many alternatives to a refused table are looked for.
MOST_REPAIRS = 5


@dataclass(slots=True, eq=False, repr=False)
class DatasetService:
    """One version of a dataset, for one requester, who may have no account.

    `admit` is called before each answer; it may raise, and then nothing is charged or counted.
    """

    _stored: StoredDataset
    _requester: Requester | None = None
    _admit: Callable[[CheckedRequest], None] = lambda _checked: None

    @property
    def dataset(self) -> Dataset:
        """The public description."""
        return self._stored.dataset

    @property
    def digest(self) -> str:
        return self._stored.digest

    @property
    def edition(self) -> str:
        """Version and labels: everything that a reader sees follows from it."""
        return f"{self.digest} {self.dataset.wording}".rstrip()

    @property
    def account(self) -> str | None:
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
        """Check a request before a record is read."""
        return check_request(self._stored, request, self._requester)

    def answer(self, asked: CheckedRequest) -> Release:
        """Admit, charge, count, protect and release."""
        self._admit(asked)
        return make_release(asked)

    def check_nonzero(self, request: TableRequest, most_cells: int | None = None) -> CheckedRequest:
        """Check a request for the list of its non-zero cells; the table may be too large to lay out.

        `most_cells` limits the cells of the table; by default as many are allowed as can be numbered.

        Raises:
            BadRequest: Its cells cannot be listed, and why.
            Refused: A rule does not allow it.
        """
        from discreet.release.nonzero_listing import check_nonzero

        return check_nonzero(self._stored, request, self._requester, most_cells)

    def nonzero(self, asked: CheckedRequest) -> Listing:
        from discreet.release.nonzero_listing import list_nonzero

        return list_nonzero(asked)

    def release(self, request: TableRequest) -> Release:
        return self.answer(self.check(request))

    def dry_run(self, request: TableRequest) -> dict[str, Any]:
        """The size of a table and the verdict of the rules, without its numbers."""
        from discreet.release.dry_run import dry_run

        return {**dry_run(self._stored, request, self._requester)}

    def refuse_unreleased(self, request: TableRequest) -> None:
        """Refuse a table that `answer` would refuse, without its numbers; nothing unpaid is read."""
        from discreet.release.dry_run import try_request

        refusal = try_request(self._stored, request, self._requester).refusal
        if refusal is not None:
            raise refusal

    def foresee(self, request: TableRequest) -> Attempt:
        """The outcome of a request as far as it is known without counting a record."""
        from discreet.release.dry_run import try_request

        requester = None if self._requester is None else replace(self._requester, takes=False)
        return try_request(self._stored, request, requester, counting=False)

    def repairs(
        self, request: TableRequest, *, counting: bool, most: int = MOST_REPAIRS
    ) -> list[TableRequest]:
        """Allowed tables near a refused one, the nearest first; only with `counting` are the rules on counts certain."""
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

        return {**budget_of(self._stored)}

    def budget_left(self) -> str | None:
        """The remainder of the budget, in a sentence; None without a budget."""
        if not self.dataset.protection.is_dp:
            return None
        from discreet.release.budget_document import budget_left

        return budget_left(self._stored)

    def ledger(self) -> dict[str, Any]:
        """What the budget has spent, by account; for custodians."""
        from discreet.release.budget_document import ledger_of

        return {**ledger_of(self._stored)}

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


class Authoriser:
    """Decides who asks and what they may see. This one is for local use: who can read the files may see all of them."""

    def asker(self, workspace: Workspace, key: str | None) -> Requester | None:
        """The account of a key; None without a key."""
        return workspace.asker(key)

    def is_open(self, dataset: Dataset) -> bool:  # noqa: ARG002 - subclasses use it
        """Whether the current requester may see a dataset."""
        return True

    def admit(self, question: CheckedRequest) -> None:
        """Called before each answer: it may raise, and then nothing is charged or counted."""

    def open(self, stored: StoredDataset, asker: Requester | None) -> DatasetService:
        return DatasetService(stored, asker, self.admit)


class DatasetRegistry:
    """The services of a workspace, one per dataset; a dataset that the authoriser closes seems not to exist."""

    __slots__ = ("_gate", "_version", "_workspace")

    def __init__(self, workspace: Workspace, version: str = "", gate: Authoriser | None = None) -> None:
        self._workspace = workspace
        self._version = version
        self._gate = gate or Authoriser()

    def at(self, version: str) -> DatasetRegistry:
        """The same registry with another default version; empty for the current ones."""
        return DatasetRegistry(self._workspace, version, self._gate)

    def behind(self, gate: Authoriser) -> DatasetRegistry:
        """The same registry with another authoriser."""
        return DatasetRegistry(self._workspace, self._version, gate)

    def opener(self) -> Callable[[], DatasetRegistry]:
        """A function that opens the same registry in another process."""
        return partial(open_registry, self.folder, threads=self._workspace.threads)

    def log_key(self) -> bytes | None:
        return log_key(self.folder)

    def register(self) -> Register | None:
        return self._workspace.register()

    def accounts_stamp(self) -> object:
        """A stamp that changes with the accounts; None if that is not known."""
        return self._workspace.accounts_stamp()

    @property
    def folder(self) -> Path:
        return self._workspace.folder

    def prepare(self, *, wait: bool = False) -> None:
        """Compile the fast count in the background if a dataset is large enough for it, or wait for it."""
        from discreet.records.compiled_count import CODES, prepare_kernel

        if any((self.folder / "datasets").glob(f"*/*/{CODES}")):
            prepare_kernel(wait=wait)

    def ids(self) -> list[str]:
        return [name for name in self._workspace.ids() if self._is_open(name)]

    def _is_open(self, dataset_id: str) -> bool:
        """Whether the current version may be seen; one that cannot be read is reported when it is queried."""
        try:
            return self._gate.is_open(self._workspace.stored(dataset_id).dataset)
        except DiscreetError:
            return True

    def _refuse_closed(self, dataset_id: str) -> None:
        """Refuse a closed dataset as one that does not exist, with equal work: timing must not distinguish them."""
        is_there = self._workspace.has(dataset_id)
        if is_there and self._is_open(dataset_id):
            return
        every = self._workspace.ids()
        if not is_there:
            self._is_open(next(iter(every), ""))
        raise dataset_not_found(dataset_id, self.ids())

    def open(self, dataset_id: str, key: str | None = None, version: str = "") -> DatasetService:
        """The service of a version of a dataset, for the account of an API key.

        The version is named by the first letters of its digest, or its declared name; it is the current one by default.

        Raises:
            UnknownDataset, UnknownVersion: With the nearest match.
            VersionClosed: It cannot be queried next to the current one.
            BadKey: The key is unknown or revoked.
            SecretUnusable, WorkspaceUnusable, LedgerUnusable: Nothing is answered.
        """
        self._refuse_closed(dataset_id)
        stored = self._workspace.stored(dataset_id, version or self._version)
        return self._gate.open(stored, self._gate.asker(self._workspace, key))

    def mark(self, dataset_id: str) -> Hashable:
        """A stamp that changes whenever an answer may change; of all datasets for an empty name."""
        return self._version, self._workspace.mark(dataset_id)

    def versions(self, dataset_id: str) -> tuple[VersionFacts, ...]:
        self._refuse_closed(dataset_id)
        return self._workspace.versions(dataset_id)

    def public_parts(self, dataset_id: str) -> PublicParts:
        """The public parts of the current version, for machines without records."""
        return self._workspace.public_parts(dataset_id)

    def methodology(self, dataset_id: str, version: str = "") -> dict[str, Any]:
        """The public methodology of a version, with the facts of all versions: see docs/reference/methodology.md.

        Raises:
            UnknownDataset, UnknownVersion: With the nearest match.
            VersionClosed: It cannot be queried next to the current one.
            SecretUnusable, WorkspaceUnusable, LedgerUnusable: Nothing is answered.
        """
        from discreet.model.messages.sentences import RED_TEAM
        from discreet.release.methodology_document import methodology
        from discreet.workspace.measured_attacks import read_attack_result

        measured = {attack: read_attack_result(self.folder, attack.name) for attack in RED_TEAM}
        self._refuse_closed(dataset_id)
        stored = self._workspace.stored(dataset_id, version)
        return {**methodology(stored, self.versions(dataset_id), measured)}

    def verify(self, dataset_id: str, pace: Callable[[int], None] = lambda _bytes: None) -> str:
        """Verify the seal of all stored records and return the digest; `pace` gets the bytes of each block."""
        return self._workspace.verify(dataset_id, pace)

    def close(self) -> None:
        """Close all records, the ledger and the database of accounts."""
        self._workspace.close()


def open_registry(folder: Path, *, threads: int | None = None) -> DatasetRegistry:
    """The registry of the workspace in a folder."""
    return DatasetRegistry(Workspace(folder, threads=threads))
