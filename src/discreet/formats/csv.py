"""Tidy CSV: one header row, one line a cell, UTF-8.

For each variable a column of codes under its name and a column `<name>_label`; then `value`, empty where
nothing is released, and `status`; a table in which counts below zero are shown as zero also has them as they were
(`signed`); a weighted table also has `relative_standard_error` and `noise_share`, the
noise's part of the error's variance, both in percent. Text that a spreadsheet would take for a formula is led
by an apostrophe. Each category is quoted once and the lines are joined by Arrow: a million cells take a second.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from discreet.formats import Format

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from discreet.model.release import Release

_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(-\d+)?\Z")


def to_csv(release: Release) -> bytes:
    """The release as tidy CSV."""
    names = [name for d in release.dimensions for name in (d.name, f"{d.name}_label")]
    extra = [] if release.signed is None else ["signed"]
    extra += [] if release.errors is None else ["relative_standard_error", "noise_share"]
    header = ",".join([*names, "value", "status", *extra]) + "\n"
    return header.encode() + _lines(release)


def safe_text(text: str) -> str:
    """Text that no spreadsheet runs: a leading apostrophe where it would start a formula.

    >>> safe_text("=1+1"), safe_text("-5"), safe_text("5-9")
    ("'=1+1", '-5', '5-9')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.match(text) else text


def _lines(release: Release) -> bytes:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from discreet.model.release import STATUSES

    columns = []
    lengths = release.values.shape
    for axis, dimension in enumerate(release.dimensions):
        along = tuple(-1 if a == axis else 1 for a in range(len(lengths)))
        place = np.broadcast_to(np.arange(dimension.length, dtype=np.int32).reshape(along), lengths).ravel()
        columns += [_quoted(texts).take(pa.array(place)) for texts in (dimension.codes, dimension.labels)]
    status = release.status.ravel()
    value = _texts(release.values.ravel(), release.missing.ravel())
    letter = pa.array(STATUSES, pa.large_string()).take(pa.array(status))
    columns += [value, letter]
    if release.signed is not None:
        columns.append(_texts(release.signed.ravel(), release.missing.ravel()))
    columns += [
        _percent(np.where(release.missing, -1, tenths))
        for tenths in (release.errors, release.noise_shares)
        if tenths is not None
    ]
    comma, nothing = (pa.scalar(text, pa.large_string()) for text in (",", ""))
    ended = pc.binary_join_element_wise(columns.pop(), pa.scalar("\n", pa.large_string()), nothing)
    lines = pc.binary_join_element_wise(*columns, ended, comma)
    return b"".join(line_block.buffers()[2].to_pybytes() for line_block in _blocks(lines))


def _texts(values: NDArray[np.int64] | NDArray[np.float64], missing: NDArray[np.bool_]) -> pa.Array:
    """Whole numbers as they are, a float by the fewest digits that give it back; empty where missing."""
    import pyarrow as pa

    if values.dtype.kind == "f":
        texts = pa.array([repr(value) for value in values.tolist()], pa.large_string(), mask=missing)
    else:
        texts = pa.array(values, mask=missing).cast(pa.large_string())
    return texts.fill_null("")


def _percent(errors: NDArray[np.int64]) -> pa.Array:
    """Tenths of a percent as percent with one decimal; empty where negative."""
    import numpy as np
    import pyarrow as pa

    known, places = np.unique(errors.ravel(), return_inverse=True)
    texts = ["" if error < 0 else f"{error // 10}.{error % 10}" for error in known.tolist()]
    return pa.array(texts, pa.large_string()).take(pa.array(places))


def _blocks(lines: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    chunks = getattr(lines, "chunks", [lines])
    return [chunk for chunk in chunks if len(chunk)]


def _quoted(texts: tuple[str, ...]) -> pa.Array:
    """Each text as a CSV field, by Python's own writer."""
    import pyarrow as pa

    fields = []
    for text in texts:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\r\n").writerow([safe_text(text), ""])
        fields.append(buffer.getvalue().removesuffix(",\r\n"))
    return pa.array(fields, pa.large_string())


FORMAT = Format("csv", "CSV", "tidy CSV", "csv", "text/csv; charset=utf-8", to_csv)
