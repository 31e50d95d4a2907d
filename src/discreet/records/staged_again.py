"""The records of an engine as the file that a load gives to one: how a version moves between engines.

Every engine can tell its records by one aggregate over all columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from discreet.errors import WorkspaceUnusable
from discreet.records.engine import AggregateQuery
from discreet.records.storage import storage_schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet.model.dataset import Dataset
    from discreet.records.engine import Engine

#: So many categories of the longest variable are read at a time.
AT_ONCE = 64


def staged_again(engine: Engine, dataset: Dataset, folder: Path) -> Path:
    """All records of an engine as the file that a load gives to one."""
    staged, told = folder / "staged.arrow", 0
    with pa.ipc.new_file(staged, storage_schema(dataset)) as writer:
        for batch in _batches(engine, dataset):
            writer.write_batch(batch)
            told += batch.num_rows
    if told != int(engine.aggregate(AggregateQuery((dataset.variables[0].name,))).counts.sum()):
        raise WorkspaceUnusable("The engine does not tell all its records.", "The version stays where it is.")
    return staged


def _batches(engine: Engine, dataset: Dataset) -> Iterator[pa.RecordBatch]:
    """Groups of equal records, some categories of the longest variable at a time, each as often as it occurs."""
    schema = storage_schema(dataset)
    split = max(dataset.variables, key=len)
    for first in range(0, len(split), AT_ONCE):
        codes = tuple(range(first, min(first + AT_ONCE, len(split))))
        cells = engine.aggregate(AggregateQuery(tuple(schema.names), ((split.name, codes),)))
        columns = [np.repeat(column, cells.counts) for column in cells.codes]
        if cells.counts.size:
            arrays = [
                pa.array(column).cast(field.type) for column, field in zip(columns, schema, strict=True)
            ]
            yield pa.record_batch(arrays, schema=schema)
