"""Loading records: read, check, key, sort and store, or refuse and store nothing.

One pass: DuckDB reads the source, turns each category into its small integer and hashes each id; Python
checks each chunk, enciphers the hashes to record keys and adds the record to the fingerprint. A second
pass is the engine's: it keeps the coded records (`records/engine.py`). Ids are not stored: only their keys are.

Comes from: a source and a `Dataset`. Goes to: the engine that keeps the version.
"""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from discreet.errors import BadData, BadDescription, nearest
from discreet.model.declared_dp import declared_dp
from discreet.model.revision import newest_arithmetic
from discreet.records.checks import WeightSums, record_checks
from discreet.records.design_columns import (
    CLUSTER,
    STRATUM,
    DesignReader,
    bad_unit,
    design_of,
    refuse_bad,
    source_columns,
    stored_units,
)
from discreet.records.fingerprint import Fingerprint
from discreet.records.record_keys import MOST_RECORDS, record_keys
from discreet.records.record_tag import record_tag
from discreet.records.sources import open_source, quoted
from discreet.records.storage import (
    MEMORY_LIMIT,
    RECORD_KEY,
    WEIGHT,
    column_names,
    column_type,
    storage_schema,
)
from discreet.records.units import refuse_more_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.model.variable import Variable
    from discreet.records.engine import EngineKind
    from discreet.records.secret import Secret
    from discreet.records.sources import Source

    #: Called with what is being done, how many records are done, and of how many if known.
    Progress = Callable[[str, int, int | None], None]

CHUNK = 250_000
#: So many records have at least so many different record keys, whatever the office's key modulus.
MANY_RECORDS, FEWEST_KEYS = 1000, 100
#: What DuckDB says where the disk of the workspace or of its temporary files is full.
FULL_DISK = ("No space left", "not enough space", "File too large", "quota exceeded")


class Loaded(NamedTuple):
    """The names of stored records: the version's digest, and the fingerprint, which is never shown."""

    digest: str
    fingerprint: str


def load_records(
    records: object,
    dataset: Dataset,
    description: str,
    secret: Secret,
    folder: Path,
    kind: EngineKind,
    progress: Progress = lambda _what, _done, _of: None,
) -> Loaded:
    """Read and check records, and let an engine keep them in an empty folder.

    Args:
        records: A path, frame, table or stream (see `sources`).
        dataset: The description, parsed.
        description: The text of the description and noise, which the digest covers.
        secret: For record keys and the fingerprint.
        folder: The new version's; the caller moves it into place or removes it.
        kind: The engine that keeps them.
        progress: Told as the load goes on.

    Returns:
        The digest that names the version, and the fingerprint of the records.
    """
    fingerprint = Fingerprint(secret, dataset.lineage)
    staged = folder / "staged.arrow"
    reading = duckdb.connect(config={"memory_limit": MEMORY_LIMIT, "temp_directory": str(folder)})
    reading.execute("SET enable_progress_bar = false")  # standard output is kept for documents
    try:
        source = open_source(reading, records)
        _check_columns(source, dataset)
        _stage(reading, source, dataset, secret, fingerprint, staged, progress)
        digest = fingerprint.digest(description)
        progress("Storing records", 0, 1)
        kind.store(staged, dataset, folder, record_tag(secret, digest))
        progress("Storing records", 1, 1)
    except duckdb.Error as error:
        _raise_full_disk(error)
        raise BadData(
            "The records could not be read to the end.",
            "Check that the file is complete, in UTF-8, and that every line has the same columns.",
        ) from None
    finally:
        reading.close()
        staged.unlink(missing_ok=True)
    return Loaded(digest, fingerprint.of_records(_meaning(dataset)))


def _raise_full_disk(error: duckdb.Error) -> None:
    """DuckDB tells a full disk in words only; Python's own writes tell it by a number."""
    if any(words in str(error) for words in FULL_DISK):
        raise OSError(errno.ENOSPC, "No space left on device") from None


def _meaning(dataset: Dataset) -> str:
    """What the stored integers stand for, as text: every variable by name with its codes in their order.

    Noise is looked up by codes and records are stored by position, so a list of codes that is longer, shorter or in
    another order would move noise to other counts: it makes other records, which need a version of their own. So does
    another arithmetic, which would put other noise on the same counts.
    """
    listed: list[object] = []
    listed += sorted((variable.name, variable.codes) for variable in dataset.variables)
    listed.append(newest_arithmetic())
    return json.dumps(listed, separators=(",", ":"), ensure_ascii=True)


def _check_columns(source: Source, dataset: Dataset) -> None:
    wanted = [(variable.column, f'the variable "{variable.name}"') for variable in dataset.variables]
    wanted.append((dataset.id_column, "the id"))
    if dataset.weight_column is not None:
        wanted.append((dataset.weight_column, "the weight"))
    if dataset.key_column is not None:
        wanted.append((dataset.key_column, "the record key"))
    if dataset.unit_column is not None:
        wanted.append((dataset.unit_column, "the person"))
    design = design_of(dataset)
    wanted += [] if design is None else source_columns(design)
    for column, what in wanted:
        if column not in source.columns:
            raise BadDescription(
                f"{source.name} has no column {column!r} for {what}.", nearest(column, source.columns)
            )


def _stage(
    reading: duckdb.DuckDBPyConnection,
    source: Source,
    dataset: Dataset,
    secret: Secret,
    fingerprint: Fingerprint,
    staged: Path,
    progress: Progress,
) -> None:
    """The first pass: every chunk is checked and keyed, and waits in an Arrow file."""
    checks, prefixes, done = record_checks(dataset), [], 0
    units: list[NDArray[np.uint64]] = []
    weights, design = WeightSums(), DesignReader(dataset)
    with pa.ipc.new_file(staged, storage_schema(dataset)) as writer:
        for batch in _coded_batches(reading, source, dataset):
            _refuse_bad(batch, dataset)
            codes = {v.name: batch.column(f"v{i}").to_numpy() for i, v in enumerate(dataset.variables)}
            for check in checks:
                check(codes)
            hashes = _hash_bytes(batch.column("h"))
            own_keys = batch.column("k").to_numpy() if dataset.key_column is not None else None
            keys = record_keys(secret, dataset.lineage, hashes) if own_keys is None else own_keys
            if own_keys is not None and not done:
                _refuse_few_keys(own_keys, dataset)
            columns = {**codes, RECORD_KEY: keys}
            if dataset.weight_column is not None:
                columns[WEIGHT] = batch.column("w").to_numpy()
                weights.add(columns[WEIGHT])
            units_of = {name: _prefixes(_hash_bytes(batch.column(name))) for name in stored_units(dataset)}
            stored, telling = design.read(batch, units_of, columns.get(WEIGHT))
            derived = {RECORD_KEY} if own_keys is None else set()
            values = [array for name, array in sorted({**columns, **telling}.items()) if name not in derived]
            fingerprint.add(hashes, values)
            columns |= stored
            prefixes.append(_prefixes(hashes))
            if dataset.unit_column is not None:
                units.append(_prefixes(_hash_bytes(batch.column("u"))))
            writer.write_batch(pa.record_batch(columns).select(column_names(dataset)))
            done += batch.num_rows
            progress("Reading and checking records", done, source.records)
            if done > MOST_RECORDS:
                raise BadData(f"{source.name} has more than {MOST_RECORDS:,} records.", "Split the dataset.")
    if not done and not dataset.protection.is_dp:  # under dp, that somebody is there is a secret too
        raise BadData(f"{source.name} has no records.", "Check that it is the right file.")
    _refuse_duplicates(prefixes)
    if units and dataset.protection.is_dp:
        refuse_more_records(np.concatenate(units), declared_dp(dataset)[0].records_per_unit)
    if dataset.survey is not None:
        is_dp = dataset.protection.is_dp
        known_size = not is_dp or declared_dp(dataset)[0].known_total
        weights.refuse_others(
            dataset.survey, dataset.weight_decimals, known_size=known_size, known_weights=not is_dp
        )


def _coded_batches(
    reading: duckdb.DuckDBPyConnection, source: Source, dataset: Dataset
) -> Iterator[pa.RecordBatch]:
    """Stream the source as integer codes, half hashes of ids, fixed-point weights and what is wrong."""
    chosen = [f"{_half_hash(dataset.id_column)} AS h"]
    wrong = [f"CASE WHEN {quoted(dataset.id_column)} IS NULL THEN 'i' END"]
    if dataset.unit_column is not None:
        chosen.append(f"{_half_hash(dataset.unit_column)} AS u")
        wrong.append(f"CASE WHEN {quoted(dataset.unit_column)} IS NULL THEN 'p' END")
    design = design_of(dataset)
    named = () if design is None else ((STRATUM, design.strata, "s"), (CLUSTER, design.clusters, "c"))
    for name, unit, mark in named:
        if unit is not None:
            chosen.append(f"{_half_hash(unit)} AS {name}")
            wrong.append(bad_unit(unit, mark))
    for place, variable in enumerate(dataset.variables):
        _create_enum(reading, f"e{place}", variable)
        code, problem = _code_sql(variable, place)
        chosen.append(code)
        wrong.append(problem)
    if dataset.weight_column is not None:
        weight = _fixed_point(dataset.weight_column, dataset.weight_decimals)
        chosen.append(f"{weight} AS w")
        wrong.append(f"CASE WHEN coalesce({weight}, -1) < 0 THEN 'w' END")
    for place, column in enumerate(design.replicates if design else ()):
        replicate = _fixed_point(column, dataset.weight_decimals)
        chosen.append(f"coalesce({replicate}, 0) AS r{place}")
        wrong.append(f"CASE WHEN {replicate} IS NULL THEN 'r{place}' END")
    if dataset.key_column is not None:
        key = f"TRY_CAST({_fixed_point(dataset.key_column, dataset.key_decimals)} AS UINTEGER)"
        chosen.append(f"coalesce({key}, 0)::UINTEGER AS k")
        wrong.append(f"CASE WHEN {key} IS NULL THEN 'k' END")
    chosen.append(f"coalesce({', '.join(wrong)}) AS bad")
    relation = source.relation.project(", ".join(chosen))
    # A chunk with many replicate weights has fewer records, so that it takes no more memory.
    yield from relation.to_arrow_reader(CHUNK // (1 + len(design.replicates if design else ()) // 8))


def _half_hash(column: str) -> str:
    """The SQL of 16 bytes of a value's SHA-256."""
    return f"unhex(substr(sha256({quoted(column)}::VARCHAR), 1, 32))"


def _create_enum(reading: duckdb.DuckDBPyConnection, name: str, variable: Variable) -> None:
    """A DuckDB type whose values are the codes; they go in as data, never as SQL text."""
    reading.register("categories", pa.table({"code": pa.array(variable.codes, pa.string())}))
    reading.execute(f"CREATE TYPE {name} AS ENUM (SELECT code FROM categories)")
    reading.unregister("categories")


def _code_sql(variable: Variable, place: int) -> tuple[str, str]:
    """The SQL of a variable's integer code, and of what is wrong with its value."""
    column = f"{quoted(variable.column)}::VARCHAR"
    code = f"enum_code(TRY_CAST({column} AS e{place}))"
    missing = f"WHEN {column} IS NULL OR {column} = '' THEN"
    if variable.not_stated is None:
        known, absent = code, f"{missing} 'm{place}:' "
    else:
        known, absent = (
            f"CASE {missing} {variable.position(variable.not_stated)} ELSE {code} END",
            f"{missing} NULL ",
        )
    problem = f"CASE {absent}WHEN {code} IS NULL THEN 'u{place}:' || {column} END"
    return f"coalesce({known}, 0)::{column_type(variable)} AS v{place}", problem


def _fixed_point(column: str, decimals: int) -> str:
    """The SQL of a column's value as an integer with so many decimals; NULL where it is no number."""
    return f"(TRY_CAST({quoted(column)} AS DECIMAL(18, {decimals})) * {10**decimals})::BIGINT"


def _refuse_bad(batch: pa.RecordBatch, dataset: Dataset) -> None:
    """Turn the first thing that is wrong with a chunk into a clear error."""
    bad = batch.column("bad")
    if bad.null_count == len(bad):
        return
    found: str = bad.drop_null()[0].as_py()
    if found == "i":
        raise BadData("A record has no id.", f"Fill the column {dataset.id_column!r}.")
    if found == "p":
        raise BadData("A record names no person.", f"Fill the column {dataset.unit_column!r}.")
    if found == "k":
        raise BadData(
            "A record has a record key that is missing, negative, no number or too large.",
            f"Mend the column {dataset.key_column!r}: whole numbers below 2^32 once key_decimals are shifted.",
        )
    if found == "w":
        raise BadData(
            "A record has a weight that is missing, negative or no number.",
            f"Mend the column {dataset.weight_column!r}.",
        )
    design = design_of(dataset)
    if design is not None:
        refuse_bad(found, design)
    place, _, raw = found[1:].partition(":")
    variable = dataset.variables[int(place)]
    if found[0] == "m":
        raise BadData(
            f'A record has no value of "{variable.name}", and no "not stated" category is declared.',
            f'Add a category and `not_stated = "its code"` to "{variable.name}", or fill the value.',
        )
    raise BadData(
        f'The value {raw[:60]!r} of "{variable.name}" is not among its categories.',
        nearest(raw, variable.codes),
    )


def _refuse_few_keys(keys: NDArray[np.uint32], dataset: Dataset) -> None:
    """Record keys that hardly differ would give all cells the same noise."""
    if keys.size >= MANY_RECORDS and np.unique(keys).size < FEWEST_KEYS:
        raise BadData(
            f"The record keys in {dataset.key_column!r} hardly differ.", "Use keys that are spread at random."
        )


def _hash_bytes(column: pa.BinaryArray) -> NDArray[np.uint8]:
    """The (n, 16) bytes of a column of half hashes."""
    fixed = column.cast(pa.binary(16)) if not pa.types.is_fixed_size_binary(column.type) else column
    data = np.frombuffer(fixed.buffers()[1], dtype=np.uint8)
    return data.reshape(-1, 16)[fixed.offset : fixed.offset + len(fixed)]


def _prefixes(hashes: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """64 bits of each hash."""
    return np.ascontiguousarray(hashes[:, :8]).view("<u8").ravel()


def _refuse_duplicates(prefixes: list[NDArray[np.uint64]]) -> None:
    """Two records with one id have one hash; 64 of its bits tell them apart from all others.

    Two different ids share 64 bits with probability below n^2 / 2^65: 3e-6 for ten million records.
    """
    ordered = np.sort(np.concatenate([np.empty(0, dtype=np.uint64), *prefixes]))
    if (ordered[1:] == ordered[:-1]).any():
        raise BadData("Two records have the same id.", "Give every record an id of its own.")
