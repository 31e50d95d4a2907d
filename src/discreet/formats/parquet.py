"""Parquet: the table of the Arrow stream as a file, dictionary-encoded, with the metadata in the schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.formats import Format
from discreet.formats.arrow import BATCH, batch_maker
from discreet.model.file_io import Outbox
from discreet.model.messages.text import message

if TYPE_CHECKING:
    from discreet.model.columns import Listing
    from discreet.model.release import Release


def to_parquet(release: Release | Listing) -> Iterator[bytes]:
    """The release as a Parquet file, row group by row group."""
    import pyarrow.parquet as pq

    from discreet.model.columns import parts

    make, outbox = batch_maker(release), Outbox()
    with pq.ParquetWriter(outbox, make(slice(0, 0)).schema, compression="zstd") as file:
        for lines in parts(release, BATCH):
            file.write_batch(make(lines))
            yield outbox.taken()
    yield outbox.taken()


FORMAT = Format(
    "parquet",
    "Parquet",
    message("a Parquet file"),
    "parquet",
    "application/vnd.apache.parquet",
    to_parquet,
    place=50,
    lists=True,
)
