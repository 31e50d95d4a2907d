"""A workspace: a folder with datasets in versions, and the secret.

    secret                        readable by its owner only
    workspace.json                the schema of the workspace (`schema.py`); the first ones have none
    workspace.toml                options, if there are any
    ledger.sqlite                 accounts, and what they and versions have spent, when needed
    attacks/                      what the red team measured, where somebody kept it (`kept_attacks.py`)
    datasets/<id>/current         the digest of the version that is served
    datasets/<id>/history.json    the versions that are kept, and which are answered beside it (`history.py`)
    datasets/<id>/<digest>/       a version (`version.py`)

A load writes a new version beside the others and then replaces `current` by a rename: a reader sees the
old version or the new one, never half of either. Everything but a load opens data read-only.

Comes from: the faces. Goes to: `answer`, as a `StoredDataset`.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.errors import (
    BadKey,
    DiscreetError,
    NotFound,
    SecretUnusable,
    UnknownDataset,
    WorkspaceUnusable,
    nearest,
)
from discreet.ledger.group_meter import Asker
from discreet.protect.cell_keys import cell_chances, cell_keys, noise_lineage
from discreet.protect.plan import NoisePlan
from discreet.protect.protector import CellKeyProtector
from discreet.records.secret import read_secret
from discreet.rules.declared import parse_rules
from discreet.workspace.engine_place import open_engine
from discreet.workspace.ledger_place import has_ledger, ledger_place, open_ledger
from discreet.workspace.records_seal import verify_records
from discreet.workspace.schema import refuse_newer_workspace
from discreet.workspace.version import DIGEST, read_version
from discreet.workspace.version_facts import open_version, version_facts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from discreet.ledger.database import LedgerDatabase
    from discreet.ledger.ledger import Ledger
    from discreet.model.dataset import Dataset
    from discreet.model.request import TableRequest
    from discreet.protect.dp_protector import DpProtector
    from discreet.protect.protector import Protector
    from discreet.records.engine import Engine
    from discreet.records.secret import Secret
    from discreet.rules.rule import Rule
    from discreet.rules.verdict import Verdict
    from discreet.workspace.version import Version
    from discreet.workspace.version_facts import VersionFacts


@dataclass(frozen=True)
class StoredDataset:
    """One version of a dataset, ready to be asked: description, records and what stands before them."""

    dataset: Dataset
    digest: str
    engine: Engine
    protector: Protector
    arithmetic: int
    rules: tuple[Rule, ...] = ()
    verdicts: dict[TableRequest, Verdict] = field(default_factory=dict, compare=False)

    @property
    def dp(self) -> DpProtector | None:
        """The plan that was charged and its ledger, under `dp`."""
        from discreet.protect.dp_protector import DpProtector  # noqa: PLC0415 - a cell key table starts without it

        return self.protector if isinstance(self.protector, DpProtector) else None

    def __repr__(self) -> str:
        return f"<StoredDataset {self.dataset.id} {self.digest[:8]}>"


class Workspace:
    """A folder of datasets. Opening one makes no change to it.

    Args:
        folder: An existing workspace.
        threads: Threads for one aggregate; all cores by default.
    """

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        if not (folder / "datasets").is_dir():
            raise NotFound(
                f"{str(folder)!r} is not a workspace.",
                "Load a dataset into it, or run `discreet demo` for the demo's.",
            )
        refuse_newer_workspace(folder)
        self.folder = folder
        self._threads = threads
        self._open: dict[str, StoredDataset] = {}
        self._refused: dict[str, DiscreetError] = {}
        self._accounts: LedgerDatabase | None = None
        self._ledger: Ledger | None = None
        self._opening = threading.Lock()

    def ids(self) -> list[str]:
        """The datasets that can be asked."""
        found = (self.folder / "datasets").iterdir()
        return sorted(entry.name for entry in found if (entry / "current").is_file())

    def stored(self, dataset_id: str, version: str = "") -> StoredDataset:
        """A version of a dataset; one `open` a version, however often it is asked.

        Args:
            dataset_id: The dataset.
            version: The beginning of its digest, or what its description calls it; empty for the current one.

        Raises:
            UnknownDataset, UnknownVersion: With the nearest match.
            VersionClosed: It is not answered beside the current one.
            SecretUnusable, WorkspaceUnusable, LedgerUnusable: Nothing is answered.
        """
        digest = self._current(dataset_id)
        if version:
            digest = open_version(self.versions(dataset_id), version)
        with self._opening:  # the server asks from many threads
            if digest in self._refused:
                raise self._refused[digest]
            if digest not in self._open:
                self._open[digest] = self._read(dataset_id, digest)
            return self._open[digest]

    def versions(self, dataset_id: str) -> tuple[VersionFacts, ...]:
        """The versions of a dataset that are known, the newest last.

        Raises:
            UnknownDataset: With the nearest match.
            SecretUnusable, WorkspaceUnusable: The history cannot be read.
        """
        current = self._current(dataset_id)
        return version_facts(
            self.folder / "datasets" / dataset_id, current, read_secret(self.folder / "secret")
        )

    def verify(self, dataset_id: str, pace: Callable[[int], None] = lambda _bytes: None) -> str:
        """Read all stored records of the current version and compare them with their seal; returns its digest.

        A version that fails is not served any more, until a later call finds it sound.

        Args:
            dataset_id: The dataset.
            pace: Called with the number of bytes after every chunk that was read; it may wait.

        Raises:
            UnknownDataset: With the nearest match.
            SecretUnusable, WorkspaceUnusable: The version is not the one that was loaded.
        """
        digest = self._current(dataset_id)
        folder = self.folder / "datasets" / dataset_id / digest
        try:
            secret = read_secret(self.folder / "secret")
            version = read_version(folder, secret)
            verify_records(folder, version.records, secret, pace)
            open_engine(folder, version, secret, self._threads).close()
        except (SecretUnusable, WorkspaceUnusable) as error:
            with self._opening:
                self._refused[digest] = error
                self._open.pop(digest, None)  # an answer under way ends; no other begins
            raise
        with self._opening:
            self._refused.pop(digest, None)
        return digest

    def asker(self, key: str | None) -> Asker | None:
        """Whose API key it is, or nobody's without one.

        Raises:
            BadKey: The key is unknown or revoked, or the workspace has no accounts.
            LedgerUnusable: The ledger of accounts cannot be read.
        """
        if not key:
            return None
        from discreet.ledger.accounts import Accounts  # noqa: PLC0415 - a table without a key needs no database
        from discreet.ledger.database import open_database  # noqa: PLC0415

        if self._accounts is None:
            self._refuse_keys_without_accounts()
            self._accounts = open_database(ledger_place(self.folder))
        holder = Accounts(self._accounts).holder(key)
        return Asker(holder.account, self._accounts, holder.role)

    def _refuse_keys_without_accounts(self) -> None:
        """Without a ledger there are no accounts, and no key is one of theirs; what must be charged is refused elsewhere."""
        if not has_ledger(self.folder):
            raise BadKey(
                "The API key is not accepted: this server has no accounts.",
                "Ask without a key. A custodian makes accounts with `discreet account create`.",
            )

    def close(self) -> None:
        """Let go of all records, and of the ledger."""
        for stored in self._open.values():
            stored.engine.close()
        self._open.clear()
        if self._ledger is not None:
            self._ledger.close()

    def _current(self, dataset_id: str) -> str:
        if dataset_id not in self.ids():
            raise UnknownDataset(f'There is no dataset "{dataset_id}".', nearest(dataset_id, self.ids()))
        digest = (
            (self.folder / "datasets" / dataset_id / "current").read_text("ascii", errors="replace").strip()
        )
        if not DIGEST.match(digest):
            raise WorkspaceUnusable(f'The pointer of "{dataset_id}" is damaged.', "Load the dataset again.")
        return digest

    def _read(self, dataset_id: str, digest: str) -> StoredDataset:
        folder = self.folder / "datasets" / dataset_id / digest
        secret = read_secret(self.folder / "secret")
        version = read_version(folder, secret)
        dataset = version.dataset
        protector = self._protector(version, secret)
        engine = open_engine(folder, version, secret, self._threads)
        return StoredDataset(
            dataset,
            digest,
            engine,
            protector,
            version.revisions.arithmetic,
            parse_rules(dataset.rules, dataset),
        )

    def _protector(self, version: Version, secret: Secret) -> Protector:
        dataset = version.dataset
        if not isinstance(version.noise, NoisePlan):
            keys = cell_keys(secret, noise_lineage(dataset), dataset.protection, version.noise.modulus)
            return CellKeyProtector(keys, version.noise, cell_chances(secret, noise_lineage(dataset)))
        from discreet.protect.described_noise import DescriptionNoise  # noqa: PLC0415 - only under dp
        from discreet.protect.dp_protector import DpProtector  # noqa: PLC0415

        if self._ledger is None:
            self._ledger = open_ledger(self.folder)
        source = DescriptionNoise(
            secret, dataset, dataset.version, version.fingerprint, version.noise.noise()
        )
        return DpProtector(version.noise, source, self._ledger)
