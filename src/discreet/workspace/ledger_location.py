"""The location of a workspace's ledger: `ledger.sqlite` in its folder, or the database that the option `ledger` names.

A ledger is created by the first account or the first load under `dp`, and never again: if something was charged and the
ledger is missing, nothing is answered. Functions import the database when they open it: a table starts faster without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import LedgerUnusable, NotFound
from discreet.model.revision import knows_arithmetic
from discreet.records.keys import Purpose, Secret, read_secret
from discreet.workspace.options import read_options
from discreet.workspace.versions.checkpoints import VersionCheckpoints
from discreet.workspace.versions.version import FINGERPRINT, MARK, read_revisions, read_version, version_files

if TYPE_CHECKING:
    from discreet.ledger.accounts import Accounts
    from discreet.ledger.ledger import Ledger


LEDGER = "ledger.sqlite"


def ledger_location(folder: Path) -> Path | str:
    """The file of the ledger, or the URL that the option `ledger` gives."""
    return read_options(folder).ledger or folder / LEDGER


def open_ledger(folder: Path) -> Ledger:
    """Open and verify the ledger of a workspace.

    Raises:
        LedgerUnusable: It is missing, damaged, out of reach, or does not add up.
        WorkspaceUnusable: A version has lost its checkpoint, which may have named later charges.
    """
    from discreet.ledger.ledger import Ledger

    secret = read_secret(folder / "secret")
    for charged in sorted((folder / "datasets").glob(f"*/[0-9a-f]*/{FINGERPRINT}")):
        place = charged.parent
        if not (place / MARK).is_file() and knows_arithmetic(read_revisions(place).arithmetic):
            read_version(place, secret)  # refuses it, unless its seal is older than checkpoints
    return Ledger.open(ledger_location(folder), chain_key(secret), VersionCheckpoints(folder, secret))


def ledger_if_any(folder: Path) -> Ledger | None:
    """The ledger of a workspace; None without a ledger or a secret."""
    return open_ledger(folder) if has_ledger(folder) and (folder / "secret").exists() else None


def chain_key(secret: Secret) -> bytes:
    """The key of the ledger's hash chain."""
    return secret.derive(Purpose.LEDGER_CHAIN)


def ledger_for_loading(folder: Path) -> Ledger:
    """The ledger of a workspace; created if nothing was ever charged."""
    _create_if_missing(folder)
    return open_ledger(folder)


def _create_if_missing(folder: Path) -> None:
    from discreet.ledger.database import create_database

    if not has_ledger(folder):
        refuse_lost_ledger(folder)
        create_database(ledger_location(folder)).close()


def refuse_lost_ledger(folder: Path) -> None:
    """Refuse a workspace with datasets that were charged to a ledger that is missing."""
    if any(found for name in (FINGERPRINT, MARK) for found in version_files(folder, name)):
        raise LedgerUnusable(
            "The ledger is missing, although datasets are registered in it.",
            "Restore the newest copy; without it the spent privacy budget is unknown.",
        )


def open_accounts(folder: Path) -> Accounts:
    """The accounts of a workspace; creates their ledger if there is none."""
    from discreet.ledger.accounts import Accounts
    from discreet.ledger.database import open_database

    if not folder.is_dir():
        raise NotFound(f"There is no folder {str(folder)!r}.", "Name a workspace with --workspace.")
    _create_if_missing(folder)
    return Accounts(open_database(ledger_location(folder)))


def has_ledger(folder: Path) -> bool:
    """Whether a workspace has a ledger: accounts and loads under `dp` create one."""
    from discreet.ledger.database import is_empty

    return not is_empty(ledger_location(folder))
