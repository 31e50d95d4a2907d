"""Arrow files and streams, batch by batch, so that compressed ones are never in memory whole; Parquet files and folders.

Feather files are Arrow files.
"""

from pathlib import Path

import duckdb
import pyarrow as pa

from discreet.errors import BadData
from discreet.model.description.sections import FileOptions
from discreet.records.readers import Reader
from discreet.records.source import Source, plain_path

#: The first bytes of an Arrow file; a stream has others.
MAGIC = b"ARROW1"
PARQUET = ".parquet"


def _open(connection: duckdb.DuckDBPyConnection, path: Path, _options: FileOptions, aside: Path) -> Source:
    if path.is_dir() or path.suffix.lower() == PARQUET:
        import pyarrow.parquet as pq  # noqa: PLC0415 - only Parquet files need it

        files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        if not files:
            raise BadData(
                f"The folder {path.name!r} has no Parquet file.", "Name a folder of *.parquet files."
            )
        records = sum(pq.read_metadata(part).num_rows for part in files)
        names = [str(part) for part in files] if path.is_dir() else [plain_path(path, aside)]
        if set("".join(names)) & set("*?[]{}"):
            raise BadData(f"A name in {path.name!r} has a star or bracket.", "Rename the files.")
        return Source(connection.read_parquet(names), records, path.name)
    data = pa.memory_map(str(path))
    if data.size() >= len(MAGIC) and data.read(len(MAGIC)) != MAGIC:
        data.seek(0)
        return Source(connection.from_arrow(pa.ipc.open_stream(data)), None, path.name)
    file = pa.ipc.open_file(data)
    batches = (file.get_batch(place) for place in range(file.num_record_batches))
    stream = pa.RecordBatchReader.from_batches(file.schema, batches)
    return Source(connection.from_arrow(stream), None, path.name)


READER = Reader("Arrow or Parquet", (".arrow", ".feather", ".ipc", PARQUET), _open, folders=True)
