"""A workspace: a folder with datasets in versions, and the secret.

    secret                                   readable by its owner only
    workspace.toml                           settings, optional
    ledger.sqlite                            accounts and what they have used, when needed
    datasets/<id>/current                    the digest of the version that is served
    datasets/<id>/<digest>/dataset.toml      the description
    datasets/<id>/<digest>/noise.json        the noise table, as integers
    datasets/<id>/<digest>/secret.check      tells whether the secret is the one of the load
    datasets/<id>/<digest>/data.duckdb       the records

A load writes a new version beside the others and then replaces `current` by a rename: a reader sees the
old version or the new one, never half of either. Everything but a load opens data read-only.

Comes from: the faces. Goes to: `pipeline`, as a `StoredDataset`.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from discreet.accounting.accounts import Accounts
from discreet.accounting.group_meter import Asker
from discreet.accounting.ledger_database import create_database, open_database
from discreet.errors import (
    BadDescription,
    BadRequest,
    DiscreetError,
    NotFound,
    SecretUnusable,
    UnknownDataset,
    WorkspaceUnusable,
    nearest,
)
from discreet.keys.cell_keys import cell_keys
from discreet.keys.secret import create_secret, read_secret
from discreet.mechanism.families import build
from discreet.mechanism.files import content_hash, read_noise_table, write_noise_table
from discreet.mechanism.kept_zero import with_kept_zero
from discreet.microdata.load import load_records
from discreet.microdata.storage import DATABASE
from discreet.model.dataset_toml import parse_dataset
from discreet.model.protection import DEFAULT_MODULUS
from discreet.rules.declared import parse_rules
from discreet.rules.slivers import counted_variables, slivers
from discreet.rules.verdict import COUNT_RULES
from discreet.tabulate.duckdb_engine import DuckDBEngine
from discreet.tabulate.engine import AggregateQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.accounting.ledger_database import LedgerDatabase
    from discreet.keys.cell_keys import CellKeys
    from discreet.keys.secret import Secret
    from discreet.mechanism.noise_table import NoiseTable
    from discreet.microdata.load import Progress
    from discreet.model.dataset import Dataset
    from discreet.model.protection import Protection
    from discreet.model.request import TableRequest
    from discreet.rules.declared import Rule
    from discreet.rules.verdict import Verdict
    from discreet.tabulate.engine import Engine

_DIGEST = re.compile(r"[0-9a-f]{32}\Z")
DESCRIPTION = "dataset.toml"
NOISE = "noise.json"
LEDGER = "ledger.sqlite"
SECRET_CHECK = "secret.check"  # noqa: S105 - a file name


@dataclass(frozen=True)
class StoredDataset:
    """One version of a dataset, ready to be asked: description, records, noise and the way to cell keys."""

    dataset: Dataset
    digest: str
    engine: Engine
    noise: NoiseTable
    cell_keys: CellKeys
    rules: tuple[Rule, ...] = ()
    verdicts: dict[TableRequest, Verdict] = field(default_factory=dict, compare=False)

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
        self.folder = folder
        self._threads = threads
        self._open: dict[str, StoredDataset] = {}
        self._accounts: LedgerDatabase | None = None
        self._opening = threading.Lock()

    def ids(self) -> list[str]:
        """The datasets that can be asked."""
        found = (self.folder / "datasets").iterdir()
        return sorted(entry.name for entry in found if (entry / "current").is_file())

    def stored(self, dataset_id: str) -> StoredDataset:
        """The current version of a dataset; one `open` a version, however often it is asked.

        Raises:
            UnknownDataset: With the nearest match.
            SecretUnusable, WorkspaceUnusable: Nothing is answered.
        """
        if dataset_id not in self.ids():
            raise UnknownDataset(f'There is no dataset "{dataset_id}".', nearest(dataset_id, self.ids()))
        digest = self._current(dataset_id)
        with self._opening:  # the server asks from many threads
            if digest not in self._open:
                self._open[digest] = self._read(dataset_id, digest)
            return self._open[digest]

    def asker(self, key: str | None) -> Asker | None:
        """Whose API key it is, or nobody's without one.

        Raises:
            BadKey: The key is unknown or revoked.
            LedgerUnusable: The workspace has no ledger of accounts, or it cannot be read.
        """
        if not key:
            return None
        if self._accounts is None:
            self._accounts = open_database(self.folder / LEDGER)
        return Asker(Accounts(self._accounts).holder(key).account, self._accounts)

    def close(self) -> None:
        """Let go of all records."""
        for stored in self._open.values():
            stored.engine.close()
        self._open.clear()

    def _current(self, dataset_id: str) -> str:
        digest = (
            (self.folder / "datasets" / dataset_id / "current").read_text("ascii", errors="replace").strip()
        )
        if not _DIGEST.match(digest):
            raise WorkspaceUnusable(f'The pointer of "{dataset_id}" is damaged.', "Load the dataset again.")
        return digest

    def _read(self, dataset_id: str, digest: str) -> StoredDataset:
        version = self.folder / "datasets" / dataset_id / digest
        try:
            description = (version / DESCRIPTION).read_text("utf-8")
            dataset = parse_dataset(description)
        except OSError:
            raise WorkspaceUnusable(
                f'The version {digest[:8]} of "{dataset_id}" is not complete.', "Load the dataset again."
            ) from None
        secret = read_secret(self.folder / "secret")
        _refuse_other_secret(version, secret)
        noise = _read_noise(version / NOISE)
        _refuse_altered(version, secret, description, noise)
        keys = cell_keys(secret, dataset.lineage, dataset.protection, noise.modulus)
        engine = DuckDBEngine(version / DATABASE, threads=self._threads)
        return StoredDataset(dataset, digest, engine, noise, keys, parse_rules(dataset.rules, dataset))


def accounts_of(folder: Path) -> Accounts:
    """The accounts of a workspace; their ledger is made when the first is needed."""
    path = folder / LEDGER
    return Accounts(open_database(path) if path.exists() else create_database(path))


def load_dataset(
    folder: Path,
    description: str,
    records: object,
    progress: Progress = lambda _what, _done, _of: None,
    beside: Path = Path(),
    caution: Callable[[str], None] = lambda _sentence: None,
) -> str:
    """Load records into a workspace, creating it if need be; returns the new version's digest.

    Nothing is left behind when the load is refused, and the version that was served is still served.

    Args:
        folder: The workspace.
        description: The text of `dataset.toml`.
        records: A path, frame, table or stream.
        progress: Told as the load goes on.
        beside: The folder of the description: a noise table's file is looked for there.
        caution: Told, for the custodian's eyes only, of declared groups that differ by a few people.
    """
    dataset = parse_dataset(description)
    _refuse_additive_weights(dataset, parse_rules(dataset.rules, dataset))
    noise = noise_of(dataset, beside)
    home = folder / "datasets" / dataset.id
    home.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    secret = _the_secret(folder)
    with FileLock(home / ".lock"):
        _sweep(home)
        loading = home / f".loading-{secrets.token_hex(8)}"
        loading.mkdir(mode=0o700)
        try:
            digest = load_records(
                records, dataset, description + content_hash(noise), secret, loading, progress
            )
            (loading / DESCRIPTION).write_text(description, "utf-8")
            write_noise_table(noise, loading / NOISE)
            (loading / SECRET_CHECK).write_text(_seal(secret, digest, description, noise), "ascii")
            if (home / digest).exists() and not _is_sound(home / digest, secret):
                (home / digest).rename(home / f".loading-{secrets.token_hex(8)}")
            if not (home / digest).exists():
                loading.rename(home / digest)
            for sentence in slivers(dataset, _one_way_counts(home / digest / DATABASE, dataset)):
                caution(sentence)
            _point(home, digest)
        finally:
            shutil.rmtree(loading, ignore_errors=True)
    return digest


def noise_of(dataset: Dataset, beside: Path = Path()) -> NoiseTable:
    """The noise table that a dataset's protection asks for: designed, or read from a file; zeros are kept.

    Raises:
        BadDescription: It cannot be had, or has another number of keys.
    """
    protection = dataset.protection
    parameters = dict(protection.noise)
    try:
        if "file" in parameters:
            table = read_noise_table(beside / str(parameters.pop("file")), **parameters)
        else:
            modulus = protection.modulus or (256 if protection.keys == "abs" else DEFAULT_MODULUS)
            table = build(str(parameters.pop("family")), parameters, modulus)
    except (BadRequest, NotFound, TypeError) as error:
        message = error.message if isinstance(error, DiscreetError) else f"{error}."
        raise BadDescription(f"[protection.noise]: {message}", getattr(error, "advice", "")) from None
    _refuse_other_keys(table, protection)
    if table.largest == 0:
        raise BadDescription("The noise table changes no count.", "Use one that protects.")
    return with_kept_zero(table)


def _refuse_other_keys(table: NoiseTable, protection: Protection) -> None:
    """A noise table must cover the protection's keys."""
    wanted = 256 if protection.keys == "abs" else protection.modulus
    if wanted is not None and wanted != table.modulus:
        raise BadDescription(
            f"The noise table covers {table.modulus} keys, and the protection asks for {wanted}.",
            "Leave out `modulus`, or use a table of that size.",
        )


def _one_way_counts(path: Path, dataset: Dataset) -> dict[str, dict[str, int]]:
    """True counts of single variables, for the custodian's cautions and nothing else."""
    engine = DuckDBEngine(path)
    try:
        found = {}
        for name in counted_variables(dataset):
            cells = engine.aggregate(AggregateQuery((name,)))
            codes = dataset.variable(name).codes
            found[name] = {
                codes[c]: n for c, n in zip(cells.codes[0].tolist(), cells.counts.tolist(), strict=True)
            }
        return found
    finally:
        engine.close()


def _seal(secret: Secret, digest: str, description: str, noise: NoiseTable) -> str:
    """Two values that only the secret of the load gives: of the version's name, and of what protects it."""
    protection = secret.derive("version-seal", digest, description, content_hash(noise))
    return f"{secret.derive('secret-check', digest).hex()}\n{protection.hex()}\n"


def _refuse_other_secret(version: Path, secret: Secret) -> None:
    """Records keyed by one secret and cells by another would change every published number."""
    path = version / SECRET_CHECK
    expected = secret.derive("secret-check", version.name).hex()
    if not path.is_file() or path.read_text("ascii", errors="replace").split("\n")[0] != expected:
        raise SecretUnusable(
            f"The secret is not the one with which version {version.name[:8]} was loaded.",
            "Restore the workspace's `secret` from your backup.",
        )


def _refuse_altered(version: Path, secret: Secret, description: str, noise: NoiseTable) -> None:
    """A description or noise table that was edited after the load protects nothing that was promised."""
    if (version / SECRET_CHECK).read_text("ascii") != _seal(secret, version.name, description, noise):
        raise WorkspaceUnusable(
            f"Version {version.name[:8]} was changed after it was loaded.", "Load the dataset again."
        )


def _the_secret(folder: Path) -> Secret:
    """The workspace's secret; a new one only where nothing was ever loaded with another."""
    loaded = [current.parent for current in (folder / "datasets").glob("*/current")]
    if not loaded:
        create_secret(folder / "secret")
    secret = read_secret(folder / "secret")
    for home in loaded:
        digest = (home / "current").read_text("ascii", errors="replace").strip()
        if _DIGEST.match(digest) and (home / digest / SECRET_CHECK).is_file():
            _refuse_other_secret(home / digest, secret)
    return secret


def _is_sound(version: Path, secret: Secret) -> bool:
    """Whether a version that is already there can be served as it is."""
    try:
        _refuse_other_secret(version, secret)
        text = (version / DESCRIPTION).read_text("utf-8")
        _refuse_altered(version, secret, text, _read_noise(version / NOISE))
        DuckDBEngine(version / DATABASE).close()
    except (DiscreetError, OSError):
        return False
    return True


def _read_noise(path: Path) -> NoiseTable:
    """The stored integers; anything wrong with them means no answers."""
    try:
        return read_noise_table(path)
    except DiscreetError as error:
        raise WorkspaceUnusable(
            f"The noise table of version {path.parent.name[:8]} cannot be used. {error.message}",
            "Load the dataset again.",
        ) from None


def _refuse_additive_weights(dataset: Dataset, rules: tuple[Rule, ...]) -> None:
    """Weighted counts that are exact but for noise in steps of one weight add up: a withheld area follows."""
    if (
        dataset.survey is not None
        and dataset.survey.form == "overall-average"
        and any(isinstance(rule, COUNT_RULES) for rule in rules)
    ):
        raise BadDescription(
            "The weight form overall-average does not go with rules that withhold areas: "
            "what is withheld follows from the rest.",
            "Use another weight form.",
        )


def _sweep(home: Path) -> None:
    """Remove what an interrupted load left."""
    for remains in home.glob(".loading-*"):
        shutil.rmtree(remains, ignore_errors=True)


def _point(home: Path, digest: str) -> None:
    """Replace `current` in one step, after what it points to is on disk."""
    pointer = home / f".current-{secrets.token_hex(8)}"
    with pointer.open("w", encoding="ascii") as file:
        file.write(digest + "\n")
        file.flush()
        os.fsync(file.fileno())
    pointer.replace(home / "current")
