"""The file `codes.bin` of a version: its records column by column, as an array in memory would have them.

    weights (8 bytes), record keys (4), then the codes of the variables: those of 4, of 2 and of 1 byte

The columns stand without gaps from the widest to the narrowest, so each is aligned, and the number of records follows
from the size of the file. Records stand as the engine sorted them: by the finest geography, ascending. The file is mapped
into memory and never read whole by Python; it is as confidential as the records, and it is sealed and removed with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.records.storage import RECORD_KEY, WEIGHT, storage_schema

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset

CODES = "codes.bin"
#: With fewer records an engine takes a few milliseconds for any table.
FEWEST = 100_000


def code_columns(dataset: Dataset) -> dict[str, int]:
    """The columns of the file in their order, and how many bytes a value has."""
    schema = storage_schema(dataset)
    names = [RECORD_KEY, *(variable.name for variable in dataset.variables)]
    names += [WEIGHT] if dataset.weight_column is not None else []
    widths = {name: schema.field(name).type.bit_width // 8 for name in names}
    return dict(sorted(widths.items(), key=lambda column: -column[1]))


def write_codes(batches: Iterable[pa.RecordBatch], records: int, dataset: Dataset, folder: Path) -> None:
    """Write the file of a new version from its sorted records; none where there are few, or where they are not sorted."""
    if records < FEWEST:
        return
    widths, done, last = code_columns(dataset), 0, 0
    starts, path = _starts(widths, records), folder / CODES
    with path.open("xb") as file:
        for batch in batches:
            for name, width in widths.items():
                file.seek(starts[name] + done * width)
                file.write(np.ascontiguousarray(batch.column(name).to_numpy()).data)
            if dataset.finest_geography:
                places = batch.column(dataset.finest_geography).to_numpy()
                if places[0] < last or (places[1:] < places[:-1]).any():
                    break
                last = places[-1]
            done += batch.num_rows
    if done != records:
        path.unlink()


@dataclass(frozen=True, eq=False)
class CodeFile:
    """The records of a version, mapped.

    Args:
        raw: All bytes.
        widths: How many bytes a value of each column has.
        starts: Where each column begins.
        records: How many there are.
        sorted_by: The variable that ascends; none without geography.
    """

    raw: NDArray[np.uint8]
    widths: dict[str, int]
    starts: dict[str, int]
    records: int
    sorted_by: str | None

    def column(self, name: str) -> NDArray[np.unsignedinteger]:
        """One column."""
        width, start = self.widths[name], self.starts[name]
        return self.raw[start : start + width * self.records].view(f"<u{width}")

    def __repr__(self) -> str:
        return f"<CodeFile of {len(self.widths)} columns, confidential>"


def open_codes(folder: Path, dataset: Dataset) -> CodeFile | None:
    """Map the file of a version; None where there is none."""
    path, widths = folder / CODES, code_columns(dataset)
    if not path.is_file():
        return None
    raw = np.asarray(np.memmap(path, np.uint8, mode="r"))
    records = raw.size // sum(widths.values())
    return CodeFile(raw, widths, _starts(widths, records), records, dataset.finest_geography)


def _starts(widths: dict[str, int], records: int) -> dict[str, int]:
    """Where each column begins."""
    ends = np.cumsum([width * records for width in widths.values()])
    return dict(zip(widths, [0, *ends[:-1].tolist()], strict=True))
