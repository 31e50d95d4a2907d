"""Load records into a workspace as a new version: one `LoadJob` in, one `LoadReport` out.

    parse and validate the description -> noise -> read and store the records -> first cube
    -> compare with the current version -> residuals (joint) -> seal -> compare with other versions -> fsync
    -> charge (dp) -> rename -> verify -> inspect -> write the history -> set current

A refused load leaves nothing behind, and the former version stays current. Under `dp` the whole claim of the universe is
charged before the version can be seen. A load that dies after the charge is retried for free: the same records and the same
plan have the same name in the ledger. A dry run validates the same and writes and charges nothing.
"""

import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from discreet.errors import BadDescription, BadRecords, BadRequest, DiscreetError, InfeasibleDesign, NotFound
from discreet.ledger.entries import LineageEntry, Receipt
from discreet.ledger.ledger import Ledger
from discreet.model.boundaries import Boundaries, read_boundaries
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.limits import MOST_BOUNDARY_BYTES
from discreet.model.protection import DEFAULT_MODULUS, Protection
from discreet.model.revision import newest_arithmetic
from discreet.model.survey import DEFINITION, GENERALISED
from discreet.model.universe import dp_terms
from discreet.noise.families import build
from discreet.noise.files import read_noise_table
from discreet.noise.table import NoiseTable, keep_zero
from discreet.protect.best_composition import with_claim
from discreet.protect.charges import version_budget, version_charge, version_cost
from discreet.protect.joint_residuals import residual_cells
from discreet.protect.plan import NoisePlan, make_plan
from discreet.protect.promise import refuse_exact
from discreet.records.changes import Changes
from discreet.records.engine import DEFAULT_ENGINE, Engine, EngineKind, engine_kind
from discreet.records.keys import Secret, create_secret, read_secret
from discreet.records.staging import Progress, load_records
from discreet.rules.rule_set import parse_rules
from discreet.workspace.folder_layout import (
    delete_records_folder,
    lock_dataset,
    refuse_newer_workspace,
    write_schema,
)
from discreet.workspace.ledger_location import (
    LEDGER,
    chain_key,
    ledger_for_loading,
    ledger_if_any,
    refuse_lost_ledger,
)
from discreet.workspace.sealed import (
    fsync_path,
    fsync_tree,
    make_private_folder,
    report_full_disk,
    seal_records,
    verify_records,
)
from discreet.workspace.versions.checkpoints import VersionCheckpoints
from discreet.workspace.versions.history import lineage_defaults, lineage_keys, read_history, write_history
from discreet.workspace.versions.public_parts import measure_survey, write_residuals
from discreet.workspace.versions.version import (
    SECRET_CHECK,
    Revisions,
    Version,
    boundaries_hash,
    current_digest,
    noise_hash,
    read_version,
    refuse_other_secret,
    set_current,
    write_version,
)
from discreet.workspace.versions.version_conflicts import (
    COLLECT,
    KEEP_KEYS,
    NEW_LINEAGE,
    Comparison,
    IdOverlap,
    find_id_overlaps,
    validate_corrections,
    write_sketch,
)
from discreet.workspace.versions.version_engine import (
    engine_name,
    open_engine,
    verify_engine,
    write_first_cube,
)


@dataclass(frozen=True, slots=True)
class LoadJob:
    """What to load, where and how.

    Args:
        folder: The workspace; created if it is missing.
        description: The text of `dataset.toml`.
        records: A path, frame, table or stream.
        progress: Called with a stage, how many records are done, and of how many.
        beside: The folder of the description, with the files that it names (noise table, boundaries).
        engine: The engine that stores the records; by default the one that `[engine]` names, or DuckDB.
        corrections: What to do if records differ from the current version's (`version_conflicts.py`).
        serve_beside: Whether earlier versions accept queries next to this one, however few records differ.
        inspect: Called with the dataset and its open engine before the version is served; returns cautions. A dry run calls
            it for a survey under the cell key method only.
    """

    folder: Path
    description: str
    records: object
    progress: Progress = lambda _what, _done, _of: None
    beside: Path = Path()
    engine: str | None = None
    corrections: str = KEEP_KEYS
    serve_beside: bool = False
    inspect: Callable[[Dataset, Engine], tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The result of a load or of a dry run, for the custodian only.

    Args:
        dataset: The description.
        digest: The version that is current afterwards; empty after a dry run.
        noise: The noise that protects it.
        records: How many records are stored.
        left_out: Under `dp`, the records that fail validation and are not stored.
        surplus: Under `dp`, how many records exceed `records_per_unit` and are not stored.
        before: The dataset of the version that was current before.
        changes: The differences from the records of that version; a dry run compares none.
        overlaps: Other datasets with the same ids.
        receipt: Under `dp`, the charge.
        cautions: As returned by `inspect`.
    """

    dataset: Dataset
    digest: str
    noise: NoiseTable | NoisePlan
    records: int
    left_out: BadRecords | None = None
    surplus: int = 0
    before: Dataset | None = None
    changes: Changes | None = None
    overlaps: tuple[IdOverlap, ...] = ()
    receipt: Receipt | None = None
    cautions: tuple[str, ...] = ()


class _Prepared(NamedTuple):
    """The parsed and validated description of a job; no record has been read."""

    dataset: Dataset
    defaults: int
    engine: str
    kind: EngineKind
    noise: NoiseTable | NoisePlan
    boundaries: dict[str, Boundaries]


def _prepare(job: LoadJob) -> _Prepared:
    refuse_newer_workspace(job.folder)
    defaults = lineage_defaults(job.folder, job.description)
    dataset = parse_dataset(job.description, defaults)
    engine = engine_name(job.folder, dataset, job.engine)
    kind = engine_kind(engine or DEFAULT_ENGINE)
    parse_rules(dataset.rules, dataset)
    noise, boundaries = noise_for(dataset, job.beside), _read_boundaries(dataset, job.beside)
    return _Prepared(dataset, defaults, engine, kind, noise, boundaries)


def load_dataset(folder: Path, description: str, records: object, **options: Any) -> str:
    """Load records; returns the digest of the version that is current afterwards. Takes the fields of a `LoadJob`."""
    return load(LoadJob(folder, description, records, **options)).digest


def load(job: LoadJob) -> LoadReport:
    """Load records as a new version, and serve it.

    Raises:
        BadDescription, BadData, BadRequest: The description or the records do not fit.
        BudgetSpent: Nothing was charged.
        SecretUnusable, WorkspaceUnusable, LedgerUnusable: The workspace cannot be used, or its disk is full.
    """
    dataset, defaults, engine, kind, noise, boundaries = _prepare(job)
    folder, home = job.folder, job.folder / "datasets" / dataset.id
    validate_corrections(job.corrections, dataset, home)
    with report_full_disk(dataset.id, folder), _loading_folder(folder, home) as (secret, loading):
        _refuse_other_method(folder, dataset)
        keys = lineage_keys(folder, dataset) + (job.corrections == NEW_LINEAGE)
        revisions = Revisions(newest_arithmetic(), defaults, keys)
        dataset = revisions.keyed(dataset)
        # Store the records in the loading folder. The version is named by everything that decides its numbers.
        named_by = job.description + noise_hash(noise) + revisions.text + boundaries_hash(boundaries)
        if dataset.measures:
            dataset, named_by = _with_measures(dataset, named_by)
        if dataset.survey is not None and dataset.survey.errors == GENERALISED:
            named_by += DEFINITION
        loaded = load_records(job.records, dataset, named_by, secret, loading, kind, job.progress)
        digest = loaded.digest
        write_first_cube(loading, dataset, kind, secret, loaded)
        dataset = measure_survey(loading, dataset, kind, secret)
        # Compare them with the current version.
        comparison, current = Comparison(loading, dataset, kind, secret), current_digest(home)
        report = LoadReport(dataset, current, noise, loaded.records, loaded.left_out, loaded.surplus)
        compared = comparison.compare_with(home / current) if current else None
        if compared is not None:
            report = replace(report, before=compared[0].dataset, changes=compared[1])
        if job.corrections == COLLECT:
            return report
        _refuse_second_engine(home / digest, engine, secret)
        if isinstance(noise, NoisePlan) and noise.joint is not None:
            write_residuals(loading, dataset, noise.joint, kind, secret, loaded)
        write_sketch(loading, loaded.ids, secret, digest)
        overlaps = find_id_overlaps(folder, dataset, loaded.ids, secret)
        records = seal_records(loading, secret, digest)
        parts = dataset, job.description, noise, revisions, records, loaded.fingerprint, kind.name, boundaries
        version = Version(*parts, marked=True)
        if not job.serve_beside:
            comparison.refuse_similar_dataset(folder, version)
        history = read_history(home, current, secret).after(
            digest, lambda other: "" if job.serve_beside else comparison.closing_reason(version, home / other)
        )
        # Seal and charge: from here on the records may be released.
        write_version(loading, version, digest, secret)
        fsync_tree(loading)
        checkpoints = VersionCheckpoints(folder, secret, loading, digest)
        with closing(ledger_for_loading(folder)) as opened:
            ledger = opened.with_checkpoints(checkpoints)
            receipt = _record_load(ledger, dataset, noise, loaded.fingerprint, spend=True)
        # Serve: rename the folder, verify it, and make it the current version.
        version = _settle(loading, home / digest, version, secret)
        cautions: tuple[str, ...] = ()
        if job.inspect is not None:
            with closing(open_engine(home / digest, version, secret)) as counting:
                cautions = job.inspect(version.dataset, counting)
        write_history(home, history, secret)
        set_current(home, digest)
    return replace(report, digest=digest, overlaps=overlaps, receipt=receipt, cautions=cautions)


def dry_run_load(job: LoadJob) -> LoadReport:
    """Make the checks of a load and report what it would charge; nothing is written.

    Records pass through a temporary folder, and the ledger's transaction is rolled back. A workspace without a secret or a
    ledger gets temporary ones.

    Raises:
        BadDescription, BadData, BudgetSpent: The load would be refused for the same reason.
    """
    dataset, _, _, kind, noise, _ = _prepare(job)
    folder, before = job.folder, None
    _refuse_other_method(folder, dataset)
    protected = folder if folder.is_dir() else None  # keyed records wait there, which only its owner can read
    with tempfile.TemporaryDirectory(prefix=".dry-run-", dir=protected) as name:
        aside = Path(name)
        create_secret(aside / "secret")
        has_secret = (folder / "secret").exists()
        secret = read_secret((folder if has_secret else aside) / "secret")
        # The gate of a survey's form needs records that can be counted: those of a file are stored aside.
        in_file = not str(job.records).startswith(f"{kind.name}:")
        weighed = dataset.survey is not None and not dataset.protection.is_dp and in_file
        aside_kind = engine_kind(DEFAULT_ENGINE) if weighed else replace(kind, store=lambda *_given: None)
        loaded = load_records(job.records, dataset, job.description, secret, aside, aside_kind, job.progress)
        cautions: tuple[str, ...] = ()
        if weighed:
            measure_survey(aside, dataset, aside_kind, secret)
            if job.inspect is not None:
                with closing(aside_kind.open(aside, dataset, None)) as counting:
                    cautions = job.inspect(dataset, counting)
        ledger = ledger_if_any(folder)
        if ledger is None:
            refuse_lost_ledger(folder)
            ledger = Ledger.create(aside / LEDGER, chain_key(read_secret(aside / "secret")))
        with closing(ledger):
            receipt = _record_load(ledger, dataset, noise, loaded.fingerprint, spend=False)
        home = folder / "datasets" / dataset.id
        with suppress(DiscreetError):
            before = read_version(home / digest, secret).dataset if (digest := current_digest(home)) else None
    overlaps = find_id_overlaps(folder, dataset, loaded.ids, secret)
    report = LoadReport(dataset, "", noise, loaded.records, loaded.left_out, loaded.surplus, before)
    return replace(report, overlaps=overlaps, receipt=receipt, cautions=cautions)


def inspect_records(job: LoadJob) -> tuple[str, ...]:
    """What `inspect` of a job finds in records that are stored for that time only; the form of a survey is not checked."""
    dataset = parse_dataset(job.description)
    kind = engine_kind(DEFAULT_ENGINE)
    with tempfile.TemporaryDirectory(prefix="discreet-inspect-") as name:
        aside = Path(name)
        create_secret(aside / "secret")
        secret = read_secret(aside / "secret")
        load_records(job.records, dataset, job.description, secret, aside, kind, job.progress)
        with closing(kind.open(aside, dataset, None)) as counting:
            return () if job.inspect is None else job.inspect(dataset, counting)


def _refuse_other_method(folder: Path, dataset: Dataset) -> None:
    """Refuse a lineage that the ledger knows under another method or budget, before a record is read.

    The ledger decides, not the folders: deleting a folder does not undo its releases.
    """
    ledger = ledger_if_any(folder)
    if ledger is not None:
        with closing(ledger):
            ledger.check_lineage(_lineage_entry(dataset))


def _record_load(
    ledger: Ledger, dataset: Dataset, noise: NoiseTable | NoisePlan, fingerprint: str, *, spend: bool
) -> Receipt | None:
    """Enter the lineage and charge its universe; without `spend` everything is checked and nothing is written.

    Raises:
        BadDescription: The lineage has another method or budget, or the version has other records.
        BudgetSpent: Nothing was charged.
    """
    if isinstance(noise, NoisePlan):
        charge = version_charge(noise, dataset, dataset.version, fingerprint)
        names = (dataset.id, dataset.version, fingerprint)
        budget = version_budget(noise)
        return ledger.charge_version(charge, *names, budget, lineage=dataset.lineage, spend=spend)
    enter = ledger.enter_lineage if spend else ledger.check_lineage
    enter(_lineage_entry(dataset))
    return None


def _lineage_entry(dataset: Dataset) -> LineageEntry:
    budget = dp_terms(dataset)[0].name if dataset.protection.is_dp else ""
    return LineageEntry(dataset.id, dataset.lineage, dataset.protection.method, budget)


@contextmanager
def _loading_folder(folder: Path, home: Path) -> Iterator[tuple[Secret, Path]]:
    for private in (folder, home.parent, home):
        make_private_folder(private)
    write_schema(folder)
    with lock_dataset(home):
        secret = _workspace_secret(folder)  # a rotation may have ended while this waited
        loading = home / f".loading-{secrets.token_hex(8)}"
        loading.mkdir(mode=0o700)
        try:
            yield secret, loading
        finally:
            delete_records_folder(loading)


def _with_measures(dataset: Dataset, named_by: str) -> tuple[Dataset, str]:
    """The dataset with the integers of the noise of its sums, which also name the version."""
    from discreet.noise.magnitude import tables_text, with_tables  # noqa: PLC0415 - counts start without it

    try:
        text = tables_text(dataset)
    except (BadRequest, InfeasibleDesign) as error:
        raise BadDescription(f"[measure.protection]: {error.message}", error.advice) from None
    return with_tables(dataset, text), named_by + text


def noise_for(dataset: Dataset, beside: Path = Path()) -> NoiseTable | NoisePlan:
    """The noise that a description declares: a noise table (cellkey), or the plan of a universe (dp)."""
    if not dataset.protection.is_dp:
        return cell_key_noise(dataset.protection, beside)
    terms, universe = dp_terms(dataset)
    try:
        plan = make_plan(dataset, universe, terms, dataset.protection.noise)
    except (BadRequest, TypeError) as error:
        raise _bad_noise(error) from None
    except InfeasibleDesign as error:
        raise BadDescription(
            f"No noise fits this budget: {error.message}",
            "Lower epsilon if the noise would change no count, or change [protection.noise].",
        ) from None
    refuse_exact(plan)
    if plan.joint is not None:
        residual_cells(plan.joint)  # refuses too many before a record is read
    plan = with_claim(plan)
    version_cost(plan)  # refuses a promise that cannot be kept before a record is read
    return plan


def cell_key_noise(protection: Protection, beside: Path = Path()) -> NoiseTable:
    """The noise table of the cell key method: designed, or read from a file."""
    parameters = dict(protection.noise)
    wanted = 256 if protection.keys == "abs" else protection.modulus
    try:
        if "file" in parameters:
            table = read_noise_table(beside / str(parameters.pop("file")), **parameters)
        else:
            modulus = protection.modulus or wanted or DEFAULT_MODULUS
            table = build(str(parameters.pop("family")), parameters, modulus)
    except (BadRequest, NotFound, TypeError) as error:
        raise _bad_noise(error) from None
    if wanted is not None and wanted != table.modulus:
        raise BadDescription(
            f"The noise table covers {table.modulus} keys, but the protection needs {wanted}.",
            "Leave out `modulus`, or use a table of that size.",
        )
    if table.largest == 0:
        raise BadDescription(
            "The noise table changes no count.",
            "Use a noise table that changes counts, or a family in [protection.noise].",
        )
    if protection.zeros == "kept":
        if {"made_up", "dropped"} & set(table.parameters):  # half of a design must not be in force alone
            raise BadDescription(
                "`made_up` and `dropped` of [protection.noise] are for empty cells that are perturbed.",
                'Set `zeros = "perturbed"` in [protection], or remove them.',
            )
        return keep_zero(table)
    if table.keeps_zero or table.rows[0].values[0] < 0:
        raise BadDescription(
            'zeros = "perturbed" needs noise that shows some empty cells with people and none below zero.',
            "Use the family maxent with `made_up` and `dropped` in [protection.noise].",
        )
    return table


def _bad_noise(error: Exception) -> BadDescription:
    text = error.message if isinstance(error, DiscreetError) else f"{error}."
    return BadDescription(f"[protection.noise]: {text}", getattr(error, "advice", ""))


def _read_boundaries(dataset: Dataset, beside: Path) -> dict[str, Boundaries]:
    found = {}
    for variable in (each for each in dataset.variables if each.boundaries):
        path = beside / variable.boundaries
        if not path.is_file():
            raise BadDescription(
                f'The file "{variable.boundaries}" with the boundaries of "{variable.name}" does not exist.',
                "Put the file into the folder of dataset.toml.",
            )
        if path.stat().st_size > MOST_BOUNDARY_BYTES:
            raise BadDescription(
                f'"{variable.boundaries}" has more than {MOST_BOUNDARY_BYTES:,} bytes.',
                "Simplify it, as with mapshaper.",
            )
        found[variable.name] = read_boundaries(path.read_bytes(), variable)
    return found


def _workspace_secret(folder: Path) -> Secret:
    """The workspace's secret; a new one is created only if nothing was ever loaded."""
    homes = [current.parent for current in (folder / "datasets").glob("*/current")]
    if not homes:
        create_secret(folder / "secret")
    secret = read_secret(folder / "secret")
    for home in homes:
        digest = current_digest(home)
        if digest and (home / digest / SECRET_CHECK).is_file():
            refuse_other_secret(home / digest, secret)
    return secret


def _settle(loading: Path, place: Path, version: Version, secret: Secret) -> Version:
    """Rename the loaded folder into place, unless an intact version is there; returns the version in place.

    Either way all stored records are read again and verified.
    """
    intact = _intact_version(place, secret)
    if intact is not None:
        return intact
    if place.exists():
        place.rename(place.parent / f".loading-{secrets.token_hex(8)}")
    loading.rename(place)
    fsync_path(place.parent)
    verify_records(place, version.records, secret)
    return version


def _intact_version(place: Path, secret: Secret) -> Version | None:
    try:
        version = read_version(place, secret)
        verify_records(place, version.records, secret)
        verify_engine(place, version, secret)
    except (DiscreetError, OSError):
        return None
    return version


def _refuse_second_engine(place: Path, wanted: str, secret: Secret) -> None:
    """A version is not replaced in place by a load: a crash could leave none to serve."""
    there = _intact_version(place, secret) if wanted else None
    if there is not None and there.kept_by != wanted:
        raise BadRequest(
            f'These records are already loaded, in the engine "{there.kept_by}".',
            f"Move it with `discreet move-engine --to {wanted}`: no number changes. Or leave the engine out.",
        )
