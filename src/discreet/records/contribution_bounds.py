"""Privacy units: at most r records of each person are kept, whatever the records are.

A promise for persons of at most r records holds only if no person has more. So of a unit's records those r are kept whose
keyed tags are smallest; the tag of a record depends on the record and the secret alone. A unit more or less then changes
no other unit's records, and at most r records in all: nothing is refused, and nobody is told.

    kept(unit) = the r records of the unit with the smallest AES-CBC-MAC(key, record)          (`fingerprint.py`)

Units and tags wait in a file, enciphered, and DuckDB finds the surplus within its memory limit.

Source: docs/methods/dp-loads.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.records.keys import Purpose, Secret, encipher
from discreet.records.storage import MEMORY_LIMIT

_SCHEMA = pa.schema([(name, pa.uint64()) for name in ("low", "high", "tag", "place")])
#: The places of the records of a unit beyond the first r by their tags.
_SURPLUS = """
SELECT place FROM (
    SELECT place, row_number() OVER (PARTITION BY low, high ORDER BY tag, place) AS rank
    FROM listed SEMI JOIN (SELECT low, high FROM listed GROUP BY low, high HAVING count(*) > $most) USING (low, high)
) WHERE rank > $most
"""


class ContributionBounds:
    """Notes whose every record is, chunk by chunk, and tells which records are too many.

    Args:
        folder: Where the notes wait; they are removed with it.
        secret: Units are enciphered with it.
        lineage: The dataset's.
    """

    def __init__(self, folder: Path, secret: Secret, lineage: str) -> None:
        self._folder, self._file = folder, folder / "units.arrow"
        self._key = secret.derive(Purpose.UNIT, lineage)
        self._writer = pa.ipc.new_file(self._file, _SCHEMA)
        self.noted = 0

    def add(self, units: NDArray[np.uint8], tags: NDArray[np.uint8]) -> None:
        """Note records: (n, 16) bytes of the hash of their unit, and their keyed tags."""
        words, ranks = encipher(self._key, units).view("<u8"), tags.view("<u8")
        places = np.arange(self.noted, self.noted + len(units), dtype=np.uint64)
        columns = [np.ascontiguousarray(each) for each in (words[:, 0], words[:, 1], ranks[:, 0], places)]
        self._writer.write_batch(pa.record_batch(columns, schema=_SCHEMA))
        self.noted += len(units)

    def surplus(self, most: int) -> NDArray[np.int64]:
        """The places, in ascending order, of the records beyond `most` of their unit."""
        self._writer.close()
        limits = {"memory_limit": MEMORY_LIMIT, "temp_directory": str(self._folder)}
        reading = duckdb.connect(config=dict(limits))
        try:
            with _memory_map(self._file) as source:
                reading.register("listed", pa.ipc.open_file(source).read_all())
                found = reading.execute(_SURPLUS, {"most": most}).fetchnumpy()["place"]
        finally:
            reading.close()
            self._file.unlink()
        return np.sort(np.asarray(found, dtype=np.int64))


def drop_rows(staged: Path, surplus: NDArray[np.int64]) -> None:
    """Take the records at some places out of a staged file."""
    if not surplus.size:
        return
    fewer = staged.with_suffix(".fewer")
    with _memory_map(staged) as source:
        whole = pa.ipc.open_file(source)
        with pa.ipc.new_file(fewer, whole.schema) as writer:
            for batch, first in _batches(whole):
                own = surplus[np.searchsorted(surplus, first) : np.searchsorted(surplus, first + len(batch))]
                kept = np.ones(len(batch), dtype=np.bool_)
                kept[own - first] = False
                writer.write_batch(batch.filter(pa.array(kept)))
    fewer.replace(staged)


def _batches(whole: pa.ipc.RecordBatchFileReader) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Every chunk of a file, and the place of its first record."""
    first = 0
    for number in range(whole.num_record_batches):
        batch = whole.get_batch(number)
        yield batch, first
        first += len(batch)


def _memory_map(path: Path) -> AbstractContextManager[pa.MemoryMappedFile]:
    return pa.memory_map(str(path))  # type: ignore[no-any-return]
