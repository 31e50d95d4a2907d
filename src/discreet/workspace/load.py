"""Loading records into a workspace: a new version beside the others, charged if it must be, then current by a rename.

    describe -> noise -> read and store -> seal -> charge (dp) -> settle -> point

Nothing is left behind when a load is refused, and the version that was served is still served. Under `dp` the whole
claim of the universe is charged to the budget before the version can be seen by anybody; a load that dies after the
charge is loaded again for free, since the same records and the same plan have the same name.

Comes from: the faces. Goes to: a version on disk, the ledger.
"""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from discreet.errors import BadDescription, BadRequest, DiscreetError, NotFound
from discreet.ledger.entries import Budget
from discreet.model.dataset_toml import parse_dataset
from discreet.model.declared_dp import declared_dp
from discreet.model.protection import DEFAULT_MODULUS
from discreet.model.revision import newest_arithmetic
from discreet.noise.families import build
from discreet.noise.files import read_noise_table
from discreet.noise.kept_zero import with_kept_zero
from discreet.protect.charges import budget_cap, version_charge
from discreet.protect.plan import NoisePlan, make_plan
from discreet.protect.tightest import with_claim
from discreet.records.engine import DEFAULT_ENGINE, engine_kind
from discreet.records.intake import load_records
from discreet.records.secret import create_secret, read_secret
from discreet.rules.declared import parse_rules
from discreet.workspace.engine_place import engine_wanted, open_engine
from discreet.workspace.ledger_place import ledger_for_loading
from discreet.workspace.lineage import lineage_defaults, refuse_other_method
from discreet.workspace.revisions import Revisions
from discreet.workspace.schema import mark_workspace, refuse_newer_workspace
from discreet.workspace.version import (
    DIGEST,
    SECRET_CHECK,
    Version,
    noise_hash,
    read_version,
    refuse_other_secret,
    write_version,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.model.dataset import Dataset
    from discreet.model.protection import Protection
    from discreet.noise.table import NoiseTable
    from discreet.records.engine import Engine
    from discreet.records.intake import Progress
    from discreet.records.secret import Secret

    Inspect = Callable[[Dataset, Engine], None]


def load_dataset(
    folder: Path,
    description: str,
    records: object,
    progress: Progress = lambda _what, _done, _of: None,
    beside: Path = Path(),
    inspect: Inspect | None = None,
    engine: str | None = None,
) -> str:
    """Load records into a workspace, creating it if need be; returns the new version's digest.

    Args:
        folder: The workspace.
        description: The text of `dataset.toml`.
        records: A path, frame, table or stream.
        progress: Told as the load goes on.
        beside: The folder of the description: a noise table's file is looked for there.
        inspect: Shown the dataset and its engine before the version is served: `answer/load.py` cautions the custodian.
        engine: The engine that keeps the records; by default the one that `[engine]` names, or DuckDB.
    """
    refuse_newer_workspace(folder)
    revisions = Revisions(newest_arithmetic(), lineage_defaults(folder, description))
    dataset = parse_dataset(description, revisions.defaults)
    wanted = engine_wanted(folder, dataset, engine)
    kind = engine_kind(wanted or DEFAULT_ENGINE)
    parse_rules(dataset.rules, dataset)
    noise = noise_of(dataset, beside)
    home = folder / "datasets" / dataset.id
    home.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    mark_workspace(folder)
    secret = _the_secret(folder)
    with FileLock(home / ".lock"):
        _sweep(home)
        refuse_other_method(folder, dataset)
        loading = home / f".loading-{secrets.token_hex(8)}"
        loading.mkdir(mode=0o700)
        try:
            named_by = description + noise_hash(noise) + revisions.in_digest
            loaded = load_records(records, dataset, named_by, secret, loading, kind, progress)
            _refuse_second_engine(home / loaded.digest, wanted, secret)
            version = Version(dataset, description, noise, loaded.fingerprint, kind.name, revisions)
            write_version(loading, version, loaded.digest, secret)
            if isinstance(noise, NoisePlan):
                _charge(folder, version, noise)
            version = _settle(loading, home / loaded.digest, version, secret)
            if inspect is not None:
                _look(inspect, home / loaded.digest, version)
            _point(home, loaded.digest)
        finally:
            shutil.rmtree(loading, ignore_errors=True)
    return loaded.digest


def noise_of(dataset: Dataset, beside: Path = Path()) -> NoiseTable | NoisePlan:
    """What a dataset's protection asks for: a noise table that keeps zeros, or the plan of a universe.

    Raises:
        BadDescription: It cannot be had, or has another number of keys.
    """
    if dataset.protection.is_dp:
        terms, universe = declared_dp(dataset)
        try:
            return with_claim(make_plan(dataset, universe, terms, dataset.protection.noise))
        except (BadRequest, TypeError) as error:
            raise _bad_noise(error) from None
    return cell_key_noise(dataset.protection, beside)


def cell_key_noise(protection: Protection, beside: Path = Path()) -> NoiseTable:
    """The noise table of the cell key method: designed, or read from a file; zeros are kept."""
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
    return with_kept_zero(table)


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


def _charge(folder: Path, version: Version, plan: NoisePlan) -> None:
    """Charge the universe to its budget, before anybody can see the version."""
    dataset, terms = version.dataset, plan.terms
    ledger = ledger_for_loading(folder)
    try:
        budget = Budget(terms.name, budget_cap(terms), terms.composition, terms.neighbours)
        charge = version_charge(plan, dataset, dataset.version, version.fingerprint)
        ledger.charge_version(charge, dataset.id, dataset.version, version.fingerprint, budget)
    finally:
        ledger.close()


def _look(inspect: Inspect, place: Path, version: Version) -> None:
    """Let a version be looked at before it is served."""
    engine = open_engine(place, version)
    try:
        inspect(version.dataset, engine)
    finally:
        engine.close()


def _the_secret(folder: Path) -> Secret:
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
    """Move a version to its place, unless it is there already and sound; tells the version that stands there."""
    there = _sound_version(place, secret)
    if there is not None:
        return there
    if place.exists():
        place.rename(place.parent / f".loading-{secrets.token_hex(8)}")
    loading.rename(place)
    return version


def _sound_version(place: Path, secret: Secret) -> Version | None:
    """The version that is already there, if it can be served as it is."""
    try:
        version = read_version(place, secret)
        open_engine(place, version).close()
    except (DiscreetError, OSError):
        return None
    return version


def _refuse_second_engine(place: Path, wanted: str, secret: Secret) -> None:
    """A version that is served stays where it is: to replace it in place could leave nothing to serve."""
    there = _sound_version(place, secret) if wanted else None
    if there is not None and there.kept_by != wanted:
        raise BadRequest(
            f'These records are a version already, kept by the engine "{there.kept_by}".',
            "Load them with that engine, or give the description another `version`.",
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
