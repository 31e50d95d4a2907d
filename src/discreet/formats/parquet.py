"""Parquet: the table of the Arrow stream as a file, dictionary-coded, with all that must be told inside the schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.formats import Format
from discreet.formats.arrow import BATCH, arrow_table

if TYPE_CHECKING:
    from discreet.model.release import Release


def to_parquet(release: Release) -> bytes:
    """The release as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(arrow_table(release), sink, row_group_size=BATCH, compression="zstd")
    return bytes(sink.getvalue().to_pybytes())


FORMAT = Format(
    "parquet", "Parquet", "a Parquet file", "parquet", "application/vnd.apache.parquet", to_parquet
)
