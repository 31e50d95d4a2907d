"""Loading records into a workspace: a new version beside the others, charged if it must be, then current by a rename.

    describe -> noise -> read and store -> roll up -> compare -> measure (joint) -> seal -> compare with earlier versions
    -> keep -> charge (dp) -> settle -> verify -> write the history -> point

Nothing is left behind when a load is refused, and the version that was served is still served. Under `dp` the whole
claim of the universe is charged to the budget before the version can be seen by anybody; a load that dies after the
charge is loaded again for free, since the same records and the same plan have the same name.

A load without a trace: everything is checked as by a load, and nothing is written, stored or charged.

    describe -> noise -> read and check every record -> ask the ledger -> tell

Records pass through a folder that is removed; the ledger's transaction is undone. Where a workspace has no secret or
no ledger yet, throwaway ones stand in for them.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock

from discreet.errors import BadDescription, BadRecords, BadRequest, DiscreetError, InfeasibleDesign, NotFound
from discreet.ledger.entries import Receipt
from discreet.ledger.ledger import Ledger
from discreet.model.boundaries import MOST_BYTES, Boundaries, read_boundaries
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.protection import DEFAULT_MODULUS, Protection
from discreet.model.revision import newest_arithmetic
from discreet.model.universe import dp_terms
from discreet.noise.families import build
from discreet.noise.files import read_noise_table
from discreet.noise.table import NoiseTable, keep_zero
from discreet.protect.best_composition import with_claim
from discreet.protect.charges import version_cost
from discreet.protect.joint_residuals import residual_cells
from discreet.protect.plan import NoisePlan, make_plan
from discreet.protect.promise import refuse_exact
from discreet.records.changes import Changes
from discreet.records.engine import DEFAULT_ENGINE, Engine, engine_kind, forget_records
from discreet.records.intake import load_records
from discreet.records.keys import Secret, create_secret, read_secret
from discreet.records.staging import Progress
from discreet.rules.rule_set import parse_rules
from discreet.workspace.folder_layout import refuse_newer_workspace, write_schema
from discreet.workspace.ledger_location import LEDGER, chain_key, ledger_if_any, refuse_lost_ledger
from discreet.workspace.sealed import fsync_path, fsync_tree, report_full_disk, seal_records, verify_records
from discreet.workspace.versions.charge_load import charge_load, record_load, refuse_other_method
from discreet.workspace.versions.checkpoints import VersionCheckpoints
from discreet.workspace.versions.history import read_history, write_history
from discreet.workspace.versions.id_overlap import IdOverlap, find_id_overlaps, write_sketch
from discreet.workspace.versions.lineage import lineage_defaults, lineage_keys
from discreet.workspace.versions.public_parts import write_residuals
from discreet.workspace.versions.version import (
    DIGEST,
    SECRET_CHECK,
    Revisions,
    Version,
    boundaries_hash,
    noise_hash,
    read_version,
    refuse_other_secret,
    write_version,
)
from discreet.workspace.versions.version_conflicts import (
    COLLECT,
    KEEP_KEYS,
    NEW_LINEAGE,
    Comparison,
    VersionConflicts,
    current_digest,
    validate_corrections,
)
from discreet.workspace.versions.version_engine import (
    engine_name,
    open_engine,
    verify_engine,
    write_first_cube,
)

Inspect = Callable[[Dataset, Engine], None]
Compare = Callable[[Dataset, Changes], None]


def load_dataset(
    folder: Path,
    description: str,
    records: object,
    progress: Progress = lambda _what, _done, _of: None,
    beside: Path = Path(),
    inspect: Inspect | None = None,
    engine: str | None = None,
    corrections: str = KEEP_KEYS,
    compare: Compare = lambda _before, _changes: None,
    charged: Callable[[Receipt], None] = lambda _receipt: None,
    recognised: Callable[[IdOverlap], None] = lambda _found: None,
    *,
    serve_beside: bool = False,
) -> str:
    """Load records into a workspace, creating it if need be; returns the digest of the version that is served.

    Args:
        folder: The workspace.
        description: The text of `dataset.toml`.
        records: A path, frame, table or stream.
        progress: Told as the load goes on.
        beside: The folder of the description: a noise table's file and boundaries are looked for there.
        inspect: Shown the dataset and its engine before the version is served: `release/load_cautions.py`
            cautions the custodian.
        engine: The engine that keeps the records; by default the one that `[engine]` names, or DuckDB.
        corrections: What is done where records differ from those that are served (`corrections.py`).
        compare: Shown the description that is served and what changed against its records, before anything is charged
            or served.
        charged: Under `dp`, told what was charged as soon as it is.
        recognised: Told of each other dataset that has ids of these records, before anything is charged or served.
        serve_beside: Whether earlier versions are answered beside this one, however few records differ.
    """
    refuse_newer_workspace(folder)
    defaults = lineage_defaults(folder, description)
    dataset = parse_dataset(description, defaults)
    wanted = engine_name(folder, dataset, engine)
    kind = engine_kind(wanted or DEFAULT_ENGINE)
    parse_rules(dataset.rules, dataset)
    noise, shapes = noise_for(dataset, beside), read_boundary_files(dataset, beside)
    home = folder / "datasets" / dataset.id
    validate_corrections(corrections, dataset, home)
    with report_full_disk(dataset.id, folder), _loading_folder(folder, home) as (secret, loading):
        refuse_other_method(folder, dataset)
        keys = lineage_keys(folder, dataset) + (corrections == NEW_LINEAGE)
        revisions = Revisions(newest_arithmetic(), defaults, keys)
        dataset = revisions.keyed(dataset)
        named_by = description + noise_hash(noise) + revisions.text + boundaries_hash(shapes)
        loaded = load_records(records, dataset, named_by, secret, loading, kind, progress)
        write_first_cube(loading, dataset, kind, secret, loaded)
        comparison = Comparison(loading, dataset, kind, secret)
        served = current_digest(home)
        against_served = comparison.compare_with(home / served) if served else None
        if against_served is not None:
            compare(against_served[0].dataset, against_served[1])
        if corrections == COLLECT:
            return served
        _refuse_second_engine(home / loaded.digest, wanted, secret)
        if isinstance(noise, NoisePlan) and noise.joint is not None:
            write_residuals(loading, dataset, noise.joint, kind, secret, loaded)
        write_sketch(loading, loaded.ids, secret, loaded.digest)
        for found in find_id_overlaps(folder, dataset, loaded.ids, secret):
            recognised(found)
        seal = seal_records(loading, secret, loaded.digest)
        version = Version(
            dataset, description, noise, revisions, seal, loaded.fingerprint, kind.name, shapes, marked=True
        )
        others = VersionConflicts(version, comparison, allowed=serve_beside)
        others.refuse_similar_dataset(folder)
        history = read_history(home, served, secret).after(loaded.digest, others.closing_reason(home))
        write_version(loading, version, loaded.digest, secret)
        fsync_tree(loading)
        receipt = charge_load(
            folder,
            dataset,
            noise,
            loaded.fingerprint,
            VersionCheckpoints(folder, secret, loading, loaded.digest),
        )
        if receipt is not None:
            charged(receipt)
        version = _settle(loading, home / loaded.digest, version, secret)
        if inspect is not None:
            _inspect_version(inspect, home / loaded.digest, version, secret)
        write_history(home, history, secret)
        set_current(home, loaded.digest)
    return loaded.digest


@contextmanager
def _loading_folder(folder: Path, home: Path) -> Iterator[tuple[Secret, Path]]:
    """The secret and an empty folder for a new version, which is gone afterwards; one load of a dataset at a time."""
    home.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    write_schema(folder)
    secret = _workspace_secret(folder)
    with FileLock(home / ".lock"):
        _sweep(home)
        loading = home / f".loading-{secrets.token_hex(8)}"
        loading.mkdir(mode=0o700)
        try:
            yield secret, loading
        finally:
            _delete_loading(loading)


def noise_for(dataset: Dataset, beside: Path = Path()) -> NoiseTable | NoisePlan:
    """What a dataset's protection asks for: a noise table that keeps zeros, or the plan of a universe.

    Raises:
        BadDescription: It cannot be had, does too little, or has another number of keys.
    """
    if dataset.protection.is_dp:
        terms, universe = dp_terms(dataset)
        try:
            plan = make_plan(dataset, universe, terms, dataset.protection.noise)
        except (BadRequest, TypeError) as error:
            raise _bad_noise(error) from None
        except InfeasibleDesign as error:
            raise BadDescription(
                f"The noise of this budget cannot be made: {error.message}",
                "Lower epsilon where the noise would change no count, or change [protection.noise].",
            ) from None
        refuse_exact(plan)
        if plan.joint is not None:
            residual_cells(plan.joint)  # too many are refused before a record is read
        plan = with_claim(plan)
        version_cost(plan)  # what cannot be promised is refused before a record is read
        return plan
    return cell_key_noise(dataset.protection, beside)


def read_boundary_files(dataset: Dataset, beside: Path = Path()) -> dict[str, Boundaries]:
    """The shapes that a description names, checked against the codes.

    Raises:
        BadDescription: A file is not there, or does not fit; with the codes that it lacks or has too many.
    """
    found = {}
    for variable in dataset.variables:
        if variable.boundaries:
            path = beside / variable.boundaries
            if not path.is_file():
                raise BadDescription(
                    f'The boundaries of "{variable.name}" are in "{variable.boundaries}", which is not there.',
                    "Put the file beside dataset.toml.",
                )
            if path.stat().st_size > MOST_BYTES:
                raise BadDescription(
                    f'"{variable.boundaries}" has more than {MOST_BYTES:,} bytes.',
                    "Simplify it, as with mapshaper.",
                )
            found[variable.name] = read_boundaries(path.read_bytes(), variable)
    return found


def cell_key_noise(protection: Protection, beside: Path = Path()) -> NoiseTable:
    """The noise table of the cell key method: designed, or read from a file; zeros are kept unless told otherwise."""
    parameters = dict(protection.noise)
    try:
        if "file" in parameters:
            table = read_noise_table(beside / str(parameters.pop("file")), **parameters)
        else:
            modulus = protection.modulus or (256 if protection.keys == "abs" else DEFAULT_MODULUS)
            table = build(str(parameters.pop("family")), parameters, modulus)
    except (BadRequest, NotFound, TypeError) as error:
        raise _bad_noise(error) from None
    _refuse_other_keys(table, protection)
    if table.largest == 0:
        raise BadDescription(
            "The noise table changes no count.",
            "Use a noise table that changes counts, or a family in [protection.noise].",
        )
    if protection.zeros == "kept":
        _refuse_made_up(table)
        return keep_zero(table)
    if table.keeps_zero or table.rows[0].values[0] < 0:
        raise BadDescription(
            'zeros = "perturbed" needs noise that shows some empty cells with people and none below zero.',
            "Use the family maxent with `made_up` and `dropped` in [protection.noise].",
        )
    return table


def _refuse_made_up(table: NoiseTable) -> None:
    """Half of a design must not be in force alone."""
    if {"made_up", "dropped"} & set(table.parameters):
        raise BadDescription(
            "`made_up` and `dropped` of [protection.noise] are for empty cells that are perturbed.",
            'Set `zeros = "perturbed"` in [protection], or take them out.',
        )


def _bad_noise(error: Exception) -> BadDescription:
    message = error.message if isinstance(error, DiscreetError) else f"{error}."
    return BadDescription(f"[protection.noise]: {message}", getattr(error, "advice", ""))


def _refuse_other_keys(table: NoiseTable, protection: Protection) -> None:
    """A noise table must cover the protection's keys."""
    wanted = 256 if protection.keys == "abs" else protection.modulus
    if wanted is not None and wanted != table.modulus:
        raise BadDescription(
            f"The noise table covers {table.modulus} keys, and the protection asks for {wanted}.",
            "Leave out `modulus`, or use a table of that size.",
        )


def _inspect_version(inspect: Inspect, place: Path, version: Version, secret: Secret) -> None:
    """Let a version be looked at before it is served."""
    with closing(open_engine(place, version, secret)) as engine:
        inspect(version.dataset, engine)


def _workspace_secret(folder: Path) -> Secret:
    """The workspace's secret; a new one only where nothing was ever loaded with another."""
    loaded = [current.parent for current in (folder / "datasets").glob("*/current")]
    if not loaded:
        create_secret(folder / "secret")
    secret = read_secret(folder / "secret")
    for home in loaded:
        digest = (home / "current").read_text("ascii", errors="replace").strip()
        if DIGEST.match(digest) and (home / digest / SECRET_CHECK).is_file():
            refuse_other_secret(home / digest, secret)
    return secret


def _settle(loading: Path, place: Path, version: Version, secret: Secret) -> Version:
    """Move a version to its place, unless it is there already and sound; tells the version that stands there.

    Either way all stored records are read again and compared with their seal before they are served.
    """
    there = _sound_version(place, secret)
    if there is not None:
        return there
    if place.exists():
        place.rename(place.parent / f".loading-{secrets.token_hex(8)}")
    loading.rename(place)
    fsync_path(place.parent)
    verify_records(place, version.records, secret)
    return version


def _sound_version(place: Path, secret: Secret) -> Version | None:
    """The version that is already there, if it can be served as it is."""
    try:
        version = read_version(place, secret)
        verify_records(place, version.records, secret)
        verify_engine(place, version, secret)
    except (DiscreetError, OSError):
        return None
    return version


def _refuse_second_engine(place: Path, wanted: str, secret: Secret) -> None:
    """A version that is served stays where it is: to replace it in place could leave nothing to serve."""
    there = _sound_version(place, secret) if wanted else None
    if there is not None and there.kept_by != wanted:
        raise BadRequest(
            f'These records are a version already, kept by the engine "{there.kept_by}".',
            f"Move it with `discreet move-engine --to {wanted}`: all numbers stay. Or leave the engine out.",
        )


def _sweep(home: Path) -> None:
    """Remove what an interrupted load left."""
    for remains in home.glob(".loading-*"):
        _delete_loading(remains)
    for mark in home.glob(".mark-*"):
        mark.unlink(missing_ok=True)


def _delete_loading(loading: Path) -> None:
    """Remove a folder that is not served, and what its engine keeps elsewhere."""
    if loading.is_dir():
        forget_records(loading)
        shutil.rmtree(loading, ignore_errors=True)


def set_current(home: Path, digest: str) -> None:
    """Replace `current` in one step, after what it points to is on disk."""
    pointer = home / f".current-{secrets.token_hex(8)}"
    try:
        with pointer.open("w", encoding="ascii") as file:
            file.write(digest + "\n")
            file.flush()
            os.fsync(file.fileno())
        pointer.replace(home / "current")
    finally:
        pointer.unlink(missing_ok=True)
    fsync_path(home)


@dataclass(frozen=True, slots=True)
class DryRun:
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
    recognised: tuple[IdOverlap, ...] = ()


def dry_run_load(
    folder: Path,
    description: str,
    records: object,
    progress: Progress = lambda _what, _done, _of: None,
    beside: Path = Path(),
    engine: str | None = None,
) -> DryRun:
    """Check everything that a load checks, and tell what it would charge; takes what `load_dataset` takes.

    Raises:
        BadDescription, BadData, BudgetSpent: The load would be refused for the same reason.
    """
    refuse_newer_workspace(folder)
    dataset = parse_dataset(description, lineage_defaults(folder, description))
    kind = engine_kind(engine_name(folder, dataset, engine) or DEFAULT_ENGINE)
    parse_rules(dataset.rules, dataset)
    noise = noise_for(dataset, beside)
    read_boundary_files(dataset, beside)
    refuse_other_method(folder, dataset)
    protected = folder if folder.is_dir() else None  # keyed records wait there, which only its owner can read
    with tempfile.TemporaryDirectory(prefix=".dry-run-", dir=protected) as name:
        aside = Path(name)
        create_secret(aside / "secret")
        has_secret = (folder / "secret").exists()
        secret = read_secret((folder if has_secret else aside) / "secret")
        nowhere = replace(kind, store=lambda *_given: None)
        loaded = load_records(records, dataset, description, secret, aside, nowhere, progress)
        with closing(_ledger_or_empty(folder, aside)) as ledger:
            receipt = record_load(ledger, dataset, noise, loaded.fingerprint, spend=False)
        before = _current_dataset(folder, dataset.id, secret)
    recognised = find_id_overlaps(folder, dataset, loaded.ids, secret)
    told = (loaded.left_out, loaded.surplus, recognised)
    return DryRun(dataset, noise, receipt, loaded.records, before, *told)


def _current_dataset(folder: Path, name: str, secret: Secret) -> Dataset | None:
    """The description of the version that is served."""
    home = folder / "datasets" / name
    digest = current_digest(home)
    try:
        return read_version(home / digest, secret).dataset if digest else None
    except DiscreetError:
        return None


def _ledger_or_empty(folder: Path, aside: Path) -> Ledger:
    """The ledger of the workspace, or an empty one that is thrown away."""
    from discreet.ledger.ledger import Ledger  # noqa: PLC0415 - a table that no ledger pays for starts without it

    ledger = ledger_if_any(folder)
    if ledger is not None:
        return ledger
    refuse_lost_ledger(folder)
    return Ledger.create(aside / LEDGER, chain_key(read_secret(aside / "secret")))
