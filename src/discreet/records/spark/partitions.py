"""Partitions of records that executors stage on several machines, with the code of every other load.

`staging.stage` writes each partition as one Parquet file in the folder of the new version. In addition to the stored
columns it holds, during the load, what only the driver can decide:

    _id, _unit             64 bits of the enciphered hash of the record's id and of its person
    _tag                   64 bits of its tag (`records/fingerprint.py`), which decide the records kept under `dp`
    _at                    its position: the number of the partition, then the number of the record in it
    _stratum, _cluster     64 bits of a hash in place of a number, since partitions do not share numbers

A partition reports its sums and problems as text, without keys and without values of valid records.
"""

from __future__ import annotations

import errno
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.errors import BadData, DiscreetError
from discreet.model.dataset import Dataset
from discreet.records.checks import Problem, Problems, WeightSums
from discreet.records.engines.parquet import STAGED
from discreet.records.fingerprint import Fingerprint
from discreet.records.keys import LENT, LentKeys, Purpose, Secret, encipher
from discreet.records.source import Source
from discreet.records.staging import stage
from discreet.records.storage import CLUSTER, MEMORY_LIMIT, STRATUM, cluster_pairs, storage_schema

ID, UNIT, TAG, AT = "_id", "_unit", "_tag", "_at"
#: Bits for the number of a record in its partition.
AT_BITS = 40


class PartitionWriter:
    """The additional columns of one partition."""

    def __init__(self, dataset: Dataset, secret: Secret, number: int) -> None:
        self.problems, self.weights = Problems(dataset), WeightSums()
        self._key = secret.derive(Purpose.PARTITION, dataset.lineage)
        self._next = number << AT_BITS
        self._notes: dict[str, NDArray[np.int64]] = {}
        fields = [field for field in storage_schema(dataset) if field.name not in {STRATUM, CLUSTER}]
        self._units = [name for name in storage_schema(dataset).names if name in {STRATUM, CLUSTER}]
        fields += [pa.field(name, pa.int64()) for name in (*self._units, ID, UNIT, TAG, AT)]
        self._schema = pa.schema(fields)

    def writer(self, path: Path) -> pq.ParquetWriter:
        """The writer of the partition's rows."""
        import pyarrow.parquet as pq  # noqa: PLC0415 - only parts need it

        return pq.ParquetWriter(path, self._schema)

    def add(self, units: NDArray[np.uint8], tags: NDArray[np.uint8]) -> None:
        """Set the units and tags of the next chunk."""
        unsigned = np.ascontiguousarray(tags[:, :8]).view("<u8").ravel()
        # Spark has signed integers only: flipping the first bit keeps the order.
        self._notes = {
            UNIT: _encipher_prefix(self._key, units),
            TAG: (unsigned ^ np.uint64(2**63)).view(np.int64),
        }

    def with_notes(
        self, keyed: pa.RecordBatch, hashes: NDArray[np.uint8], units_of: Mapping[str, NDArray[np.uint64]]
    ) -> pa.RecordBatch:
        """A chunk of stored columns with the additional ones, from the hashes of ids, strata and clusters."""
        notes: dict[str, Any] = {
            **self._notes,
            ID: _encipher_prefix(self._key, hashes),
            AT: np.arange(self._next, self._next + len(hashes), dtype=np.int64),
        }
        self._next += len(hashes)
        if STRATUM in units_of:
            notes[STRATUM] = units_of[STRATUM].view(np.int64)
        if CLUSTER in units_of:
            notes[CLUSTER] = cluster_pairs(units_of).view(np.int64)
        whole = {**{name: keyed.column(name) for name in keyed.schema.names}, **notes}
        return pa.record_batch([whole[name] for name in self._schema.names], schema=self._schema)


def _encipher_prefix(key: bytes, hashes: NDArray[np.uint8]) -> NDArray[np.int64]:
    return np.ascontiguousarray(encipher(key, hashes)[:, :8]).view("<i8").ravel()


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """The report of a partition to the driver.

    `file` is empty if there is none; `tags` is `Fingerprint.so_far`; `weights` are sums; `problems` are the first ones
    and the number per variable; `refused` has the message and the advice of an error that ends the load.
    """

    number: int
    file: str = ""
    records: int = 0
    tags: tuple[int, int] = (0, 0)
    weights: tuple[int, int, int, int] = (0, 0, 0, 0)
    problems: tuple[list[Problem], dict[str, int]] = ((), {})  # type: ignore[assignment]
    refused: tuple[str, str] = ("", "")

    @property
    def text(self) -> str:
        """Its JSON text."""
        return json.dumps(asdict(self))


def parse_report(text: str) -> PartitionReport:
    """The report of a text."""
    raw: dict[str, Any] = json.loads(text)
    first, counts = raw.pop("problems")
    return PartitionReport(**raw, problems=([Problem(**each) for each in first], counts))


def stage_partition(
    batches: Iterator[pa.RecordBatch], dataset: Dataset, folder: str, number: int
) -> PartitionReport:
    """Check, key and stage one partition; every error is reported in words without values."""
    try:
        keys = LentKeys(Path(folder, LENT))
    except (OSError, ValueError):
        return PartitionReport(
            number,
            refused=(
                "An executor cannot read the folder of the workspace.",
                "Put the workspace on a file system that all machines of the cluster share, under the same path.",
            ),
        )
    try:
        return _stage(batches, dataset, Path(folder), number, keys)
    except DiscreetError as error:
        return PartitionReport(number, refused=(error.message, error.advice))
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        why = "The disk is full." if full else "An executor cannot write to the folder of the workspace."
        return PartitionReport(number, refused=(why, "Look at the disk of the workspace, and load again."))
    except Exception:  # noqa: BLE001 - Spark would log its message, which may contain a value
        return PartitionReport(
            number, refused=("The records cannot be read to the end.", "Check that they are complete.")
        )


def _stage(
    batches: Iterator[pa.RecordBatch], dataset: Dataset, folder: Path, number: int, keys: LentKeys
) -> PartitionReport:
    first = next(batches, None)
    if first is None:
        return PartitionReport(number)
    file = f"{number}-{secrets.token_hex(8)}.parquet"  # a task may be retried; the driver takes one file
    notes, fingerprint = PartitionWriter(dataset, keys, number), Fingerprint(keys, dataset.lineage)
    limits: dict[str, Any] = {"memory_limit": MEMORY_LIMIT, "temp_directory": "", "threads": 1}
    with duckdb.connect(config=limits) as reading:
        stream = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
        source = Source(reading.from_arrow(stream), None, "The source")
        records, _, _ = stage(reading, source, dataset, keys, fingerprint, folder / STAGED / file, part=notes)
    np.save(ids_of(folder, file), fingerprint.ids.values)
    weights = notes.weights
    sums = (weights.records, weights.total, weights.squares, weights.largest)
    return PartitionReport(number, file, records, fingerprint.so_far, sums, notes.problems.summary)


def ids_of(folder: Path, file: str) -> Path:
    """The file of the id sketch of a partition; Spark ignores names with a leading underscore."""
    return folder / STAGED / f"_{file}.npy"


def merge_reports(
    parts: list[PartitionReport],
    folder: Path,
    fingerprint: Fingerprint,
    problems: Problems,
    weights: WeightSums,
) -> dict[int, int]:
    """Add up the reports in the order of their numbers; returns the number of records before each, by number.

    Raises:
        BadData: A partition refused its records.
    """
    before, done = {}, 0
    for part in sorted(parts, key=lambda each: each.number):
        if part.refused[0]:
            raise BadData(*part.refused)
        fingerprint.join(*part.tags)
        if part.file:
            fingerprint.ids.join(np.load(ids_of(folder, part.file)))
        weights.join(*part.weights)
        first, counts = part.problems
        problems.join([replace(each, record=each.record + done) for each in first], counts)
        before[part.number] = done
        done += part.records
    return before
