"""Arrow stream and Parquet: the columns of the tidy CSV, dictionary-encoded, with the metadata in the schema.

Codes, labels and status are dictionaries of text; `value` and the other numbers are null where nothing is released. The
schema has the metadata key `discreet`: a JSON object with title, notes, promise, version, digest and citation. Each column
of a variable has its label as metadata.
"""

import json
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.model.columns import Listing, Part, numbers_of, parts, places_of, statuses_of
from discreet.model.file_io import Outbox
from discreet.model.messages.sentences import provenance
from discreet.model.release import STATUS_MEANING, STATUSES, Release

#: Rows per batch of a stream, and per row group of a Parquet file.
BATCH = 65_536


def to_arrow(release: Release | Listing) -> Iterator[bytes]:
    """The release as an Arrow IPC stream, batch by batch."""
    make, outbox = batch_maker(release), Outbox()
    with pa.ipc.new_stream(outbox, make(slice(0, 0)).schema) as stream:
        for lines in parts(release, BATCH):
            stream.write_batch(make(lines))
            yield outbox.taken()
    yield outbox.taken()


def to_parquet(release: Release | Listing) -> Iterator[bytes]:
    """The release as a Parquet file, row group by row group."""
    make, outbox = batch_maker(release), Outbox()
    with pq.ParquetWriter(outbox, make(slice(0, 0)).schema, compression="zstd") as file:
        for lines in parts(release, BATCH):
            file.write_batch(make(lines))
            yield outbox.taken()
    yield outbox.taken()


def batch_maker(release: Release | Listing) -> Callable[[Part], pa.RecordBatch]:
    """A function from some rows of the release to a batch; all batches share their dictionaries and schema."""

    def encode(texts: pa.Array, places: NDArray[np.int32]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(places), texts)

    texts = [(pa.array(d.codes, pa.string()), pa.array(d.labels, pa.string())) for d in release.dimensions]
    letters, metadata = pa.array(STATUSES, pa.string()), {"discreet": _metadata(release)}

    def make(lines: Part) -> pa.RecordBatch:
        columns: list[tuple[str, pa.Array, dict[str, str]]] = []
        for (dimension, places), (codes, labels) in zip(places_of(release, lines), texts, strict=True):
            label = {"label": dimension.label}
            columns.append((dimension.name, encode(codes, places), label))
            columns.append((f"{dimension.name}_label", encode(labels, places), label))
        value, *others = [
            (n.name, pa.array(n.values, mask=n.missing), {"meaning": n.meaning})
            for n in numbers_of(release, lines)
        ]
        status = ("status", encode(letters, statuses_of(release, lines).astype("int32")), STATUS_MEANING)
        columns += [value, status, *others]
        fields = [pa.field(name, column.type, metadata=meaning) for name, column, meaning in columns]
        arrays = [column for _, column, _ in columns]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields, metadata=metadata))

    return make


def arrow_table(release: Release) -> pa.Table:
    """The release as an Arrow table."""
    return pa.Table.from_batches([batch_maker(release)(slice(0, release.cells))])


def _metadata(release: Release | Listing) -> str:
    """The provenance as JSON; notes and promises are lists."""
    texts: dict[str, list[str]] = {}
    for name, text in provenance(release):
        texts.setdefault(name, []).append(text)
    listed = {"note", "promise"}
    return json.dumps(
        {name: each if name in listed else each[0] for name, each in texts.items()}, ensure_ascii=False
    )
