"""The dataset registry: which datasets a workspace has, and who may query which.

    registry = open_registry(folder)
    service = registry.door("census", key)    for the account of a key, or without one

An `Authoriser` validates keys and decides which datasets accept queries; a server has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError
from discreet.ledger.requester import Requester
from discreet.model.dataset import Dataset
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_service import DatasetService
from discreet.workspace.folder_layout import log_key
from discreet.workspace.versions.history import VersionFacts
from discreet.workspace.versions.public_parts import PublicParts
from discreet.workspace.workspace import StoredDataset, Workspace, dataset_not_found

if TYPE_CHECKING:
    from discreet.ledger.accounts import Register


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
        """The service of a version, which calls `admit` before each answer."""
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
        """The key of the server's audit log; None without a secret.

        Raises:
            SecretUnusable: The secret of the workspace cannot be used.
        """
        return log_key(self.folder)

    def register(self) -> Register | None:
        """All current accounts and keys; None without a ledger.

        Raises:
            LedgerUnusable: The ledger of accounts cannot be read.
        """
        return self._workspace.register()

    def accounts_stamp(self) -> object:
        """A stamp that changes with the accounts; None if that is not known."""
        return self._workspace.accounts_stamp()

    @property
    def folder(self) -> Path:
        """The folder of the workspace."""
        return self._workspace.folder

    def prepare(self, *, wait: bool = False) -> None:
        """Compile the fast count in the background if a dataset is large enough for it, or wait for it."""
        from discreet.records.compiled_count import CODES, prepare_kernel

        if any((self.folder / "datasets").glob(f"*/*/{CODES}")):
            prepare_kernel(wait=wait)

    def ids(self) -> list[str]:
        """The datasets that the requester may query."""
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

    def door(self, dataset_id: str, key: str | None = None, version: str = "") -> DatasetService:
        """The service of a version of a dataset.

        Args:
            dataset_id: The dataset.
            key: The API key of an account.
            version: The first letters of its digest, or its declared name; empty for the current one.

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
        """The known versions of a dataset, the newest last."""
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
        from discreet.model.messages.red_team import RED_TEAM
        from discreet.release.methodology_document import methodology
        from discreet.workspace.measured_attacks import read_attack_result

        measured = {attack: read_attack_result(self.folder, attack.name) for attack in RED_TEAM}
        self._refuse_closed(dataset_id)
        stored = self._workspace.stored(dataset_id, version)
        return methodology(stored, self.versions(dataset_id), measured)

    def verify(self, dataset_id: str, pace: Callable[[int], None] = lambda _bytes: None) -> str:
        """Read all stored records of a dataset and verify their seal; returns the version's digest.

        Args:
            dataset_id: The dataset. If it fails, it is refused until a later call finds it intact.
            pace: Called with the number of bytes after each chunk; it may wait to limit the rate.

        Raises:
            UnknownDataset: With the nearest match.
            SecretUnusable, WorkspaceUnusable: The version is not the one that was loaded.
        """
        return self._workspace.verify(dataset_id, pace)

    def close(self) -> None:
        """Close all records, the ledger and the database of accounts."""
        self._workspace.close()


def open_registry(folder: Path, *, threads: int | None = None) -> DatasetRegistry:
    """The registry of the workspace in a folder."""
    return DatasetRegistry(Workspace(folder, threads=threads))
