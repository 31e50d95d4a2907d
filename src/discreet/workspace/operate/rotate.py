"""Rotate the secret. Every key is derived from it, so every dataset must be loaded again.

    retired-DATE/secret, retired-DATE/datasets/...   the old files: a workspace without a ledger
    secret                                           the new secret

Under the cell key method all numbers change, and the noise of old and new tables can be averaged. Under dp each load is
charged again; the ledger stays and is chained again under the new secret, so that older copies are refused. Rotate a secret
that may be known to others, not by the calendar.

A rotation is a series of renames that can be interrupted at any step. The new secret waits in `secret.new` until the
ledger is chained under it, and replaced files are collected in `retiring`. While that folder exists the workspace is
neither served nor loaded into, and the next rotation continues.
"""

from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from discreet.errors import LedgerUnusable
from discreet.ledger.ledger import Ledger
from discreet.records.keys import create_secret, read_secret
from discreet.workspace.folder_layout import RETIRING, dataset_folders, lock_dataset
from discreet.workspace.ledger_location import chain_key, has_ledger, ledger_location, open_ledger
from discreet.workspace.sealed import fsync_path

#: The new secret until the ledger is chained under it.
NEXT = "secret.new"
#: The prefix of the folder of an old secret.
RETIRED = "retired-"


@dataclass(frozen=True, slots=True)
class Rotation:
    """The folder of the old workspace, and the datasets that must be loaded again."""

    retired: str
    datasets: tuple[str, ...]


def rotate(folder: Path) -> Rotation:
    """Retire the secret and everything keyed by it, and create a new secret.

    Loads that are running finish first: one that lost its folder would have been charged for nothing.
    """
    aside = folder / RETIRING
    with ExitStack() as locks:
        if not aside.is_dir():
            for home in dataset_folders(folder):
                locks.enter_context(lock_dataset(home))
            read_secret(folder / "secret")
            create_secret(folder / NEXT)
            _rekey_ledger(folder)
            aside.mkdir(mode=0o700)  # from here on the workspace cannot be opened
        return _retire(folder, aside)


def _retire(folder: Path, aside: Path) -> Rotation:
    for name in ("datasets", "secret"):
        if not (aside / name).exists():
            (folder / name).rename(aside / name)
    if (folder / NEXT).exists():
        (folder / NEXT).rename(folder / "secret")
    (folder / "datasets").mkdir(mode=0o700, exist_ok=True)
    served = tuple(sorted(current.parent.name for current in (aside / "datasets").glob("*/current")))
    retired = folder / f"{RETIRED}{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
    aside.rename(retired)
    fsync_path(retired)
    fsync_path(folder)
    return Rotation(retired.name, served)


def _rekey_ledger(folder: Path) -> None:
    """Chain the ledger under the new secret, unless an interrupted rotation has done so."""
    if not has_ledger(folder):
        return
    place, key = ledger_location(folder), chain_key(read_secret(folder / NEXT))
    try:
        ledger = open_ledger(folder)
    except LedgerUnusable as refused:
        try:
            Ledger.open(place, key).close()
        except LedgerUnusable:
            raise refused from None
        return
    ledger.rekey(key)
    ledger.close()
