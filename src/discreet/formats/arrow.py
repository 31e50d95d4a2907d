"""Arrow stream: the columns of the tidy CSV, dictionary-coded, with all that must be told inside the schema.

Codes, labels and status are dictionaries of text; `value` and the numbers beside it are null where nothing is
released. The schema's metadata has the key `discreet`: a JSON object with title, notes, promise, version, digest
and citation; each column of a variable has its label as metadata. The lines come in batches.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from discreet.formats import Format
from discreet.model.file_io import Outbox
from discreet.model.messages.text import message

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from discreet.model.columns import Listing, Numbers, Part
    from discreet.model.release import Release


#: Lines of one batch of a stream, and of one row group of a Parquet file.
BATCH = 65_536


def to_arrow(release: Release | Listing) -> Iterator[bytes]:
    """The release as an Arrow IPC stream, batch by batch."""
    import pyarrow as pa

    from discreet.model.columns import parts

    make, outbox = batch_maker(release), Outbox()
    with pa.ipc.new_stream(outbox, make(slice(0, 0)).schema) as stream:
        for lines in parts(release, BATCH):
            stream.write_batch(make(lines))
            yield outbox.taken()
    yield outbox.taken()


def batch_maker(release: Release | Listing) -> Callable[[Part], pa.RecordBatch]:
    """What makes some lines of the release a batch; all batches share their dictionaries and their schema."""
    import pyarrow as pa

    from discreet.model.columns import numbers_of, places_of, statuses_of
    from discreet.model.release import STATUS_MEANING, STATUSES

    texts = [(pa.array(d.codes, pa.string()), pa.array(d.labels, pa.string())) for d in release.dimensions]
    letters, words = pa.array(STATUSES, pa.string()), {"discreet": _metadata(release)}

    def make(lines: Part) -> pa.RecordBatch:
        named: list[tuple[str, pa.Array, dict[str, str]]] = []
        for (dimension, places), (codes, labels) in zip(places_of(release, lines), texts, strict=True):
            told = {"label": dimension.label}
            named.append((dimension.name, _dictionary_array(codes, places), told))
            named.append((f"{dimension.name}_label", _dictionary_array(labels, places), told))
        value, *beside = [(n.name, _nullable(n), {"meaning": n.meaning}) for n in numbers_of(release, lines)]
        status = (
            "status",
            _dictionary_array(letters, statuses_of(release, lines).astype("int32")),
            STATUS_MEANING,
        )
        named += [value, status, *beside]
        fields = [pa.field(name, column.type, metadata=told) for name, column, told in named]
        schema = pa.schema(fields, metadata=words)
        return pa.RecordBatch.from_arrays([column for _, column, _ in named], schema=schema)

    return make


def arrow_table(release: Release) -> pa.Table:
    """The release as an Arrow table."""
    import pyarrow as pa

    return pa.Table.from_batches([batch_maker(release)(slice(0, release.cells))])


def _dictionary_array(texts: pa.Array, places: NDArray[np.int32]) -> pa.Array:
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(places), texts)


def _nullable(numbers: Numbers) -> pa.Array:
    import pyarrow as pa

    return pa.array(numbers.values, mask=numbers.missing)


def _metadata(release: Release | Listing) -> str:
    """What must be told, as JSON: a name that stands on several lines has a list."""
    from discreet.model.messages.citation import provenance

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
    message("an Arrow stream"),
    "arrows",
    "application/vnd.apache.arrow.stream",
    to_arrow,
    place=60,
    python_name="arrow_stream",
    lists=True,
)
