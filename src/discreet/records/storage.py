"""The stored columns of records, the same on every engine, and DuckDB connections.

Codes are small unsigned integers, record keys 32-bit integers, weights fixed-point. A survey has more columns:

    _stratum, _cluster     small integers in the order of first occurrence; a cluster lies in one stratum
    _replicate_1, ...      fixed-point replicate weights, with the decimals of the weights
    _measure_income, ...   values of `[[measure]]` in units of their last decimal; NULL_VALUE where there is none
    _square_high, _low     the square of a weight in two halves of 32 bits: sums of either fit in 64 bits

Names with a leading underscore cannot be variables. The values of strata and clusters are not stored. Weights are squared
with the most decimals that keep the largest weight below 2^31.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import BadData, BadDescription
from discreet.model.dataset import Dataset
from discreet.model.survey import SamplingDesign
from discreet.model.variable import Variable

if TYPE_CHECKING:
    import duckdb

STRATUM, CLUSTER = "_stratum", "_cluster"
SQUARES = ("_square_high", "_square_low")
_HALF = 2**32
#: Squares of smaller numbers fit in 62 bits, and the sum of 2^31 upper halves in 61.
_SQUARED_BELOW = 2**31


def design_of(dataset: Dataset) -> SamplingDesign:
    """The design of a dataset; an empty one without a survey."""
    return SamplingDesign() if dataset.survey is None else dataset.survey.design


def replicate_names(design: SamplingDesign) -> tuple[str, ...]:
    """The stored columns of the replicate weights, in their order."""
    return tuple(f"_replicate_{place}" for place in range(1, len(design.replicates) + 1))


def sum_columns(dataset: Dataset) -> tuple[str, ...]:
    """The stored columns that are added up with the weights, for sampling errors."""
    if dataset.survey is None or dataset.protection.is_dp:
        return ()
    return replicate_names(dataset.survey.design) or SQUARES


def unit_columns(dataset: Dataset) -> tuple[str, ...]:
    """The stored columns of strata and clusters."""
    design = design_of(dataset)
    named = ((STRATUM, design.strata), (CLUSTER, design.clusters))
    return tuple(name for name, column in named if column is not None)


class UnitCoder:
    """Numbers the values of one column in the order of first occurrence, by 64 bits of their hashes.

    The values of `listed` have the first numbers, and no other value may occur then.
    """

    def __init__(self, listed: tuple[str, ...] = ()) -> None:
        prefixes = (hashlib.sha256(value.encode()).digest()[:8] for value in listed)
        self._codes = {int.from_bytes(prefix, "little"): place for place, prefix in enumerate(prefixes)}
        self._only = bool(listed)

    def codes(self, prefixes: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """The numbers of a chunk of values; refuses values that are not allowed."""
        values, first, places = np.unique(prefixes, return_index=True, return_inverse=True)
        known = np.zeros(values.size, dtype=np.uint32)
        for place in np.argsort(first, kind="stable").tolist():
            value = int(values[place])
            if value not in self._codes and self._only:
                raise BadData(
                    "A record lies in a stratum that `fpc` of [survey] does not list.",
                    "Give every stratum its sampling fraction, or one number for all.",
                )
            known[place] = self._codes.setdefault(value, len(self._codes))
        return np.asarray(known[places])


def unit_coders(dataset: Dataset) -> dict[str, UnitCoder]:
    """The coders of strata and clusters, by stored name."""
    listed = tuple(value for value, _ in design_of(dataset).fpc if value)
    coders = {STRATUM: UnitCoder(listed), CLUSTER: UnitCoder()}
    return {name: coders[name] for name in unit_columns(dataset)}


def design_columns(
    dataset: Dataset,
    coders: Mapping[str, UnitCoder],
    batch: pa.RecordBatch,
    prefixes: Mapping[str, NDArray[np.uint64]],
    weights: NDArray[np.int64] | None,
) -> tuple[dict[str, NDArray[np.generic]], dict[str, NDArray[np.generic]]]:
    """The stored design columns of a chunk, and those that enter the fingerprint.

    `batch` has the replicate weights as `r0`, `r1`, ...; `prefixes` has 64 bits of the hashes of strata and clusters.
    """
    if dataset.survey is None or weights is None:
        return {}, {}
    names = replicate_names(dataset.survey.design)
    replicates = {name: batch.column(f"r{place}").to_numpy() for place, name in enumerate(names)}
    stored: dict[str, NDArray[np.generic]] = dict(replicates)
    stored |= {name: coders[name].codes(units) for name, units in unit_hashes(prefixes).items()}
    if SQUARES[0] in sum_columns(dataset):
        stored |= squares(weights, dataset.weight_decimals - square_decimals(dataset))
    return stored, {**replicates, **prefixes}


def unit_hashes(prefixes: Mapping[str, NDArray[np.uint64]]) -> dict[str, NDArray[np.uint64]]:
    """64 bits that identify a stratum, and a cluster within its stratum: a name may occur in several strata."""
    found = dict(prefixes)
    if STRATUM in found and CLUSTER in found:  # an odd factor is invertible modulo 2^64
        found[CLUSTER] = found[CLUSTER] + found[STRATUM] * np.uint64(0x9E3779B97F4A7C15)
    return found


def square_decimals(dataset: Dataset) -> int:
    """The decimals that weights keep when squared."""
    largest = 0 if dataset.survey is None else dataset.survey.largest_weight
    fitting = [d for d in range(dataset.weight_decimals + 1) if largest * 10**d < _SQUARED_BELOW]
    if not fitting:
        raise BadDescription(
            f"`largest_weight` of [survey] is {float(largest):g}.", f"Give a number below {_SQUARED_BELOW:,}."
        )
    return fitting[-1]


def squares(weights: NDArray[np.int64], dropped: int) -> dict[str, NDArray[np.generic]]:
    """The squares of fixed-point weights in two halves, without their last `dropped` decimals (halves rounded up).

    >>> {name: half.tolist() for name, half in squares(np.array([70_000]), 0).items()}
    {'_square_high': [1], '_square_low': [605032704]}
    """
    step = 10**dropped
    exact = ((weights + step // 2) // step) ** 2
    return {SQUARES[0]: exact // _HALF, SQUARES[1]: exact % _HALF}


def join_squares(high: NDArray[np.int64], low: NDArray[np.int64], decimals: int) -> NDArray[np.float64]:
    """Sums of squared weights, in people squared, from the sums of both halves."""
    return (high.astype(np.float64) * _HALF + low.astype(np.float64)) / float(10 ** (2 * decimals))


#: The stored value of a measure that a record does not have; bounds are far from it.
NULL_VALUE = -(2**62)
RECORD_KEY = "record_key"
WEIGHT = "weight"
#: DuckDB's memory limit for reading, sorting and storing records.
MEMORY_LIMIT = "250MB"


def column_type(variable: Variable) -> str:
    """The smallest unsigned type for a variable's codes."""
    return "UTINYINT" if len(variable) <= 256 else "USMALLINT" if len(variable) <= 65_536 else "UINTEGER"


def storage_schema(dataset: Dataset) -> pa.Schema:
    """The Arrow types of stored records."""
    types = {"UTINYINT": pa.uint8(), "USMALLINT": pa.uint16(), "UINTEGER": pa.uint32()}
    fields = [pa.field(variable.name, types[column_type(variable)]) for variable in dataset.variables]
    fields.append(pa.field(RECORD_KEY, pa.uint32()))
    if dataset.weight_column is not None:
        fields.append(pa.field(WEIGHT, pa.int64()))
    fields += [pa.field(name, pa.uint32()) for name in unit_columns(dataset)]
    fields += [pa.field(name, pa.int64()) for name in sum_columns(dataset)]
    fields += [pa.field(measure.stored_name, pa.int64()) for measure in dataset.measures]
    return pa.schema(fields)


def connect_duckdb(
    path: Path | None = None,
    *,
    temporary: Path | None = None,
    read_only: bool = False,
    threads: int | None = None,
) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection without a progress bar, which would be drawn on standard output.

    With `temporary`, a folder for spilled rows, `MEMORY_LIMIT` applies. The default is in memory and on all cores.
    """
    import duckdb  # noqa: PLC0415 - a publication is read without an engine

    limits = {} if temporary is None else {"memory_limit": MEMORY_LIMIT, "temp_directory": str(temporary)}
    connection = duckdb.connect(str(path or ":memory:"), read_only=read_only, config=dict(limits))
    hide_progress_bar(connection)
    if threads is not None:
        connection.execute(f"SET threads = {int(threads)}")
    return connection


#: DuckDB's messages for a full disk.
FULL_DISK = ("No space left", "not enough space", "File too large", "quota exceeded")


def raise_full_disk(error: Exception) -> None:
    """DuckDB reports a full disk in its message only; raise the system's error."""
    if any(words in str(error) for words in FULL_DISK):
        raise OSError(errno.ENOSPC, "No space left on device") from None


@contextmanager
def writing_duckdb(path: Path | None, temporary: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that writes records; on a full disk the error is that of the system."""
    import duckdb  # noqa: PLC0415 - as above

    try:
        with connect_duckdb(path, temporary=temporary) as database:
            yield database
    except duckdb.Error as error:
        raise_full_disk(error)
        raise


def hide_progress_bar(connection: duckdb.DuckDBPyConnection) -> None:
    """Turn the bar off; in a notebook without `ipywidgets` it is off, and DuckDB refuses to set it."""
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() != [(False,)]:
        connection.execute("SET enable_progress_bar = false")


def staged_batches(staged: Path) -> Iterator[pa.RecordBatch]:
    """The batches of a staged Arrow file."""
    with pa.memory_map(str(staged)) as source:
        reader = pa.ipc.open_file(source)
        yield from map(reader.get_batch, range(reader.num_record_batches))


def sorted_staged(
    database: duckdb.DuckDBPyConnection, staged: Path, dataset: Dataset
) -> duckdb.DuckDBPyRelation:
    """Staged records, sorted by the finest geography."""
    records = database.from_arrow(pa.ipc.open_file(pa.memory_map(str(staged))).read_all())
    return records.order(f'"{dataset.finest_geography}"') if dataset.finest_geography else records


def to_numpy(column: pa.ChunkedArray) -> NDArray[np.integer]:
    """One NumPy array, by DLPack: `to_numpy` of Arrow loads pandas."""
    return cast("NDArray[np.integer]", np.from_dlpack(column.combine_chunks()))
