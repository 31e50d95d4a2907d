"""Where a workspace keeps its ledger: `ledger.sqlite` beside the datasets, or the database that an option names.

A ledger is made when the first account or the first load under `dp` needs one, and never again: where something was
charged, a missing ledger means that nobody knows what was spent, and nothing is answered.

The database is imported by the functions that open it: a table that no ledger pays for starts without it.

Comes from: `load`, `Workspace`, `cli`. Goes to: `ledger`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import LedgerUnusable
from discreet.workspace.options import read_options
from discreet.workspace.version import FINGERPRINT

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.ledger.accounts import Accounts
    from discreet.ledger.ledger import Ledger

LEDGER = "ledger.sqlite"


def ledger_place(folder: Path) -> Path | str:
    """The file of the ledger, or the URL that the option `ledger` gives."""
    return read_options(folder).ledger or folder / LEDGER


def open_ledger(folder: Path) -> Ledger:
    """The ledger of a workspace, checked.

    Raises:
        LedgerUnusable: It is missing, damaged, out of reach, or does not add up.
    """
    from discreet.ledger.ledger import Ledger

    return Ledger.open(ledger_place(folder))


def ledger_for_loading(folder: Path) -> Ledger:
    """The ledger of a workspace; a new one where nothing was ever charged."""
    from discreet.ledger.database import create_database, is_empty

    place = ledger_place(folder)
    if is_empty(place):
        refuse_lost_ledger(folder)
        create_database(place).close()
    return open_ledger(folder)


def refuse_lost_ledger(folder: Path) -> None:
    """A workspace without a ledger must never have charged anything.

    Raises:
        LedgerUnusable: Datasets were charged to a ledger that is not there.
    """
    if any((folder / "datasets").glob(f"*/[0-9a-f]*/{FINGERPRINT}")):
        raise LedgerUnusable(
            "The ledger is missing, and datasets were charged to it.",
            "Restore the newest copy: without it nobody knows what was spent.",
        )


def accounts_of(folder: Path) -> Accounts:
    """The accounts of a workspace; their ledger is made when the first is needed."""
    from discreet.ledger.accounts import Accounts
    from discreet.ledger.database import is_empty, open_database

    place = ledger_place(folder)
    if not is_empty(place):
        return Accounts(open_database(place))
    return Accounts(ledger_for_loading(folder).database)


def has_ledger(folder: Path) -> bool:
    """Whether a workspace has a ledger: it needs one for accounts and for what is loaded under `dp`."""
    from discreet.ledger.database import is_empty

    return not is_empty(ledger_place(folder))
