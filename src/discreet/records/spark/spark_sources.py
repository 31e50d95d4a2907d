"""Records in Spark: Parquet folders at any URL, and tables of its catalogue, read by the executors.

    people/                            a folder of Parquet files on this machine's file system
    spark:hdfs://name/census/people    Parquet at any URL that Spark reads
    spark:census.people                a table of the catalogue: Hive, or any other in spark-defaults.conf

The executors read, check and key their partitions with the code of every other load (`partitions.py`), and write them to
the folder of the new version; no record passes through the driver. Spark then finds duplicate ids, persons with too many
records, and the numbers of strata and clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa

from discreet.errors import BadData, BadDescription, NotFound, WorkspaceUnusable
from discreet.model.dataset import ROW_NUMBER, Dataset
from discreet.model.universe import dp_terms
from discreet.records.checks import MOST_LISTED, Problem, Problems, WeightSums
from discreet.records.coding import check_columns
from discreet.records.engines.parquet import STAGED
from discreet.records.fingerprint import Fingerprint
from discreet.records.keys import MOST_RECORDS, Secret, lend_keys
from discreet.records.readers import IN_SPARK
from discreet.records.source import Source
from discreet.records.spark.partitions import (
    AT,
    AT_BITS,
    ID,
    TAG,
    UNIT,
    PartitionReport,
    PartitionWriter,
    merge_reports,
    parse_report,
    stage_partition,
)
from discreet.records.spark.spark_session import spark_address, spark_session, spark_trouble
from discreet.records.staging import Progress, Read, refuse_other_size, refuse_unfit
from discreet.records.storage import unit_coders

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
    """Let the executors read, check, key and stage records in Spark; None for all other records.

    Raises:
        NotFound, BadDescription, BadData, BadRecords: As for every load.
        WorkspaceUnusable: Spark fails.
    """
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
    progress(
        "Reading and checking records", 0, 100
    )  # per cent: under dp the number of records is confidential
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
            kept = _without_surplus(staged, dp_terms(dataset)[0].records_per_unit)
            records, noted = int(kept.count()), int(staged.count())
            refuse_other_size(weights, dataset, records)
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

    told = [
        Problem(
            number(at),
            column,
            f"Two records have the same id: record {number(first):,} has it, too.",
            "Give every record an id of its own.",
        )
        for at, first in again.orderBy(AT).limit(MOST_LISTED).collect()
    ]
    problems.add(told, column, again.count())


def _without_surplus(staged: Any, most: int) -> Any:
    """Under `dp` the first records of every unit by tag, as in `contribution_bounds`."""
    from pyspark.sql import Window, functions

    rank = functions.row_number().over(Window.partitionBy(UNIT).orderBy(TAG, AT))
    return staged.withColumn("rank", rank).where(f"rank <= {int(most)}").drop("rank")


def _write_kept(staged: Any, dataset: Dataset, folder: Path) -> Path:
    """The records to keep, with strata and clusters numbered in the order of first occurrence."""
    import pyarrow.parquet as pq

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
