"""A load without a trace: everything is checked as by a load, and nothing is written, stored or charged.

    describe -> noise -> read and check every record -> ask the ledger -> tell

Records pass through a folder that is removed; the ledger's transaction is undone. Where a workspace has no secret or
no ledger yet, throwaway ones stand in for them.

Comes from: `answer/load.py`. Goes to: `discreet load --dry-run`.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.model.dataset_toml import parse_dataset
from discreet.records.engine import DEFAULT_ENGINE, engine_kind
from discreet.records.intake import load_records
from discreet.records.secret import create_secret, read_secret
from discreet.rules.declared import parse_rules
from discreet.workspace.booking import book, refuse_other_promise
from discreet.workspace.engine_place import engine_wanted
from discreet.workspace.ledger_place import LEDGER, has_ledger, open_ledger, refuse_lost_ledger
from discreet.workspace.lineage import lineage_defaults
from discreet.workspace.load import noise_of
from discreet.workspace.schema import refuse_newer_workspace

if TYPE_CHECKING:
    from discreet.ledger.entries import Receipt
    from discreet.ledger.ledger import Ledger
    from discreet.model.dataset import Dataset
    from discreet.noise.table import NoiseTable
    from discreet.protect.plan import NoisePlan
    from discreet.records.intake import Progress


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a load would do.

    Args:
        dataset: The description.
        noise: What would protect it.
        receipt: Under `dp`, what would be charged and left; `repeat` where it is paid for already.
    """

    dataset: Dataset
    noise: NoiseTable | NoisePlan
    receipt: Receipt | None


def rehearse_load(
    folder: Path,
    description: str,
    records: object,
    progress: Progress = lambda _what, _done, _of: None,
    beside: Path = Path(),
    engine: str | None = None,
) -> Rehearsal:
    """Check everything that a load checks, and tell what it would charge; takes what `load_dataset` takes.

    Raises:
        BadDescription, BadData, BudgetSpent: The load would be refused for the same reason.
    """
    refuse_newer_workspace(folder)
    dataset = parse_dataset(description, lineage_defaults(folder, description))
    engine_kind(engine_wanted(folder, dataset, engine) or DEFAULT_ENGINE)
    parse_rules(dataset.rules, dataset)
    noise = noise_of(dataset, beside)
    refuse_other_promise(folder, dataset)
    with tempfile.TemporaryDirectory(prefix="discreet-dry-run-") as name:
        aside = Path(name)
        create_secret(aside / "secret")
        has_secret = (folder / "secret").exists()
        secret = read_secret((folder if has_secret else aside) / "secret")
        nowhere = replace(engine_kind(DEFAULT_ENGINE), store=lambda *_given: None)
        loaded = load_records(records, dataset, description, secret, aside, nowhere, progress)
        ledger = _ledger(folder, aside)
        try:
            receipt = book(ledger, dataset, noise, loaded.fingerprint, spend=False)
        finally:
            ledger.close()
    return Rehearsal(dataset, noise, receipt)


def _ledger(folder: Path, aside: Path) -> Ledger:
    """The ledger of the workspace, or an empty one that is thrown away."""
    from discreet.ledger.ledger import Ledger  # noqa: PLC0415 - a table that no ledger pays for starts without it

    if has_ledger(folder):
        return open_ledger(folder)
    refuse_lost_ledger(folder)
    return Ledger.create(aside / LEDGER)
