"""The nonzero cells of a table: a stream that is saved or read once, from a workspace or a server."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.api.remote_release import reject_malformed
from discreet.formats import Format, format_by_name, format_of_file, listing_format
from discreet.formats.arrow import batch_maker
from discreet.model.columns import Listing
from discreet.model.file_io import save

if TYPE_CHECKING:
    import pyarrow as pa


class NonzeroCells:
    """The nonzero cells as they are counted; every other cell is 0."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing

    @property
    def title(self) -> str:
        """The title of the table."""
        return self._listing.title

    @property
    def notes(self) -> tuple[str, ...]:
        """The mandatory notes."""
        return self._listing.notes

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The cells as Arrow batches: codes and labels, `value` and `status`."""
        make = batch_maker(self._listing)
        return (make(cells) for cells in self._listing.cells)

    def save(self, path: str | Path) -> None:
        """Write to a file in the format that owns its ending: csv, parquet or arrows."""
        save(listing_format(format_of_file(path)).stream(self._listing), path)

    def __repr__(self) -> str:
        return f"<NonzeroCells: {self.title}>"


class ServedCells:
    """Nonzero cells of a server: a saved file has the server's bytes; batches are parsed from its Arrow stream.

    Args:
        document: Returns the server's document of a format as a stream.
    """

    def __init__(self, document: Callable[[Format], Iterator[bytes]]) -> None:
        self._document = document

    @cached_property
    def _reader(self) -> pa.RecordBatchStreamReader:
        import pyarrow as pa

        pieces = self._document(format_by_name("arrow"))
        with reject_malformed():
            return pa.ipc.open_stream(io.BufferedReader(_Inbox(pieces)))

    @property
    def _metadata(self) -> dict[str, Any]:
        reader = self._reader
        with reject_malformed():
            return dict(json.loads(reader.schema.metadata[b"discreet"]))

    @property
    def title(self) -> str:
        """The title of the table."""
        return str(self._metadata["title"])

    @property
    def notes(self) -> tuple[str, ...]:
        """The mandatory notes."""
        return tuple(map(str, self._metadata["note"]))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The cells as Arrow batches: codes and labels, `value` and `status`."""
        reader = self._reader
        with reject_malformed():
            for batch in reader:
                batch.validate(full=True)
                yield batch

    def save(self, path: str | Path) -> None:
        """Write to a file in the format that owns its ending: csv, parquet or arrows."""
        save(self._document(listing_format(format_of_file(path))), path)

    def __repr__(self) -> str:
        return "<ServedCells>"


class _Inbox(io.RawIOBase):
    """A stream of byte chunks as a readable file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, place: Any) -> int:
        """Fill a buffer with the next bytes."""
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        size = min(len(self._left), len(place))
        place[:size] = self._left[:size]
        self._left = self._left[size:]
        return size
