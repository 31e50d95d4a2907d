"""Hashes of ids as numbers, and ids that occur twice.

Two records with one id have one hash. Ids themselves are never kept.

The first pass of a load: every chunk of records is checked and keyed, and waits in a file.

Under `dp` no record is a reason to refuse: that a load succeeds is public. A record that does not fit is left out, and a
unit keeps at most r records (`units.py`). `discreet check` tells the custodian alone which records these are.

The records of an engine as the file that a load gives to one: how a version moves between engines.

Every engine can tell its records by one aggregate over all columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import BadData, BadRecords, WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.model.universe import dp_terms
from discreet.records.checks import (
    MOST_LISTED,
    Check,
    Problem,
    Problems,
    WeightSums,
    move_from_zeros,
    record_checks,
)
from discreet.records.coding import code_batches
from discreet.records.contribution_bounds import ContributionBounds, drop_rows
from discreet.records.engine import AggregateQuery, Engine
from discreet.records.fingerprint import Fingerprint
from discreet.records.keys import MOST_RECORDS, Secret, record_keys
from discreet.records.source import Source
from discreet.records.storage import (
    RECORD_KEY,
    WEIGHT,
    DesignReader,
    column_names,
    storage_schema,
    unit_columns,
)

if TYPE_CHECKING:
    import duckdb

    from discreet.records.spark.partitions import PartitionWriter


def hash_bytes(column: pa.BinaryArray) -> NDArray[np.uint8]:
    """The (n, 16) bytes of a column of half hashes."""
    fixed = column.cast(pa.binary(16)) if not pa.types.is_fixed_size_binary(column.type) else column
    data = np.frombuffer(fixed.buffers()[1], dtype=np.uint8)
    return data.reshape(-1, 16)[fixed.offset : fixed.offset + len(fixed)]


def hash_prefixes(hashes: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """64 bits of each hash."""
    return np.ascontiguousarray(hashes[:, :8]).view("<u8").ravel()


def id_prefixes(batch: pa.RecordBatch, hashes: NDArray[np.uint8], done: int) -> NDArray[np.uint64]:
    """64 bits of each id's hash; a record without an id has bits of its own, since that is told already."""
    prefixes = hash_prefixes(hashes)
    absent = batch.column("h").is_null()
    if absent.true_count:
        rows = np.flatnonzero(absent.to_numpy(zero_copy_only=False))
        prefixes = prefixes.copy()
        prefixes[rows] = (rows + done).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return prefixes


def find_duplicates(prefixes: list[NDArray[np.uint64]], problems: Problems, column: str) -> None:
    """Two records with one id have one hash; 64 of its bits tell them apart from all others.

    Two different ids share 64 bits with probability below n^2 / 2^65: 3e-6 for ten million records.
    """
    whole = np.concatenate([np.empty(0, dtype=np.uint64), *prefixes])
    prefixes.clear()
    ordered = np.sort(whole)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    order = np.argsort(whole, kind="stable")
    again = order[1:][whole[order[1:]] == whole[order[:-1]]]
    told = [
        Problem(
            int(row) + 1,
            column,
            f"Two records have the same id: record {int(np.flatnonzero(whole == whole[row])[0]) + 1:,} has it, too.",
            "Give every record an id of its own.",
        )
        for row in np.sort(again)[:MOST_LISTED]
    ]
    problems.add(told, column, again.size)


#: Called with what is being done, how many records are done, and of how many if known.
Progress = Callable[[str, int, int | None], None]
#: How many records are kept; under `dp` what is left out, and how many were too many of their unit.
Read = tuple[int, BadRecords | None, int]

#: So many records have at least so many different record keys, whatever the office's key modulus.
MANY_RECORDS, FEWEST_KEYS = 1000, 100


def stage(
    reading: duckdb.DuckDBPyConnection,
    source: Source,
    dataset: Dataset,
    secret: Secret,
    fingerprint: Fingerprint,
    staged: Path,
    progress: Progress = lambda _what, _done, _of: None,
    part: PartitionWriter | None = None,
) -> Read:
    """The first pass: every chunk is checked and keyed, and waits in a file.

    Once something is wrong, chunks are still checked and no longer keyed: all problems are told at once. Under `dp` what
    does not fit is left out instead. Where the source is one part of the records, whoever has all parts looks at them
    together (`part_notes.py`).

    Returns:
        How many records are kept; under `dp` what is left out, and how many were too many of their unit.
    """
    checks, prefixes, done, is_dp = record_checks(dataset), [], 0, dataset.protection.is_dp
    problems, weights = (Problems(dataset), WeightSums()) if part is None else (part.problems, part.weights)
    notes = part or (ContributionBounds(staged.parent, secret, dataset.lineage) if is_dp else None)
    design = DesignReader(dataset)
    with pa.ipc.new_file(staged, storage_schema(dataset)) if part is None else part.writer(staged) as writer:
        for read in code_batches(reading, source, dataset):
            codes, hashes = _codes_of(read, dataset), hash_bytes(read.column("h"))
            fits = _examine(read, codes, checks, problems, done)
            if not is_dp:
                prefixes.append(id_prefixes(read, hashes, done))
            done += read.num_rows
            progress("Reading and checking records", *_progress_of(done, source.records, is_dp=is_dp))
            if done > MOST_RECORDS:
                raise BadData(f"{source.name} has more than {MOST_RECORDS:,} records.", "Split the dataset.")
            if problems and not is_dp:
                continue
            batch = read
            if not fits.all():
                batch, hashes = read.filter(pa.array(fits)), hashes[fits]
                codes = {name: own[fits] for name, own in codes.items()}
            keyed, tags = _assign_keys(batch, codes, hashes, dataset, secret, fingerprint, weights, design)
            if dataset.key_column is not None and done == batch.num_rows:
                _refuse_few_keys(keyed.column(RECORD_KEY).to_numpy(), dataset)
            if notes is not None:
                notes.add(hashes if dataset.unit_column is None else hash_bytes(batch.column("u")), tags)
            writer.write_batch(
                keyed if part is None else part.noted(keyed, hashes, _units_of(batch, dataset))
            )
    if part is not None:
        return done, None, 0
    if isinstance(notes, ContributionBounds):
        progress("Reading and checking records", 100, 100)
        return _keep_units(source, dataset, staged, notes, problems, weights)
    find_duplicates(prefixes, problems, dataset.id_column)
    refuse_unfit(source, dataset, problems, weights, done)
    return done, None, 0


def refuse_unfit(
    source: Source, dataset: Dataset, problems: Problems, weights: WeightSums, done: int
) -> None:
    """By the cell key method: everything must fit, and somebody must be there."""
    if not done:
        raise BadData(
            f"{source.name} has {'a header and ' if source.unit != 'record' else ''}no records.",
            "Check that it is the right file.",
        )
    problems.refuse(source)
    if dataset.survey is not None:
        weights.refuse_others(dataset.survey, dataset.weight_decimals)


def _assign_keys(
    batch: pa.RecordBatch,
    codes: Mapping[str, NDArray[np.integer]],
    hashes: NDArray[np.uint8],
    dataset: Dataset,
    secret: Secret,
    fingerprint: Fingerprint,
    weights: WeightSums,
    design: DesignReader,
) -> tuple[pa.RecordBatch, NDArray[np.uint8]]:
    """A chunk as it is stored, and the tags of its records; it is added to the fingerprint and the sums of weights."""
    own_keys = batch.column("k").to_numpy() if dataset.key_column is not None else None
    keys = record_keys(secret, dataset.lineage, hashes) if own_keys is None else own_keys
    columns: dict[str, NDArray[Any]] = {**codes, RECORD_KEY: keys}
    if dataset.weight_column is not None:
        columns[WEIGHT] = _within_largest(batch.column("w").to_numpy(), dataset)
        weights.add(columns[WEIGHT])
    stored, telling = design.read(batch, _units_of(batch, dataset), columns.get(WEIGHT))
    derived = {RECORD_KEY} if own_keys is None else set()
    values = [array for name, array in sorted({**columns, **telling}.items()) if name not in derived]
    tags = fingerprint.add(hashes, values)
    fingerprint.ids.add(hashes if dataset.unit_column is None else hash_bytes(batch.column("u")))
    return pa.record_batch(columns | stored).select(column_names(dataset)), tags


def _units_of(batch: pa.RecordBatch, dataset: Dataset) -> dict[str, NDArray[np.uint64]]:
    """64 bits of the hashes of strata and clusters, by stored name."""
    return {name: hash_prefixes(hash_bytes(batch.column(name))) for name in unit_columns(dataset)}


def _progress_of(done: int, of: int | None, *, is_dp: bool) -> tuple[int, int | None]:
    """How far a load is; under `dp` in hundredths, since the number of records is a secret."""
    return (done, of) if not is_dp else (min(100 * done // (of or 2 * done or 1), 99), 100)


def _keep_units(
    source: Source,
    dataset: Dataset,
    staged: Path,
    units: ContributionBounds,
    problems: Problems,
    weights: WeightSums,
) -> Read:
    """Under `dp`: keep the first records of every unit; no record is a reason to refuse, but a public n is checked."""
    terms, _ = dp_terms(dataset)
    surplus = units.surplus(terms.records_per_unit)
    drop_rows(staged, surplus)
    kept = units.noted - surplus.size
    refuse_other_size(weights, dataset, kept)
    return kept, problems.found(source), surplus.size


def refuse_other_size(weights: WeightSums, dataset: Dataset, kept: int) -> None:
    """Under `dp`, of a survey's constants compare those that may be public alone."""
    if dataset.survey is not None:
        weights.records = kept
        known = dp_terms(dataset)[0].known_total
        weights.refuse_others(dataset.survey, dataset.weight_decimals, known_size=known, known_weights=False)


def _codes_of(batch: pa.RecordBatch, dataset: Dataset) -> dict[str, NDArray[np.integer]]:
    """The codes of a chunk; records in a structural zero are moved where it says so."""
    codes = {v.name: batch.column(f"v{place}").to_numpy() for place, v in enumerate(dataset.variables)}
    move_from_zeros(dataset, codes)
    return codes


def _within_largest(weights: NDArray[np.int64], dataset: Dataset) -> NDArray[np.int64]:
    """Under `dp` a weight above the declared largest counts as the largest: to refuse it would tell of a person."""
    if dataset.survey is None or not dataset.protection.is_dp:
        return weights
    return np.minimum(weights, int(dataset.survey.largest_weight * 10**dataset.weight_decimals))


def _examine(
    batch: pa.RecordBatch,
    codes: Mapping[str, NDArray[np.integer]],
    checks: list[Check],
    problems: Problems,
    done: int,
) -> NDArray[np.bool_]:
    """Collect what is wrong with a chunk, after so many records; tells which records fit."""
    bad = batch.column("bad")
    good = fits = np.ones(len(bad), dtype=np.bool_)
    if bad.null_count < len(bad):
        problems.add_marks(bad, done)
        good = fits = bad.is_null().to_numpy(zero_copy_only=False)
    for check in checks:
        fails = check.find(codes) & good
        if fails.any():
            fits = fits & ~fails
            rows = np.flatnonzero(fails)
            told = [
                Problem(
                    done + row + 1, check.variable, *check.tell({n: int(c[row]) for n, c in codes.items()})
                )
                for row in rows[:MOST_LISTED].tolist()
            ]
            problems.add(told, check.variable, rows.size)
    problems.settle()
    return fits


def _refuse_few_keys(keys: NDArray[np.uint32], dataset: Dataset) -> None:
    """Record keys that hardly differ would give all cells the same noise."""
    if keys.size >= MANY_RECORDS and np.unique(keys).size < FEWEST_KEYS:
        raise BadData(
            f"The record keys in {dataset.key_column!r} hardly differ.", "Use keys that are spread at random."
        )


#: So many categories of the longest variable are read at a time.
RESTAGE_CATEGORIES = 64


def restage(engine: Engine, dataset: Dataset, folder: Path) -> Path:
    """All records of an engine as the file that a load gives to one."""
    staged, told = folder / "staged.arrow", 0
    with pa.ipc.new_file(staged, storage_schema(dataset)) as writer:
        for batch in _record_batches(engine, dataset):
            writer.write_batch(batch)
            told += batch.num_rows
    if told != int(engine.aggregate(AggregateQuery((dataset.variables[0].name,))).counts.sum()):
        raise WorkspaceUnusable("The engine does not tell all its records.", "The version stays where it is.")
    return staged


def _record_batches(engine: Engine, dataset: Dataset) -> Iterator[pa.RecordBatch]:
    """Groups of equal records, some categories of the longest variable at a time, each as often as it occurs."""
    schema = storage_schema(dataset)
    split = max(dataset.variables, key=len)
    for first in range(0, len(split), RESTAGE_CATEGORIES):
        codes = tuple(range(first, min(first + RESTAGE_CATEGORIES, len(split))))
        cells = engine.aggregate(AggregateQuery(tuple(schema.names), ((split.name, codes),)))
        columns = [np.repeat(column, cells.counts) for column in cells.codes]
        if cells.counts.size:
            arrays = [
                pa.array(column).cast(field.type) for column, field in zip(columns, schema, strict=True)
            ]
            yield pa.record_batch(arrays, schema=schema)
