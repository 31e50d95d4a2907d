"""Contribution bounds: at most r records of each privacy unit (person) are kept.

A guarantee for persons with at most r records needs that no person has more. Of a unit's records the r with the smallest
keyed tags are kept; a tag depends on the record and the secret only. So adding or removing a unit changes no other unit's
records, and at most r records in all.

    kept(unit) = the r records of the unit with the smallest AES-CBC-MAC(key, record)          (`fingerprint.py`)

Units and tags are written to a file, enciphered; DuckDB finds the surplus within its memory limit.

Source: docs/methods/dp-loads.md.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.records.keys import Purpose, Secret, encipher
from discreet.records.storage import connect_duckdb

_SCHEMA = pa.schema([(name, pa.uint64()) for name in ("low", "high", "tag", "place")])
#: The positions of the records of a unit beyond the first r by tag.
_SURPLUS = """
SELECT place FROM (
    SELECT place, row_number() OVER (PARTITION BY low, high ORDER BY tag, place) AS rank
    FROM listed SEMI JOIN (SELECT low, high FROM listed GROUP BY low, high HAVING count(*) > $most) USING (low, high)
) WHERE rank > $most
"""


class ContributionBounds:
    """Collects the units of records, chunk by chunk, in a temporary file of a folder, and finds the surplus."""

    def __init__(self, folder: Path, secret: Secret, lineage: str) -> None:
        self._folder, self._file = folder, folder / "units.arrow"
        self._key = secret.derive(Purpose.UNIT, lineage)
        self._writer = pa.ipc.new_file(self._file, _SCHEMA)
        self.noted = 0

    def add(self, units: NDArray[np.uint8], tags: NDArray[np.uint8]) -> None:
        """Add records: (n, 16) bytes of the hash of their unit, and their keyed tags."""
        words, ranks = encipher(self._key, units).view("<u8"), tags.view("<u8")
        places = np.arange(self.noted, self.noted + len(units), dtype=np.uint64)
        columns = [np.ascontiguousarray(each) for each in (words[:, 0], words[:, 1], ranks[:, 0], places)]
        self._writer.write_batch(pa.record_batch(columns, schema=_SCHEMA))
        self.noted += len(units)

    def surplus(self, most: int) -> NDArray[np.int64]:
        """The positions, ascending, of the records beyond `most` of their unit."""
        self._writer.close()
        try:
            with connect_duckdb(temporary=self._folder) as reading, pa.memory_map(str(self._file)) as source:
                reading.register("listed", pa.ipc.open_file(source).read_all())
                found = reading.execute(_SURPLUS, {"most": most}).fetchnumpy()["place"]
        finally:
            self._file.unlink()
        return np.sort(np.asarray(found, dtype=np.int64))


def drop_rows(staged: Path, surplus: NDArray[np.int64]) -> None:
    """Remove the records at some positions from a staged file."""
    if not surplus.size:
        return
    fewer, first = staged.with_suffix(".fewer"), 0
    with pa.memory_map(str(staged)) as source:
        whole = pa.ipc.open_file(source)
        with pa.ipc.new_file(fewer, whole.schema) as writer:
            for number in range(whole.num_record_batches):
                batch = whole.get_batch(number)
                own = surplus[np.searchsorted(surplus, first) : np.searchsorted(surplus, first + len(batch))]
                kept = np.ones(len(batch), dtype=np.bool_)
                kept[own - first] = False
                writer.write_batch(batch.filter(pa.array(kept)))
                first += len(batch)
    fewer.replace(staged)
