"""Loading records: read, check, key, sort and store; or refuse and store nothing.

DuckDB reads the source, codes each category and hashes each id (`coding`). Python checks each chunk, derives record keys,
adds the records to the fingerprint, and writes them to a staging file, which the engine stores. Ids are not stored, only
their keys.

Under `dp` no record may cause a refusal, because the success of a load is public. Invalid records are dropped, and of each
privacy unit (person) at most r records are kept: those with the smallest keyed tags, which depend on the record and the
secret only. So adding or removing a unit changes no other unit's records, and at most r records in all.

    kept(unit) = the r records of the unit with the smallest AES-CBC-MAC(key, record)          (`fingerprint.py`)

Source: docs/methods/dp.md, Theorems 8 and 9.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import BadData, BadDescription, BadRecords, WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.model.revision import newest_arithmetic
from discreet.model.universe import dp_terms
from discreet.records import checks, storage
from discreet.records.checks import MOST_LISTED, Problem, Problems, WeightSums
from discreet.records.coding import by_row_number, check_columns, code_batches
from discreet.records.engine import AggregateQuery, Engine, EngineKind, records_in
from discreet.records.fingerprint import Fingerprint, number_records
from discreet.records.keys import MOST_RECORDS, Purpose, Secret, encipher, record_keys, record_tag
from discreet.records.readers import open_source, read_error
from discreet.records.source import Source
from discreet.records.storage import RECORD_KEY, WEIGHT, connect_duckdb, raise_full_disk, storage_schema

if TYPE_CHECKING:
    from discreet.records.spark_load import PartitionWriter

_SCHEMA = pa.schema([(name, pa.uint64()) for name in ("low", "high", "tag", "place")])
#: The positions of the records of a unit beyond the first r by tag.
_SURPLUS = """
SELECT place FROM (
    SELECT place, row_number() OVER (PARTITION BY low, high ORDER BY tag, place) AS rank
    FROM listed SEMI JOIN (SELECT low, high FROM listed GROUP BY low, high HAVING count(*) > $most) USING (low, high)
) WHERE rank > $most
"""


class ContributionBounds:
    """Collects the units of records, chunk by chunk, in an enciphered temporary file; DuckDB finds the surplus there."""

    def __init__(self, folder: Path, secret: Secret, lineage: str) -> None:
        self._folder, self._file = folder, folder / "units.arrow"
        self._key = secret.derive(Purpose.UNIT, lineage)
        self._writer = pa.ipc.new_file(self._file, _SCHEMA)
        self.noted = 0

    def add(self, units: NDArray[np.uint8], tags: NDArray[np.uint8]) -> None:
        """Add records: (n, 16) bytes of the hash of their unit, and their keyed tags."""
        words, ranks = encipher(self._key, units).view("<u8"), tags.view("<u8")
        places = np.arange(self.noted, self.noted + len(units), dtype=np.uint64)
        columns = [np.ascontiguousarray(each) for each in (words[:, 0], words[:, 1], ranks[:, 0], places)]
        self._writer.write_batch(pa.record_batch(columns, schema=_SCHEMA))
        self.noted += len(units)

    def surplus(self, most: int) -> NDArray[np.int64]:
        """The positions, ascending, of the records beyond `most` of their unit."""
        self._writer.close()
        try:
            with connect_duckdb(temporary=self._folder) as reading, pa.memory_map(str(self._file)) as source:
                reading.register("listed", pa.ipc.open_file(source).read_all())
                found = reading.execute(_SURPLUS, {"most": most}).fetchnumpy()["place"]
        finally:
            self._file.unlink()
        return np.sort(np.asarray(found, dtype=np.int64))


def drop_rows(staged: Path, surplus: NDArray[np.int64]) -> None:
    """Remove the records at some positions from a staged file."""
    if not surplus.size:
        return
    fewer, first = staged.with_suffix(".fewer"), 0
    with pa.ipc.new_file(fewer, pa.ipc.open_file(staged).schema) as writer:
        for batch in storage.staged_batches(staged):
            low, high = np.searchsorted(surplus, (first, first + len(batch)))
            kept = np.ones(len(batch), dtype=np.bool_)
            kept[surplus[low:high] - first] = False
            writer.write_batch(batch.filter(pa.array(kept)))
            first += len(batch)
    fewer.replace(staged)


def hash_bytes(column: pa.BinaryArray) -> NDArray[np.uint8]:
    """The (n, 16) bytes of a column of half hashes."""
    fixed = column.cast(pa.binary(16)) if not pa.types.is_fixed_size_binary(column.type) else column
    data = np.frombuffer(fixed.buffers()[1], dtype=np.uint8)
    return data.reshape(-1, 16)[fixed.offset : fixed.offset + len(fixed)]


def hash_prefixes(hashes: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """64 bits of each hash."""
    return np.ascontiguousarray(hashes[:, :8]).view("<u8").ravel()


def id_prefixes(batch: pa.RecordBatch, hashes: NDArray[np.uint8], done: int) -> NDArray[np.uint64]:
    """64 bits of each id's hash; records without an id, which are reported elsewhere, get distinct bits."""
    prefixes = hash_prefixes(hashes)
    absent = batch.column("h").is_null()
    if absent.true_count:
        rows = np.flatnonzero(absent.to_numpy(zero_copy_only=False))
        prefixes = prefixes.copy()
        prefixes[rows] = (rows + done).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return prefixes


def find_duplicates(prefixes: list[NDArray[np.uint64]], problems: Problems, column: str) -> None:
    """Report ids that occur twice, by 64 bits of their hashes.

    Two different ids share 64 bits with probability below n^2 / 2^65: 3e-6 for ten million records.
    """
    whole = np.concatenate([np.empty(0, dtype=np.uint64), *prefixes])
    prefixes.clear()
    ordered = np.sort(whole)
    if not (ordered[1:] == ordered[:-1]).any():
        return
    order = np.argsort(whole, kind="stable")
    again = order[1:][whole[order[1:]] == whole[order[:-1]]]
    listed = [
        same_id(int(row) + 1, int(np.flatnonzero(whole == whole[row])[0]) + 1, column)
        for row in np.sort(again)[:MOST_LISTED]
    ]
    problems.add(listed, column, again.size)


def same_id(record: int, first: int, column: str) -> Problem:
    """The problem of a record whose id an earlier one has, by their numbers."""
    message = f"Two records have the same id: record {first:,} has it, too."
    return Problem(record, column, message, "Give every record an id of its own.")


#: Called with what is being done, how many records are done, and of how many if known.
Progress = Callable[[str, int, int | None], None]
#: The number of records kept; under `dp` the problems, and the number of records beyond the contribution bound.
Read = tuple[int, BadRecords | None, int]

#: Sums of measures stay below.
OVERFLOW = 2**62
#: This many records must have at least this many different record keys, or all cells would have the same noise.
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
    """Check and key every chunk, and write it to a file.

    After the first problem, chunks are only checked, so that all problems are reported at once. A partition is checked for
    duplicates together with the others (`spark_load.py`).
    """
    conditions, prefixes, done, is_dp = checks.record_checks(dataset), [], 0, dataset.protection.is_dp
    problems, weights = (Problems(dataset), WeightSums()) if part is None else (part.problems, part.weights)
    notes = part or (ContributionBounds(staged.parent, secret, dataset.lineage) if is_dp else None)
    coders = storage.unit_coders(dataset)
    with pa.ipc.new_file(staged, storage_schema(dataset)) if part is None else part.writer(staged) as writer:
        for read in code_batches(reading, source, dataset):
            codes = {v.name: read.column(f"v{place}").to_numpy() for place, v in enumerate(dataset.variables)}
            checks.move_from_zeros(dataset, codes)
            hashes = hash_bytes(read.column("h"))
            fits = _examine(read, codes, conditions, problems, done)
            if not is_dp:
                prefixes.append(id_prefixes(read, hashes, done))
            done += read.num_rows
            # Under `dp` the number of records is confidential: report per cent.
            so_far = min(100 * done // (source.records or 2 * done or 1), 99), 100
            progress("Reading and checking records", *(so_far if is_dp else (done, source.records)))
            if done > MOST_RECORDS:
                raise BadData(f"{source.name} has more than {MOST_RECORDS:,} records.", "Split the dataset.")
            if problems and not is_dp:
                continue
            batch = read
            if not fits.all():
                batch, hashes = read.filter(pa.array(fits)), hashes[fits]
                codes = {name: own[fits] for name, own in codes.items()}
            keyed, tags = _assign_keys(batch, codes, hashes, dataset, secret, fingerprint, weights, coders)
            if dataset.key_column is not None and done == batch.num_rows:
                _refuse_few_keys(keyed.column(RECORD_KEY).to_numpy(), dataset)
            if notes is not None:
                notes.add(hashes if dataset.unit_column is None else hash_bytes(batch.column("u")), tags)
            writer.write_batch(
                keyed if part is None else part.with_notes(keyed, hashes, _units_of(batch, dataset))
            )
    if part is not None:
        return done, None, 0
    if isinstance(notes, ContributionBounds):
        progress("Reading and checking records", 100, 100)
        surplus = notes.surplus(dp_terms(dataset)[0].records_per_unit)
        drop_rows(staged, surplus)
        kept = notes.noted - surplus.size
        refuse_unfit(source, dataset, problems, weights, kept)
        return kept, problems.found(source), surplus.size
    find_duplicates(prefixes, problems, dataset.id_column)
    refuse_unfit(source, dataset, problems, weights, done)
    return done, None, 0


def refuse_unfit(
    source: Source, dataset: Dataset, problems: Problems, weights: WeightSums, records: int
) -> None:
    """Refuse a source without records or with problems, or that contradicts the survey; under `dp` only by public facts."""
    is_dp = dataset.protection.is_dp
    if not is_dp:
        if not records:
            raise BadData(
                f"{source.name} has {'a header and ' if source.unit != 'record' else ''}no records.",
                "Check that it is the right file.",
            )
        problems.refuse(source)
        _refuse_overflow(dataset, records)
    if dataset.survey is not None:
        weights.records, known = records, not is_dp or dp_terms(dataset)[0].known_total
        decimals = dataset.weight_decimals
        weights.refuse_others(dataset.survey, decimals, known_size=known, known_weights=not is_dp)


def _refuse_overflow(dataset: Dataset, records: int) -> None:
    """Refuse measures whose sums might not fit 62 bits."""
    for measure in dataset.measures:
        if records * max(map(abs, measure.bounds)) >= OVERFLOW:
            raise BadData(
                f'{records:,} values of "{measure.name}" up to its bounds could add up to more than 2^62.',
                "Use fewer decimals, or a larger unit such as thousands.",
            )


def _assign_keys(
    batch: pa.RecordBatch,
    codes: Mapping[str, NDArray[np.integer]],
    hashes: NDArray[np.uint8],
    dataset: Dataset,
    secret: Secret,
    fingerprint: Fingerprint,
    weights: WeightSums,
    coders: Mapping[str, storage.UnitCoder],
) -> tuple[pa.RecordBatch, NDArray[np.uint8]]:
    """A chunk as it is stored, and the tags of its records; updates the fingerprint and the sums of weights."""
    own_keys = batch.column("k").to_numpy() if dataset.key_column is not None else None
    keys = record_keys(secret, dataset.lineage, hashes) if own_keys is None else own_keys
    columns: dict[str, NDArray[Any]] = {**codes, RECORD_KEY: keys}
    if dataset.weight_column is not None:
        columns[WEIGHT] = batch.column("w").to_numpy()
        # To refuse a larger weight under `dp` would disclose a person.
        if dataset.survey is not None and dataset.protection.is_dp:
            largest = int(dataset.survey.largest_weight * 10**dataset.weight_decimals)
            columns[WEIGHT] = np.minimum(columns[WEIGHT], largest)
        replicates = range(len(storage.design_of(dataset).replicates))
        weights.add(columns[WEIGHT], (batch.column(f"r{place}").to_numpy() for place in replicates))
    for place, measure in enumerate(dataset.measures):
        columns[measure.stored_name] = batch.column(f"m{place}").to_numpy()
    stored, telling = storage.design_columns(
        dataset, coders, batch, _units_of(batch, dataset), columns.get(WEIGHT)
    )
    derived = {RECORD_KEY} if own_keys is None else set()
    values = [array for name, array in sorted({**columns, **telling}.items()) if name not in derived]
    tags = fingerprint.add(hashes, values)
    fingerprint.ids.add(hashes if dataset.unit_column is None else hash_bytes(batch.column("u")))
    return pa.record_batch(columns | stored).select(storage_schema(dataset).names), tags


def _units_of(batch: pa.RecordBatch, dataset: Dataset) -> dict[str, NDArray[np.uint64]]:
    """64 bits of the hashes of strata and clusters, by stored name."""
    return {name: hash_prefixes(hash_bytes(batch.column(name))) for name in storage.unit_columns(dataset)}


def _examine(
    batch: pa.RecordBatch,
    codes: Mapping[str, NDArray[np.integer]],
    conditions: list[checks.Check],
    problems: Problems,
    done: int,
) -> NDArray[np.bool_]:
    """Collect the problems of a chunk that starts after `done` records; returns which records are valid."""
    bad = batch.column("bad")
    good = fits = np.ones(len(bad), dtype=np.bool_)
    if bad.null_count < len(bad):
        problems.add_marks(bad, done)
        good = fits = bad.is_null().to_numpy(zero_copy_only=False)
    for check in conditions:
        fails = check.find(codes) & good
        if fails.any():
            fits = fits & ~fails
            rows = np.flatnonzero(fails)
            for row in rows[:MOST_LISTED].tolist():
                message, advice = check.tell({name: int(column[row]) for name, column in codes.items()})
                problems.add([Problem(done + row + 1, check.variable, message, advice)], check.variable, 1)
            problems.add([], check.variable, rows.size - min(rows.size, MOST_LISTED))
    problems.settle()
    return fits


def _refuse_few_keys(keys: NDArray[np.uint32], dataset: Dataset) -> None:
    if keys.size >= MANY_RECORDS and np.unique(keys).size < FEWEST_KEYS:
        raise BadData(
            f"The record keys in {dataset.key_column!r} hardly differ.", "Use keys that are spread at random."
        )


#: Categories of the longest variable read at a time.
RESTAGE_CATEGORIES = 64


def restage(engine: Engine, dataset: Dataset, folder: Path) -> Path:
    """All records of an engine as a staging file."""
    staged, rows, schema = folder / "staged.arrow", 0, storage_schema(dataset)
    split = max(dataset.variables, key=len)
    with pa.ipc.new_file(staged, schema) as writer:
        for first in range(0, len(split), RESTAGE_CATEGORIES):
            codes = tuple(range(first, min(first + RESTAGE_CATEGORIES, len(split))))
            cells = engine.aggregate(AggregateQuery(tuple(schema.names), ((split.name, codes),)))
            columns = [np.repeat(column, cells.counts) for column in cells.codes]  # groups of equal records
            writer.write_batch(pa.record_batch(dict(zip(schema.names, columns, strict=True)), schema=schema))
            rows += int(cells.counts.sum())
    if rows != records_in(engine, dataset):
        raise WorkspaceUnusable("The engine does not tell all its records.", "The version stays where it is.")
    return staged


class Loaded(NamedTuple):
    """The identifiers and the number of stored records. Confidential.

    Under `dp`, `left_out` has the invalid records and `surplus` the number beyond the contribution bound, for the custodian
    only. `ids` is a sketch of their ids; None if records have none, or ids that only number them.
    """

    digest: str
    fingerprint: str
    records: int
    left_out: BadRecords | None = None
    surplus: int = 0
    ids: NDArray[np.uint64] | None = None


def load_records(
    records: object,
    dataset: Dataset,
    description: str,
    secret: Secret,
    folder: Path,
    kind: EngineKind,
    progress: Progress = lambda _what, _done, _of: None,
) -> Loaded:
    """Read and check records, and let an engine store them in an empty folder, which the caller moves or removes.

    `records` are a path, frame, table or stream (see `readers`), or records that live with the engine; `description` is
    the text of the description and noise, which the digest covers.
    """
    fingerprint = Fingerprint(secret, dataset.lineage)
    staged = folder / "staged.arrow"
    reading = connect_duckdb(temporary=folder)
    try:
        for variable in dataset.variables if dataset.protection.is_dp else ():
            if variable.categories_from == "records":  # such a list would disclose which categories occur
                raise BadDescription(
                    f'The categories of "{variable.name}" were read off the records: a category that occurs says that '
                    "somebody is there.",
                    'Replace them by the public code list, and write categories_from = "code list".',
                )
        taken, numbered = kind.take(records, dataset, secret, folder, fingerprint, progress), False
        if taken is not None:
            staged, read = taken
        else:
            source = open_source(reading, records, folder, dataset.file)
            check_columns(source.name, source.columns, dataset)
            try:
                read = stage(reading, source, dataset, secret, fingerprint, staged, progress)
            except (duckdb.Error, pa.ArrowException, OSError) as error:
                if getattr(error, "errno", None) is not None:  # an error of the system, not of the source
                    raise
                raise_full_disk(error)
                raise read_error(source) from None
            numbered = by_row_number(source.columns, dataset)
        digest = fingerprint.digest(description)
        progress("Storing records", 0, 1)
        kind.store(staged, dataset, folder, record_tag(secret, digest))
        progress("Storing records", 1, 1)
    except duckdb.Error as error:
        raise_full_disk(error)
        raise BadData(
            "The records could not be stored.", "Check the disk of the workspace, and load again."
        ) from None
    finally:
        reading.close()
        (folder / "staged.arrow").unlink(missing_ok=True)
        for copy in folder.glob("source.*"):
            copy.unlink()
    ids: NDArray[np.uint64] | None = fingerprint.ids.values
    if numbered or number_records(fingerprint.ids.values, read[0], secret):
        ids = None  # no evidence of who the people are
    return Loaded(digest, fingerprint.of_records(_meaning(dataset)), *read, ids)


def _meaning(dataset: Dataset) -> str:
    """The meaning of the stored integers: every variable by name with its codes in order, and the algorithm version.

    Noise depends on codes, and records are stored by position: another code list, or another algorithm version, would put
    other noise on the same counts, so it needs a new version.
    """
    listed: list[Any] = sorted((variable.name, variable.codes) for variable in dataset.variables)
    listed += [[measure.stored_name, measure.decimals] for measure in dataset.measures]
    return json.dumps([*listed, newest_arithmetic()], separators=(",", ":"), ensure_ascii=True)
