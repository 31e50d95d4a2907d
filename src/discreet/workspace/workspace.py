"""A workspace: a folder with datasets in versions, and the secret.

    secret                        readable by its owner only
    signing-key.pem               readable by its owner only, where something was signed (`records/signing.py`)
    workspace.json                the schema of the workspace (`schema.py`); the first ones have none
    workspace.toml                options, if there are any
    ledger.sqlite                 accounts, and what they and versions have spent, when needed
    attacks/                      what the red team measured, where somebody kept it (`kept_attacks.py`)
    datasets/<id>/current         the digest of the version that is served
    datasets/<id>/history.json    the versions that are kept, and which are answered beside it (`history.py`)
    datasets/<id>/wording.json    labels and notes that were corrected after the load (`wording.py`)
    datasets/<id>/removed/        how removed versions were described and keyed (`upkeep/removal.py`)
    datasets/<id>/<digest>/       a version (`version.py`)

A load writes a new version beside the others and then replaces `current` by a rename: a reader sees the
old version or the new one, never half of either. Everything but a load opens data read-only.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from discreet.errors import (
    BadKey,
    DiscreetError,
    NotFound,
    RecordsAway,
    SecretUnusable,
    UnknownDataset,
    WorkspaceUnusable,
)
from discreet.ledger.requester import Requester, requester_of
from discreet.model.dataset import Dataset
from discreet.model.messages.text import message, nearest
from discreet.model.request import TableRequest
from discreet.protect.cell_keys import EmptyCells, cell_chances, cell_keys, noise_lineage
from discreet.protect.plan import NoisePlan
from discreet.protect.protector import CellKeyProtector, Protector
from discreet.records.engine import Engine
from discreet.records.keys import Secret, read_secret
from discreet.rules.rule import Rule
from discreet.rules.rule_set import parse_rules
from discreet.rules.verdict import Verdict
from discreet.workspace.folder_layout import refuse_newer_workspace
from discreet.workspace.ledger_location import LEDGER, has_ledger, ledger_location, open_ledger
from discreet.workspace.sealed import verify_records
from discreet.workspace.versions.checkpoints import VersionCheckpoints
from discreet.workspace.versions.history import HISTORY, VersionFacts, resolve_version, version_facts
from discreet.workspace.versions.label_corrections import WORDING, apply_labels, labels_mtime
from discreet.workspace.versions.public_parts import PublicParts, public_parts
from discreet.workspace.versions.version import DIGEST, Version, read_version
from discreet.workspace.versions.version_engine import (
    open_engine,
    refuse_missing_records,
    verify_cubes,
    verify_engine,
)

if TYPE_CHECKING:
    from discreet.ledger.accounts import Register
    from discreet.ledger.database import LedgerDatabase
    from discreet.ledger.ledger import Ledger
    from discreet.protect.dp_protector import DpProtector


#: The file that names the version that is served.
CURRENT = "current"
log = logging.getLogger("discreet.cubes")


def dataset_not_found(dataset_id: str, known: list[str]) -> UnknownDataset:
    """The refusal of an id that is none of those that are known to whoever asks."""
    return UnknownDataset(
        message('There is no dataset "{dataset_id}".', dataset_id=dataset_id), nearest(dataset_id, known)
    )


def _file_stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


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


def _inode_stamp(path: str) -> tuple[int, int] | None:
    """Which file it is and since when: files are replaced whole. Of the ledger, which is written to, only which it is."""
    try:
        found = os.stat(path)  # noqa: PTH116 - asked thousands of times a second
    except (OSError, ValueError):
        return None
    return found.st_ino, 0 if path.endswith(LEDGER) else found.st_mtime_ns


class Workspace:
    """A folder of datasets. Opening one makes no change to it.

    Args:
        folder: An existing workspace.
        threads: Threads for one aggregate; all cores by default.
    """

    def __init__(self, folder: Path, *, threads: int | None = None) -> None:
        refuse_newer_workspace(folder)
        if not (folder / "datasets").is_dir():
            raise NotFound(
                f"{str(folder)!r} is not a workspace.",
                "Load a dataset into it, or run `discreet demo` for the demo's.",
            )
        self.folder = folder
        self.threads = threads
        self._open: dict[str, StoredDataset] = {}
        self._served: dict[str, str] = {}
        self._worded: dict[str, int] = {}
        self._refused: dict[str, DiscreetError] = {}
        self._accounts: LedgerDatabase | None = None
        self._ledger_place: Path | str | None = None
        self._ledger: Ledger | None = None
        self._opening = threading.Lock()

    def ids(self) -> list[str]:
        """The datasets that can be asked."""
        found = (self.folder / "datasets").iterdir()
        return sorted(entry.name for entry in found if (entry / "current").is_file())

    def has(self, dataset_id: str) -> bool:
        """Whether a dataset can be asked: as `ids` tells, without looking at the others."""
        home = f"{self.folder}/datasets"
        return dataset_id in os.listdir(home) and os.path.isfile(f"{home}/{dataset_id}/{CURRENT}")  # noqa: PTH113, PTH208

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
            digest = resolve_version(self.versions(dataset_id), version)
        with self._opening:  # the server asks from many threads
            if not version:
                self._forget_older(dataset_id, digest)
            if digest in self._refused:
                raise self._refused[digest]
            home = self.folder / "datasets" / dataset_id
            changed = labels_mtime(home)
            if digest not in self._open:
                self._open[digest] = self._read(dataset_id, digest)
            elif self._worded.get(digest) != changed:
                secret = read_secret(self.folder / "secret")
                dataset = apply_labels(home, digest, read_version(home / digest, secret), secret)
                self._open[digest] = replace(self._open[digest], dataset=dataset)
            self._worded[digest] = changed
            return self._open[digest]

    def _forget_older(self, dataset_id: str, digest: str) -> None:
        """Let go of what was served before: its records are closed when the last answer from them has ended."""
        if self._served.get(dataset_id, digest) != digest:
            for old in [each for each, stored in self._open.items() if stored.dataset.id == dataset_id]:
                if old != digest:
                    del self._open[old]
        self._served[dataset_id] = digest

    def mark(self, dataset_id: str) -> tuple[object, ...]:
        """What changes whenever what is answered may change: another version, other words, a refusal, a ledger.

        Args:
            dataset_id: The dataset; empty for all of them together.
        """
        if not dataset_id:
            return tuple(map(self.mark, self.ids()))
        home = f"{self.folder}/datasets/{dataset_id}/"
        files = (home + CURRENT, home + HISTORY, home + WORDING, f"{self.folder}/{LEDGER}")
        return dataset_id, tuple(self._refused), *map(_inode_stamp, files)

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

    def public_parts(self, dataset_id: str) -> PublicParts:
        """What is public of the current version, for machines that have no records.

        Raises:
            UnknownDataset: With the nearest match.
            SecretUnusable, WorkspaceUnusable: The version cannot be read.
        """
        folder = self.folder / "datasets" / dataset_id / self._current(dataset_id)
        secret = read_secret(self.folder / "secret")
        return public_parts(folder, read_version(folder, secret), secret)

    def verify(self, dataset_id: str, pace: Callable[[int], None] = lambda _bytes: None) -> str:
        """Read all stored records of the current version and compare them with their seal; returns its digest.

        Where the records are away, its cubes are read instead. A version that fails is not served any more, until a
        later call finds it sound.

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
            try:
                refuse_missing_records(folder, version)
                verify_records(folder, version.records, secret, pace)
                verify_engine(folder, version, secret)
            except RecordsAway as away:
                if not verify_cubes(folder, secret, digest):
                    raise
                log.warning("%s: %s", dataset_id, away)
        except (SecretUnusable, WorkspaceUnusable) as error:
            with self._opening:
                self._refused[digest] = error
                self._open.pop(digest, None)  # an answer under way ends; no other begins
            raise
        with self._opening:
            self._refused.pop(digest, None)
        return digest

    def asker(self, key: str | None) -> Requester | None:
        """Whose API key it is, or nobody's without one.

        Raises:
            BadKey: The key is unknown or revoked, or the workspace has no accounts.
            LedgerUnusable: The ledger of accounts cannot be read.
        """
        if not key:
            return None
        register = self.register()
        if register is None:
            self._refuse_keys_without_accounts()
        return self.with_ledger(requester_of(register.key(key)))

    def register(self) -> Register | None:
        """All accounts and keys as they are now; None where there is no ledger.

        Raises:
            LedgerUnusable: The ledger of accounts cannot be read.
        """
        from discreet.ledger.accounts import Accounts  # noqa: PLC0415 - a table without a key needs no database
        from discreet.ledger.database import open_database  # noqa: PLC0415

        if self._accounts is None:
            if not has_ledger(self.folder):
                return None
            self._accounts = open_database(ledger_location(self.folder))
        return Accounts(self._accounts).register()

    def accounts_stamp(self) -> object:
        """When the ledger's file was written last; None where it is none."""
        place = self._ledger_place = self._ledger_place or ledger_location(self.folder)
        if isinstance(place, str):
            return None
        return [_file_stamp(place), _file_stamp(place.with_name(f"{place.name}-wal"))]

    def with_ledger(self, asker: Requester) -> Requester:
        """Who asks, with the place where what they use is written down: where accounts were read, it is known."""
        return replace(asker, database=self._accounts)

    def _refuse_keys_without_accounts(self) -> NoReturn:
        """Without a ledger there are no accounts, and no key is one of theirs; what must be charged is refused elsewhere."""
        raise BadKey(
            message("The API key is not accepted: this server has no accounts."),
            message("Ask without a key. A custodian makes accounts with `discreet account create`."),
        )

    def close(self) -> None:
        """Let go of all records, and of the ledger."""
        for stored in self._open.values():
            stored.engine.close()
        self._open.clear()
        if self._ledger is not None:
            self._ledger.close()

    def _current(self, dataset_id: str) -> str:
        if not self.has(dataset_id):
            raise dataset_not_found(dataset_id, self.ids())
        pointer = self.folder / "datasets" / dataset_id / CURRENT
        digest = pointer.read_text("ascii", errors="replace").strip()
        if not DIGEST.match(digest):
            raise WorkspaceUnusable(f'The pointer of "{dataset_id}" is damaged.', "Load the dataset again.")
        return digest

    def _read(self, dataset_id: str, digest: str) -> StoredDataset:
        folder = self.folder / "datasets" / dataset_id / digest
        secret = read_secret(self.folder / "secret")
        version = read_version(folder, secret)
        dataset = apply_labels(folder.parent, digest, version, secret)
        protector = self._protector(version, secret, folder)
        engine = open_engine(folder, version, secret, self.threads)
        return StoredDataset(
            dataset,
            digest,
            engine,
            protector,
            version.revisions.arithmetic,
            parse_rules(dataset.rules, dataset),
        )

    def _protector(self, version: Version, secret: Secret, folder: Path) -> Protector:
        dataset = version.dataset
        if not isinstance(version.noise, NoisePlan):
            keys = cell_keys(secret, noise_lineage(dataset), dataset.protection, version.noise.modulus)
            dice = cell_chances(secret, noise_lineage(dataset))
            if dataset.protection.zeros == "kept":
                return CellKeyProtector(keys, version.noise, dice)
            return CellKeyProtector(
                keys, version.noise, dice, EmptyCells(secret, dataset, version.noise.modulus)
            )
        from discreet.protect.description_keys import DescriptionNoise  # noqa: PLC0415 - only under dp
        from discreet.protect.dp_protector import DpProtector  # noqa: PLC0415
        from discreet.workspace.versions.charge_load import plan_budget  # noqa: PLC0415

        if self._ledger is None:
            self._ledger = open_ledger(self.folder)
        ledger = self._ledger.with_checkpoints(VersionCheckpoints(self.folder, secret, folder))
        ledger.refuse_other_terms(plan_budget(version.noise))
        source = DescriptionNoise(
            secret, dataset, dataset.version, version.fingerprint, version.noise.noise()
        )
        if version.noise.joint is None:
            return DpProtector(version.noise, source, ledger)
        from discreet.workspace.versions.public_parts import read_residuals  # noqa: PLC0415

        return DpProtector(version.noise, source, ledger, read_residuals(folder, version.noise.joint))
