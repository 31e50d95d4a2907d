"""Arrow stream: the columns of the tidy CSV, dictionary-coded, with all that must be told inside the schema.

Codes, labels and status are dictionaries of text; `value` and the numbers beside it are null where nothing is
released. The schema's metadata has the key `discreet`: a JSON object with title, notes, promise, version, digest
and citation; each column of a variable has its label as metadata. The lines come in batches.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from discreet.formats import Format

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from discreet.model.columns import Numbers
    from discreet.model.release import Release

#: Lines of one batch of a stream, and of one row group of a Parquet file.
BATCH = 131_072


def to_arrow(release: Release) -> bytes:
    """The release as an Arrow IPC stream."""
    import pyarrow as pa

    table, sink = arrow_table(release), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table, max_chunksize=BATCH)
    return bytes(sink.getvalue().to_pybytes())


def arrow_table(release: Release) -> pa.Table:
    """The release as an Arrow table."""
    import pyarrow as pa

    from discreet.model.columns import numbers_of, places_of
    from discreet.model.release import STATUS_MEANING, STATUSES

    named: list[tuple[str, pa.Array, dict[str, str]]] = []
    for dimension, places in places_of(release):
        told = {"label": dimension.label}
        named.append((dimension.name, _coded(dimension.codes, places), told))
        named.append((f"{dimension.name}_label", _coded(dimension.labels, places), told))
    value, *beside = [(n.name, _nullable(n), {"meaning": n.meaning}) for n in numbers_of(release)]
    status = ("status", _coded(STATUSES, release.status.ravel().astype("int32")), STATUS_MEANING)
    named += [value, status, *beside]
    fields = [pa.field(name, column.type, metadata=told) for name, column, told in named]
    schema = pa.schema(fields, metadata={"discreet": _words(release)})
    return pa.Table.from_arrays([column for _, column, _ in named], schema=schema)


def _coded(texts: tuple[str, ...], places: NDArray[np.int32]) -> pa.Array:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(places), pa.array(texts, pa.string()))


def _nullable(numbers: Numbers) -> pa.Array:
    import pyarrow as pa

    return pa.array(numbers.values, mask=numbers.missing)


def _words(release: Release) -> str:
    """What must be told, as JSON: a name that stands on several lines has a list."""
    from discreet.model.provenance import provenance

    told: dict[str, list[str]] = {}
    for name, text in provenance(release):
        told.setdefault(name, []).append(text)
    listed = {"note", "promise"}
    return json.dumps(
        {name: texts if name in listed else texts[0] for name, texts in told.items()}, ensure_ascii=False
    )


FORMAT = Format(
    "arrow",
    "Arrow",
    "an Arrow stream",
    "arrows",
    "application/vnd.apache.arrow.stream",
    to_arrow,
    python_name="arrow_stream",
)
