"""Where a workspace keeps its ledger: `ledger.sqlite` beside the datasets, or the database that an option names.

A ledger is made when the first account or the first load under `dp` needs one, and never again: where something was
charged, a missing ledger means that nobody knows what was spent, and nothing is answered.

The database is imported by the functions that open it: a table that no ledger pays for starts without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import LedgerUnusable, NotFound
from discreet.model.revision import knows_arithmetic
from discreet.records.keys import Purpose, Secret, read_secret
from discreet.workspace.options import read_options
from discreet.workspace.versions.checkpoints import MARK, VersionCheckpoints
from discreet.workspace.versions.version import FINGERPRINT, read_revisions, read_version

if TYPE_CHECKING:
    from discreet.ledger.accounts import Accounts
    from discreet.ledger.ledger import Ledger


LEDGER = "ledger.sqlite"


def ledger_location(folder: Path) -> Path | str:
    """The file of the ledger, or the URL that the option `ledger` gives."""
    return read_options(folder).ledger or folder / LEDGER


def open_ledger(folder: Path) -> Ledger:
    """The ledger of a workspace, checked.

    Raises:
        LedgerUnusable: It is missing, damaged, out of reach, or does not add up.
        WorkspaceUnusable: A version has lost its mark, which may have known of charges that this ledger does not.
    """
    from discreet.ledger.ledger import Ledger

    secret = read_secret(folder / "secret")
    _refuse_lost_marks(folder, secret)
    return Ledger.open(ledger_location(folder), chain_key(secret), VersionCheckpoints(folder, secret))


def _refuse_lost_marks(folder: Path, secret: Secret) -> None:
    """A charged version without a mark must be one of before there were marks: its revision or its seal tells."""
    for charged in sorted((folder / "datasets").glob(f"*/[0-9a-f]*/{FINGERPRINT}")):
        place = charged.parent
        if not (place / MARK).is_file() and knows_arithmetic(read_revisions(place).arithmetic):
            read_version(place, secret)


def ledger_if_any(folder: Path) -> Ledger | None:
    """The ledger of a workspace; None where there is none, or no secret yet: then nothing was ever loaded.

    Raises:
        LedgerUnusable: It cannot be used.
    """
    return open_ledger(folder) if has_ledger(folder) and (folder / "secret").exists() else None


def chain_key(secret: Secret) -> bytes:
    """The key of the chain of a workspace's ledger."""
    return secret.derive(Purpose.LEDGER_CHAIN)


def ledger_for_loading(folder: Path) -> Ledger:
    """The ledger of a workspace; a new one where nothing was ever charged."""
    _create_if_missing(folder)
    return open_ledger(folder)


def _create_if_missing(folder: Path) -> None:
    from discreet.ledger.database import create_database, is_empty

    place = ledger_location(folder)
    if is_empty(place):
        refuse_lost_ledger(folder)
        create_database(place).close()


def refuse_lost_ledger(folder: Path) -> None:
    """A workspace without a ledger must never have charged anything.

    Raises:
        LedgerUnusable: Datasets were charged to a ledger that is not there.
    """
    places = ("*/[0-9a-f]*", "*/removed/*")
    names = [f"{place}/{name}" for place in places for name in (FINGERPRINT, MARK)]
    if any(found for name in names for found in (folder / "datasets").glob(name)):
        raise LedgerUnusable(
            "The ledger is missing, and datasets were charged to it or are known by it.",
            "Restore the newest copy: without it nobody knows what was spent.",
        )


def open_accounts(folder: Path) -> Accounts:
    """The accounts of a workspace; their ledger is made when the first is needed.

    Raises:
        NotFound: There is no such folder.
    """
    from discreet.ledger.accounts import Accounts
    from discreet.ledger.database import open_database

    if not folder.is_dir():
        raise NotFound(f"There is no folder {str(folder)!r}.", "Name a workspace with --workspace.")
    _create_if_missing(folder)
    return Accounts(open_database(ledger_location(folder)))


def has_ledger(folder: Path) -> bool:
    """Whether a workspace has a ledger: it needs one for accounts and for what is loaded under `dp`."""
    from discreet.ledger.database import is_empty

    return not is_empty(ledger_location(folder))
