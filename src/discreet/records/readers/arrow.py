"""Arrow files and streams (Feather is an Arrow file), batch by batch: compressed ones are never in memory whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from discreet.model.description.sections import FileOptions
from discreet.records.readers import Reader
from discreet.records.source import Source

if TYPE_CHECKING:
    import duckdb


#: The first bytes of an Arrow file; a stream has others.
MAGIC = b"ARROW1"


def _open(connection: duckdb.DuckDBPyConnection, path: Path, _options: FileOptions, _aside: Path) -> Source:
    data = pa.memory_map(str(path))
    if data.size() >= len(MAGIC) and data.read(len(MAGIC)) != MAGIC:
        data.seek(0)
        return Source(connection.from_arrow(pa.ipc.open_stream(data)), None, path.name)
    file = pa.ipc.open_file(data)
    batches = (file.get_batch(place) for place in range(file.num_record_batches))
    stream = pa.RecordBatchReader.from_batches(file.schema, batches)
    return Source(connection.from_arrow(stream), None, path.name)


READER = Reader("Arrow", (".arrow", ".feather", ".ipc"), _open)
