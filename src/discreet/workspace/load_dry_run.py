"""A load without a trace: everything is checked as by a load, and nothing is written, stored or charged.

    describe -> noise -> read and check every record -> ask the ledger -> tell

Records pass through a folder that is removed; the ledger's transaction is undone. Where a workspace has no secret or
no ledger yet, throwaway ones stand in for them.
"""

from __future__ import annotations

import tempfile
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError
from discreet.model.dataset_toml import parse_dataset
from discreet.records.engine import DEFAULT_ENGINE, engine_kind
from discreet.records.intake import load_records
from discreet.records.secret import create_secret, read_secret
from discreet.rules.declared import parse_rules
from discreet.workspace.booking import book, refuse_other_promise
from discreet.workspace.corrections import served_digest
from discreet.workspace.engine_place import engine_wanted
from discreet.workspace.ledger_place import LEDGER, chain_key, ledger_if_any, refuse_lost_ledger
from discreet.workspace.lineage import lineage_defaults
from discreet.workspace.load import boundaries_of, noise_of
from discreet.workspace.recognition import recognise
from discreet.workspace.schema import refuse_newer_workspace
from discreet.workspace.version import read_version

if TYPE_CHECKING:
    from discreet.errors import BadRecords
    from discreet.ledger.entries import Receipt
    from discreet.ledger.ledger import Ledger
    from discreet.model.dataset import Dataset
    from discreet.noise.table import NoiseTable
    from discreet.protect.plan import NoisePlan
    from discreet.records.secret import Secret
    from discreet.records.staging import Progress
    from discreet.workspace.recognition import Recognised


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a load would do.

    Args:
        dataset: The description.
        noise: What would protect it.
        receipt: Under `dp`, what would be charged and left; `repeat` where it is paid for already.
        records: How many records would be kept, for the custodian.
        before: The description that is served, if one is.
        left_out: Under `dp`, what does not fit and would not be kept, for the custodian.
        surplus: Under `dp`, how many records are too many of their unit, for the custodian.
        recognised: Other datasets that have ids of these records.
    """

    dataset: Dataset
    noise: NoiseTable | NoisePlan
    receipt: Receipt | None
    records: int
    before: Dataset | None
    left_out: BadRecords | None = None
    surplus: int = 0
    recognised: tuple[Recognised, ...] = ()


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
    kind = engine_kind(engine_wanted(folder, dataset, engine) or DEFAULT_ENGINE)
    parse_rules(dataset.rules, dataset)
    noise = noise_of(dataset, beside)
    boundaries_of(dataset, beside)
    refuse_other_promise(folder, dataset)
    protected = folder if folder.is_dir() else None  # keyed records wait there, which only its owner can read
    with tempfile.TemporaryDirectory(prefix=".dry-run-", dir=protected) as name:
        aside = Path(name)
        create_secret(aside / "secret")
        has_secret = (folder / "secret").exists()
        secret = read_secret((folder if has_secret else aside) / "secret")
        nowhere = replace(kind, store=lambda *_given: None)
        loaded = load_records(records, dataset, description, secret, aside, nowhere, progress)
        with closing(_ledger(folder, aside)) as ledger:
            receipt = book(ledger, dataset, noise, loaded.fingerprint, spend=False)
        before = _served(folder, dataset.id, secret)
    recognised = recognise(folder, dataset, loaded.ids, secret)
    told = (loaded.left_out, loaded.surplus, recognised)
    return Rehearsal(dataset, noise, receipt, loaded.records, before, *told)


def _served(folder: Path, name: str, secret: Secret) -> Dataset | None:
    """The description of the version that is served."""
    home = folder / "datasets" / name
    digest = served_digest(home)
    try:
        return read_version(home / digest, secret).dataset if digest else None
    except DiscreetError:
        return None


def _ledger(folder: Path, aside: Path) -> Ledger:
    """The ledger of the workspace, or an empty one that is thrown away."""
    from discreet.ledger.ledger import Ledger  # noqa: PLC0415 - a table that no ledger pays for starts without it

    ledger = ledger_if_any(folder)
    if ledger is not None:
        return ledger
    refuse_lost_ledger(folder)
    return Ledger.create(aside / LEDGER, chain_key(read_secret(aside / "secret")))
