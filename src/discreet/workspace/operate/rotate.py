"""A new secret. Every key follows from the secret, so nothing that was loaded with the old one can be answered with the new.

    retired-DATE/secret, retired-DATE/datasets/...   what there was; a workspace of its own without a ledger
    secret                                           new; every dataset is loaded again from its file

Under the cell key method every number changes: a reader who kept old tables has two numbers of the same people, whose
noise can be averaged. Under dp the records are noisy anew and each load is charged again; the ledger stays, and its chain
is made again under the new secret, so that older copies are refused. So a secret is rotated when it may be known to
others, and not by the calendar.

A rotation is a row of renames, and each can be the last before a process dies. The new secret waits in `secret.new` until
the ledger is chained under it, and what is replaced is collected in `retiring`. While that folder is there the workspace
is neither answered nor loaded into, and the next rotation goes on where the last one ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from discreet.errors import LedgerUnusable
from discreet.records.keys import create_secret, read_secret
from discreet.workspace.folder_layout import RETIRING, refuse_no_workspace
from discreet.workspace.ledger_location import chain_key, has_ledger, ledger_location, open_ledger
from discreet.workspace.sealed import fsync_path

#: The new secret, until the ledger is chained under it.
NEXT = "secret.new"
#: How the folder of an old secret begins.
RETIRED = "retired-"


@dataclass(frozen=True, slots=True)
class Rotation:
    """What a rotation did: where the old workspace stands, and which datasets must be loaded again."""

    retired: str
    datasets: tuple[str, ...]


def rotate(folder: Path) -> Rotation:
    """Put the secret and all that depends on it aside, and make a new one.

    Raises:
        NotFound: There is no workspace.
        SecretUnusable: There is no secret to be replaced.
    """
    aside = folder / RETIRING
    if not aside.is_dir():
        refuse_no_workspace(folder)
        read_secret(folder / "secret")
        create_secret(folder / NEXT)
        _rekey_ledger(folder)
        aside.mkdir(mode=0o700)  # from here on the workspace is opened by no one
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
    """Chain the ledger under the new secret, unless a rotation that was broken off has done so."""
    from discreet.ledger.ledger import Ledger  # noqa: PLC0415 - only where there is one

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
