"""Records in Spark: Parquet folders at any URL, and tables of its catalogue, read by the executors.

    people/                            a folder of Parquet files on this machine's file system
    spark:hdfs://name/census/people    Parquet at any URL that Spark reads
    spark:census.people                a table of the catalogue: Hive, or any other in spark-defaults.conf

The executors read, check and key their partitions with the code of every other load (`staging.stage`), and write each as
one Parquet file in the folder of the new version; no record passes through the driver. In addition to the stored columns a
file holds, during the load, what only the driver can decide: duplicate ids, persons with too many records, and the numbers
of strata and clusters.

    _id, _unit             64 bits of the enciphered hash of the record's id and of its person
    _tag                   64 bits of its tag (`records/fingerprint.py`), which decide the records kept under `dp`
    _at                    its position: the number of the partition, then the number of the record in it
    _stratum, _cluster     64 bits of a hash in place of a number, since partitions do not share numbers

A partition reports its sums and problems as text, without keys and without values of valid records.
"""

import errno
import json
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, cast

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.errors import BadData, BadDescription, DiscreetError, NotFound, WorkspaceUnusable
from discreet.model.dataset import ROW_NUMBER, Dataset
from discreet.model.universe import dp_terms
from discreet.records.checks import MOST_LISTED, Problem, Problems, WeightSums
from discreet.records.coding import check_columns
from discreet.records.engines.parquet import STAGED
from discreet.records.engines.spark import spark_address, spark_session, spark_trouble
from discreet.records.fingerprint import Fingerprint
from discreet.records.keys import LENT, MOST_RECORDS, LentKeys, Purpose, Secret, encipher, lend_keys
from discreet.records.readers import IN_SPARK
from discreet.records.source import Source
from discreet.records.staging import Progress, Read, refuse_unfit, same_id, stage
from discreet.records.storage import MEMORY_LIMIT, storage_schema, unit_coders, unit_columns, unit_hashes

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
        units = unit_columns(dataset)
        fields = [field for field in storage_schema(dataset) if field.name not in units]
        self._schema = pa.schema(
            fields + [pa.field(name, pa.int64()) for name in (*units, ID, UNIT, TAG, AT)]
        )

    def writer(self, path: Path) -> pq.ParquetWriter:
        """The writer of the partition's rows."""
        return pq.ParquetWriter(path, self._schema)

    def add(self, units: NDArray[np.uint8], tags: NDArray[np.uint8]) -> None:
        """Set the units and tags of the next chunk."""
        unsigned = np.ascontiguousarray(tags[:, :8]).view("<u8").ravel()
        # Spark has signed integers only: flipping the first bit keeps the order.
        signed = (unsigned ^ np.uint64(2**63)).view(np.int64)
        self._notes = {UNIT: _encipher_prefix(self._key, units), TAG: signed}

    def with_notes(
        self, keyed: pa.RecordBatch, hashes: NDArray[np.uint8], units_of: Mapping[str, NDArray[np.uint64]]
    ) -> pa.RecordBatch:
        """A chunk of stored columns with the additional ones, from the hashes of ids, strata and clusters."""
        places = np.arange(self._next, self._next + len(hashes), dtype=np.int64)
        notes: dict[str, Any] = {**self._notes, ID: _encipher_prefix(self._key, hashes), AT: places}
        self._next += len(hashes)
        notes |= {name: hashes.view(np.int64) for name, hashes in unit_hashes(units_of).items()}
        whole = {**dict(zip(keyed.schema.names, keyed.columns, strict=True)), **notes}
        return pa.record_batch([whole[name] for name in self._schema.names], schema=self._schema)


def _encipher_prefix(key: bytes, hashes: NDArray[np.uint8]) -> NDArray[np.int64]:
    return np.ascontiguousarray(encipher(key, hashes)[:, :8]).view("<i8").ravel()


@dataclass(frozen=True, slots=True)
class PartitionReport:
    """The report of a partition to the driver.

    `file` is empty if there is none; `tags` is `Fingerprint.so_far`; `weights` are the arguments of `WeightSums.join`;
    `problems` are the first ones and the number per variable; `refused` has the message and the advice of an error that ends
    the load.
    """

    number: int
    file: str = ""
    records: int = 0
    tags: tuple[int, int] = (0, 0)
    weights: tuple[Any, ...] = (0, 0, 0, 0)
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
        advice = (
            "Put the workspace on a file system that all machines of the cluster share, under the same path."
        )
        refused = ("An executor cannot read the folder of the workspace.", advice)
        return PartitionReport(number, refused=refused)
    try:
        return _stage(batches, dataset, Path(folder), number, keys)
    except DiscreetError as error:
        refused = error.message, error.advice
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        why = "The disk is full." if full else "An executor cannot write to the folder of the workspace."
        refused = why, "Look at the disk of the workspace, and load again."
    except Exception:  # noqa: BLE001 - Spark would log its message, which may contain a value
        refused = "The records cannot be read to the end.", "Check that they are complete."
    return PartitionReport(number, refused=refused)


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
    np.save(_ids_of(folder, file), fingerprint.ids.values)
    weights = notes.weights
    sums = (weights.records, weights.total, weights.squares, weights.largest, *weights.replicates)
    return PartitionReport(number, file, records, fingerprint.so_far, sums, notes.problems.summary)


def _ids_of(folder: Path, file: str) -> Path:
    return folder / STAGED / f"_{file}.npy"  # Spark ignores names with a leading underscore


def merge_reports(
    parts: list[PartitionReport],
    folder: Path,
    fingerprint: Fingerprint,
    problems: Problems,
    weights: WeightSums,
) -> dict[int, int]:
    """Add up the reports in the order of their numbers; returns the number of records before each, by number."""
    before, done = {}, 0
    for part in sorted(parts, key=lambda each: each.number):
        if part.refused[0]:
            raise BadData(*part.refused)
        fingerprint.join(*part.tags)
        if part.file:
            fingerprint.ids.join(np.load(_ids_of(folder, part.file)))
        weights.join(*part.weights)
        first, counts = part.problems
        problems.join([replace(each, record=each.record + done) for each in first], counts)
        before[part.number] = done
        done += part.records
    return before


#: An empty staged file.
NOBODY = "none.parquet"


def take(
    records: object,
    dataset: Dataset,
    secret: Secret,
    folder: Path,
    fingerprint: Fingerprint,
    progress: Progress,
) -> tuple[Path, Read] | None:
    """Let the executors read, check, key and stage records in Spark; None for all other records."""
    name, frame = _open_frame(records)
    if frame is None or (dataset.id_column == ROW_NUMBER and not name.startswith(IN_SPARK)):
        return None
    columns = check_columns(name, list(frame.columns), dataset)
    if dataset.id_column not in columns:
        raise BadDescription(
            "Records in Spark have no order, so that their numbers are no ids.",
            "Name a column in `id_column`.",
        )
    is_dp = dataset.protection.is_dp
    # Per cent: under dp the number of records is confidential.
    progress("Reading and checking records", 0, 100)
    problems, weights = Problems(dataset), WeightSums()
    quoted = ("`" + column.replace("`", "``") + "`" for column in columns)
    parts = _stage_partitions(frame.select(*quoted), dataset, secret, folder)
    before = merge_reports(parts, folder, fingerprint, problems, weights)
    total = sum(part.records for part in parts)
    progress("Reading and checking records", 100, 100)
    if total > MOST_RECORDS:
        raise BadData(f"{name} has more than {MOST_RECORDS:,} records.", "Split the dataset.")
    source = Source(cast("Any", None), total, name)
    if not is_dp:
        refuse_unfit(source, dataset, problems, weights, total)
    with spark_trouble("The records could not be compared by Spark."):
        staged = spark_session().read.parquet(spark_address(folder / STAGED))
        if is_dp:
            from pyspark.sql import Window, functions

            # The first records of every unit by tag, as `staging.ContributionBounds` keeps them.
            most = int(dp_terms(dataset)[0].records_per_unit)
            rank = functions.row_number().over(Window.partitionBy(UNIT).orderBy(TAG, AT))
            kept = staged.withColumn("rank", rank).where(f"rank <= {most}").drop("rank")
            records, noted = int(kept.count()), int(staged.count())
            refuse_unfit(source, dataset, problems, weights, records)
            return _write_kept(kept, dataset, folder), (records, problems.found(source), noted - records)
        _find_duplicates(staged, before, problems, dataset.id_column)
        problems.refuse(source)
        return _write_kept(staged, dataset, folder), (total, None, 0)


def _open_frame(records: object) -> tuple[str, Any]:
    """The name of records in Spark, and a frame of them; None for others."""
    named = str(records) if isinstance(records, str | Path) else ""
    if named.startswith(IN_SPARK):
        address = named.removeprefix(IN_SPARK)
        reader = spark_session().read
        try:
            with spark_trouble("Spark cannot open it."):
                return named, (reader.parquet if "/" in address else reader.table)(address)
        except WorkspaceUnusable:
            raise NotFound(
                f"Spark cannot open {address!r}.", "Check the address, or the table's name."
            ) from None
    folder = Path(named)
    if named and folder.is_dir() and any(folder.rglob("*.parquet")):
        with spark_trouble("Spark cannot read the folder of Parquet files."):
            return folder.name, spark_session().read.parquet(spark_address(folder))
    return named, None


def _stage_partitions(frame: Any, dataset: Dataset, secret: Secret, folder: Path) -> list[PartitionReport]:
    """Let every executor stage its partitions; keys are lent by a file, and only text comes back."""
    place = str(folder.absolute())

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        number = cast("Any", TaskContext.get()).partitionId()
        yield pa.record_batch({"report": [stage_partition(batches, dataset, place, number).text]})

    (folder / STAGED).mkdir()
    lent = lend_keys(secret, dataset.lineage, folder)
    try:
        with spark_trouble("The records could not be read by Spark."):
            reports = frame.mapInArrow(read, "report string").toArrow()
    finally:
        lent.unlink()
    PartitionWriter(dataset, secret, 0).writer(folder / STAGED / NOBODY).close()  # if no partition has a file
    parts = [parse_report(text) for text in reports.column("report").to_pylist()]
    kept = {NOBODY, *(part.file for part in parts)}
    for file in (folder / STAGED).glob("*.parquet"):
        if file.name not in kept:  # of a retried task
            file.unlink()
    return parts


def _find_duplicates(staged: Any, before: dict[int, int], problems: Problems, column: str) -> None:
    """Report ids that occur twice, by 64 enciphered bits, as `staging` does."""
    from pyspark.sql import functions

    listed = staged.groupBy(ID).agg(functions.count("*").alias("n"), functions.min(AT).alias("first"))
    twice = listed.where("n > 1")
    if twice.isEmpty():
        return
    again = staged.join(twice, ID).where(f"{AT} > first").select(AT, "first")

    def number(at: int) -> int:
        return before[at >> AT_BITS] + (at & ((1 << AT_BITS) - 1)) + 1

    rows = again.orderBy(AT).limit(MOST_LISTED).collect()
    problems.add([same_id(number(at), number(first), column) for at, first in rows], column, again.count())


def _write_kept(staged: Any, dataset: Dataset, folder: Path) -> Path:
    """The records to keep, with strata and clusters numbered in the order of first occurrence."""
    coders = unit_coders(dataset)
    for name, coder in coders.items():
        firsts = staged.groupBy(name).agg({AT: "min"}).toDF(name, AT).orderBy(AT).toArrow()
        hashes = np.asarray(firsts.column(name)).astype(np.int64).view(np.uint64)
        numbers = pa.table({name: firsts.column(name), "number": coder.codes(hashes).astype(np.int64)})
        file = folder / STAGED / f"numbers{name}"  # a file, because a query plan would show the values
        pq.write_table(numbers, file)
        listed = staged.sparkSession.read.parquet(spark_address(file))
        staged = staged.join(listed, name).drop(name).withColumnRenamed("number", name)
    if not coders and not dataset.protection.is_dp:
        return folder / STAGED
    staged.write.parquet(spark_address(folder / "kept"))
    return folder / "kept"
