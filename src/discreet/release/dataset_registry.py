"""The doors of a workspace: which datasets there are, and who may open which.

    doors = open_doors(folder)          a workspace, one door for each dataset
    door = doors.door("census", key)    whoever asks, with a key or without

A `Gate` decides who asks and what is open; a server puts its own before them.
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
from discreet.workspace.server_state import log_key
from discreet.workspace.versions.history import VersionFacts
from discreet.workspace.versions.public_parts import PublicParts
from discreet.workspace.workspace import StoredDataset, Workspace, dataset_not_found

if TYPE_CHECKING:
    from discreet.ledger.accounts import Register


class Authoriser:
    """Who asks, and what they may see. This one stands before a workspace on disk: whoever can read it may see it all."""

    def asker(self, workspace: Workspace, key: str | None) -> Requester | None:
        """Whose key it is, or nobody's without one."""
        return workspace.asker(key)

    def is_open(self, dataset: Dataset) -> bool:  # noqa: ARG002 - others look at it
        """Whether whoever asks may see a dataset."""
        return True

    def admit(self, question: CheckedRequest) -> None:
        """Called before each answer: it may raise, and then nothing is charged or counted."""

    def open(self, stored: StoredDataset, asker: Requester | None) -> DatasetService:
        """The door of a version."""
        return DatasetService(stored, asker)


class DatasetRegistry:
    """The doors of a workspace, one for each dataset, behind a gate: what it closes is as if it were not there."""

    __slots__ = ("_gate", "_version", "_workspace")

    def __init__(self, workspace: Workspace, version: str = "", gate: Authoriser | None = None) -> None:
        self._workspace = workspace
        self._version = version
        self._gate = gate or Authoriser()

    def at(self, version: str) -> DatasetRegistry:
        """The same doors, which open a version where none is named; empty for the current ones."""
        return DatasetRegistry(self._workspace, version, self._gate)

    def behind(self, gate: Authoriser) -> DatasetRegistry:
        """The same doors behind another gate."""
        return DatasetRegistry(self._workspace, self._version, gate)

    def opener(self) -> Callable[[], DatasetRegistry]:
        """Opens the same doors anew, in another process."""
        return partial(open_registry, self.folder, threads=self._workspace.threads)

    def log_key(self) -> bytes | None:
        """The key that seals the log of a server; None where there is no secret to derive it from.

        Raises:
            SecretUnusable: The secret of the workspace cannot be used.
        """
        return log_key(self.folder)

    def register(self) -> Register | None:
        """All accounts and keys as they are now; None where there is no ledger.

        Raises:
            LedgerUnusable: The ledger of accounts cannot be read.
        """
        return self._workspace.register()

    def accounts_stamp(self) -> object:
        """What changes with the accounts, where that is cheap to tell."""
        return self._workspace.accounts_stamp()

    @property
    def folder(self) -> Path:
        """Where the workspace is."""
        return self._workspace.folder

    def prepare(self, *, wait: bool = False) -> None:
        """Make the compiled count in the background, where a dataset has records enough for it; or wait for it."""
        from discreet.records.compiled_count import CODES, prepare_kernel

        if any((self.folder / "datasets").glob(f"*/*/{CODES}")):
            prepare_kernel(wait=wait)

    def ids(self) -> list[str]:
        """The datasets that can be asked, by whoever asks."""
        return [name for name in self._workspace.ids() if self._is_open(name)]

    def _is_open(self, dataset_id: str) -> bool:
        """Whether a dataset may be seen, by what is said of its current version; what cannot be read is told when asked."""
        try:
            return self._gate.is_open(self._workspace.stored(dataset_id).dataset)
        except DiscreetError:
            return True

    def _refuse_closed(self, dataset_id: str) -> None:
        """Refuse a dataset that may not be seen as one that is not there, by as much work: no time tells them apart."""
        is_there = self._workspace.has(dataset_id)
        if is_there and self._is_open(dataset_id):
            return
        every = self._workspace.ids()
        if not is_there:
            self._is_open(next(iter(every), ""))
        raise dataset_not_found(dataset_id, self.ids())

    def door(self, dataset_id: str, key: str | None = None, version: str = "") -> DatasetService:
        """A version of a dataset, for whoever has the API key.

        Args:
            dataset_id: The dataset.
            key: Of an account.
            version: The beginning of its digest, or its declared name; empty for the current one.

        Raises:
            UnknownDataset, UnknownVersion: With the nearest match.
            VersionClosed: It is not answered beside the current one.
            BadKey: The key is unknown or revoked.
            SecretUnusable, WorkspaceUnusable, LedgerUnusable: Nothing is answered.
        """
        self._refuse_closed(dataset_id)
        stored = self._workspace.stored(dataset_id, version or self._version)
        return self._gate.open(stored, self._gate.asker(self._workspace, key))

    def mark(self, dataset_id: str) -> Hashable:
        """What changes whenever an answer of a dataset may change; of all datasets for an empty name."""
        return self._version, self._workspace.mark(dataset_id)

    def versions(self, dataset_id: str) -> tuple[VersionFacts, ...]:
        """The versions of a dataset that are known, the newest last."""
        self._refuse_closed(dataset_id)
        return self._workspace.versions(dataset_id)

    def public_parts(self, dataset_id: str) -> PublicParts:
        """What is public of the version that is served, for machines that have no records."""
        return self._workspace.public_parts(dataset_id)

    def methodology(self, dataset_id: str, version: str = "") -> dict[str, Any]:
        """The public methodology of a version of a dataset: see docs/reference/methodology.md.

        It is the doors' and not a door's: it tells of the other versions, and of what the workspace measured.

        Raises:
            UnknownDataset, UnknownVersion: With the nearest match.
            VersionClosed: It is not answered beside the current one.
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
        """Read all stored records of a dataset and compare them with their seal; returns the version's digest.

        Args:
            dataset_id: The dataset. Where it fails, these doors do not answer for it until it is sound again.
            pace: Called with the number of bytes after every chunk that was read; it may wait.

        Raises:
            UnknownDataset: With the nearest match.
            SecretUnusable, WorkspaceUnusable: The version is not the one that was loaded.
        """
        return self._workspace.verify(dataset_id, pace)

    def close(self) -> None:
        """Let go of all records, and of the ledger."""
        self._workspace.close()


def open_registry(folder: Path, *, threads: int | None = None) -> DatasetRegistry:
    """The doors of the workspace in a folder."""
    return DatasetRegistry(Workspace(folder, threads=threads))
