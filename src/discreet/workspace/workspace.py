"""A workspace: a folder with the versions of datasets, and the secret.

    secret                        mode 0600
    signing-key.pem               mode 0600, once something was signed (`records/signing.py`)
    workspace.json                the schema of the workspace (`folder_layout.py`); the first ones have none
    workspace.toml                options
    ledger.sqlite                 accounts and charges, when needed
    attacks/                      results of attacks (`measured_attacks.py`)
    datasets/<id>/current         the digest of the current version
    datasets/<id>/history.json    all versions, and which accept queries (`versions/history.py`)
    datasets/<id>/wording.json    corrected labels and notes (`versions/label_corrections.py`)
    datasets/<id>/removed/        descriptions and keys of removed versions (`operate/manage_versions.py`)
    datasets/<id>/<digest>/       a version (`versions/version.py`)

A load writes a new version next to the others and then replaces `current` by a rename, so a reader sees the old version or
the new one. Only a load writes data; everything else opens it read-only.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import (
    BadKey,
    DiscreetError,
    NotFound,
    RecordsAway,
    SecretUnusable,
    UnknownDataset,
    WorkspaceUnusable,
)
from discreet.ledger.requester import Register, Requester, requester_of
from discreet.model.dataset import Dataset
from discreet.model.messages.text import message, nearest
from discreet.model.request import TableRequest
from discreet.noise.table import NoiseTable
from discreet.protect.cell_keys import EmptyCells, cell_chances, cell_keys, noise_lineage
from discreet.protect.protector import CellKeyProtector, Protector
from discreet.records.engine import Engine
from discreet.records.keys import Purpose, Secret, read_secret
from discreet.rules.rule import Rule
from discreet.rules.rule_set import parse_rules
from discreet.rules.verdict import Verdict
from discreet.workspace.folder_layout import refuse_newer_workspace
from discreet.workspace.ledger_location import LEDGER, has_ledger, ledger_location, open_ledger
from discreet.workspace.sealed import load_again, verify_records
from discreet.workspace.versions.checkpoints import VersionCheckpoints
from discreet.workspace.versions.history import HISTORY, VersionFacts, resolve_version, version_facts
from discreet.workspace.versions.label_corrections import WORDING, apply_labels, labels_mtime
from discreet.workspace.versions.public_parts import PublicParts, public_parts, read_residuals
from discreet.workspace.versions.version import CURRENT, Version, current_digest, read_version
from discreet.workspace.versions.version_engine import (
    open_engine,
    refuse_missing_records,
    verify_cubes,
    verify_engine,
)

if TYPE_CHECKING:
    from discreet.ledger.database import LedgerDatabase
    from discreet.ledger.ledger import Ledger
    from discreet.protect.dp_protector import DpProtector


log = logging.getLogger("discreet.cubes")


def dataset_not_found(dataset_id: str, known: list[str]) -> UnknownDataset:
    """The error for an unknown dataset id, with the nearest of those that the caller may see."""
    return UnknownDataset(
        message('There is no dataset "{dataset_id}".', dataset_id=dataset_id), nearest(dataset_id, known)
    )


@dataclass(frozen=True)
class StoredDataset:
    """One version of a dataset, ready for queries: description, records, protection and rules."""

    dataset: Dataset
    digest: str
    engine: Engine
    protector: Protector
    arithmetic: int
    rules: tuple[Rule, ...] = ()
    verdicts: dict[TableRequest, Verdict] = field(default_factory=dict, compare=False)

    @property
    def dp(self) -> DpProtector | None:
        """The charged plan and its ledger, under `dp`."""
        from discreet.protect.dp_protector import DpProtector  # noqa: PLC0415 - a cell key table starts without it

        return self.protector if isinstance(self.protector, DpProtector) else None

    def __repr__(self) -> str:
        return f"<StoredDataset {self.dataset.id} {self.digest[:8]}>"


def _stat(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - called thousands of times per second
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


class Workspace:
    """A folder of datasets, opened read-only and safe for many threads.

    Args:
        folder: An existing workspace.
        threads: Threads for one aggregate; all cores by default.
    """

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        refuse_newer_workspace(folder)
        if not (folder / "datasets").is_dir():
            raise NotFound(
                f"{str(folder)!r} is not a workspace.",
                "Load a dataset into it, or run `discreet demo`.",
            )
        self.folder, self.threads = folder, threads
        self._open: dict[str, StoredDataset] = {}
        self._current_digests: dict[str, str] = {}
        self._labels_mtimes: dict[str, int] = {}
        self._refused: dict[str, DiscreetError] = {}
        self._accounts: LedgerDatabase | None = None
        self._ledger_location: Path | str | None = None
        self._ledger: Ledger | None = None
        self._lock = threading.Lock()

    def ids(self) -> list[str]:
        """The datasets that accept queries."""
        found = (self.folder / "datasets").iterdir()
        return sorted(entry.name for entry in found if (entry / CURRENT).is_file())

    def has(self, dataset_id: str) -> bool:
        """Whether a dataset accepts queries, without a look at the others."""
        home = f"{self.folder}/datasets"
        return dataset_id in os.listdir(home) and os.path.isfile(f"{home}/{dataset_id}/{CURRENT}")  # noqa: PTH113, PTH208

    def stored(self, dataset_id: str, version: str = "") -> StoredDataset:
        """A version of a dataset; each is opened once and cached.

        Args:
            dataset_id: The dataset.
            version: The first letters of its digest, or its name in the description; empty for the current one.

        Raises:
            VersionClosed: It accepts no queries next to the current one.
            SecretUnusable, WorkspaceUnusable, LedgerUnusable: No query is answered.
        """
        digest = self._current(dataset_id)
        if version:
            digest = resolve_version(self.versions(dataset_id), version)
        with self._lock:
            if not version and self._current_digests.get(dataset_id, digest) != digest:
                # Evict versions of a former current one; their records close after the last answer from them.
                for old in [each for each, stored in self._open.items() if stored.dataset.id == dataset_id]:
                    if old != digest:
                        del self._open[old]
            if not version:
                self._current_digests[dataset_id] = digest
            if digest in self._refused:
                raise self._refused[digest]
            home = self.folder / "datasets" / dataset_id
            mtime = labels_mtime(home)
            if digest not in self._open:
                self._open[digest] = self._read(home / digest)
            elif self._labels_mtimes.get(digest) != mtime:
                secret = read_secret(self.folder / "secret")
                dataset = apply_labels(home, digest, read_version(home / digest, secret), secret)
                self._open[digest] = replace(self._open[digest], dataset=dataset)
            self._labels_mtimes[digest] = mtime
            return self._open[digest]

    def mark(self, dataset_id: str) -> tuple[object, ...]:
        """A stamp for cache keys, which changes whenever an answer may: another version, labels, a refusal, a ledger.

        An empty id stands for all datasets together.
        """
        if not dataset_id:
            return tuple(map(self.mark, self.ids()))
        home = f"{self.folder}/datasets/{dataset_id}/"
        files = tuple(map(_stat, (home + CURRENT, home + HISTORY, home + WORDING)))
        ledger = _stat(f"{self.folder}/{LEDGER}")  # it is written in place: only another file counts
        return dataset_id, tuple(self._refused), files, ledger and ledger[0]

    def versions(self, dataset_id: str) -> tuple[VersionFacts, ...]:
        """The metadata of the known versions of a dataset, the newest last."""
        home, current = self.folder / "datasets" / dataset_id, self._current(dataset_id)
        return version_facts(home, current, read_secret(self.folder / "secret"))

    def public_parts(self, dataset_id: str) -> PublicParts:
        """The public parts of the current version, for machines without records."""
        folder = self.folder / "datasets" / dataset_id / self._current(dataset_id)
        secret = read_secret(self.folder / "secret")
        return public_parts(folder, read_version(folder, secret), secret)

    def verify(self, dataset_id: str, pace: Callable[[int], None] = lambda _bytes: None) -> str:
        """Read all stored records of the current version and validate their checksums; returns its digest.

        If the records are missing, the cubes are verified instead. A version that fails is refused until a later call
        finds it intact. `pace` is called with the number of bytes after each chunk; it may wait to limit the rate.

        Raises:
            SecretUnusable, WorkspaceUnusable: The version is not the one that was loaded.
        """
        digest = self._current(dataset_id)
        folder = self.folder / "datasets" / dataset_id / digest
        try:
            secret = read_secret(self.folder / "secret")
            version = read_version(folder, secret)
            try:
                refuse_missing_records(folder, version)
                verify_records(folder, version.records, secret, pace)
                verify_engine(folder, version, secret)
            except RecordsAway as missing:
                if not verify_cubes(folder, secret, digest):
                    raise
                log.warning("%s: %s", dataset_id, missing)
        except (SecretUnusable, WorkspaceUnusable) as error:
            with self._lock:
                self._refused[digest] = error
                self._open.pop(digest, None)  # an answer under way ends; no other begins
            raise
        with self._lock:
            self._refused.pop(digest, None)
        return digest

    def asker(self, key: str | None) -> Requester | None:
        """The account of an API key; None without a key.

        Raises:
            BadKey: The key is unknown or revoked, or the workspace has no accounts.
        """
        if not key:
            return None
        register = self.register()
        if register is None:
            raise BadKey(
                message("The API key is not accepted: this server has no accounts."),
                message("Leave the key out. A custodian creates accounts with `discreet account create`."),
            )
        return self.with_ledger(requester_of(register.key(key)))

    def register(self) -> Register | None:
        """All current accounts and keys; None without a ledger."""
        from discreet.ledger.accounts import Accounts  # noqa: PLC0415 - a table without a key needs no database
        from discreet.ledger.database import open_database  # noqa: PLC0415

        if self._accounts is None:
            if not has_ledger(self.folder):
                return None
            self._accounts = open_database(ledger_location(self.folder))
        return Accounts(self._accounts).register()

    def accounts_stamp(self) -> object:
        """A stamp that changes when the ledger's file is written, to expire cached accounts; None if it is not a file."""
        place = self._ledger_location = self._ledger_location or ledger_location(self.folder)
        return None if isinstance(place, str) else (_stat(f"{place}"), _stat(f"{place}-wal"))

    def with_ledger(self, requester: Requester) -> Requester:
        """The requester with the database in which its use is counted, once accounts were read."""
        return replace(requester, database=self._accounts)

    def close(self) -> None:
        """Close all records, the ledger and the database of accounts."""
        for stored in self._open.values():
            stored.engine.close()
        self._open.clear()
        if self._ledger is not None:
            self._ledger.close()
        if self._accounts is not None:
            self._accounts.close()
        self._ledger = self._accounts = None

    def _current(self, dataset_id: str) -> str:
        if not self.has(dataset_id):
            raise dataset_not_found(dataset_id, self.ids())
        digest = current_digest(self.folder / "datasets" / dataset_id)
        if not digest:
            raise load_again(f'The file that names the current version of "{dataset_id}" is damaged.')
        return digest

    def _read(self, folder: Path) -> StoredDataset:
        secret = read_secret(self.folder / "secret")
        version = read_version(folder, secret)
        dataset = apply_labels(folder.parent, folder.name, version, secret)
        protector = self._protector(version, secret, folder)
        engine = open_engine(folder, version, secret, self.threads)
        rules = parse_rules(dataset.rules, dataset)
        return StoredDataset(dataset, folder.name, engine, protector, version.revisions.arithmetic, rules)

    def _protector(self, version: Version, secret: Secret, folder: Path) -> Protector:
        dataset, noise = version.dataset, version.noise
        if isinstance(noise, NoiseTable):
            keys = cell_keys(secret, noise_lineage(dataset), dataset.protection, noise.modulus)
            chances = cell_chances(secret, noise_lineage(dataset))
            kept = dataset.protection.zeros == "kept"
            empty = None if kept else EmptyCells(secret, dataset, noise.modulus)

            def measure_key(name: str) -> tuple[bytes, int]:
                return secret.derive(Purpose.MAGNITUDE, noise_lineage(dataset), name), dataset.key_decimals

            return CellKeyProtector(keys, noise, chances, empty, measure_key=measure_key)
        from discreet.protect.charges import version_budget  # noqa: PLC0415
        from discreet.protect.description_keys import DescriptionNoise  # noqa: PLC0415 - only under dp
        from discreet.protect.dp_protector import DpProtector  # noqa: PLC0415

        if self._ledger is None:
            self._ledger = open_ledger(self.folder)
        ledger = self._ledger.with_checkpoints(VersionCheckpoints(self.folder, secret, folder))
        ledger.refuse_other_terms(version_budget(noise))
        source = DescriptionNoise(secret, dataset, dataset.version, version.fingerprint, noise.noise())
        residuals = None if noise.joint is None else read_residuals(folder, noise.joint)
        return DpProtector(noise, source, ledger, residuals)
