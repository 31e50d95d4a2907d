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
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.formats import Format

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from discreet.model.columns import Numbers
    from discreet.model.release import Release

_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(-\d+)?\Z")


def to_csv(release: Release) -> bytes:
    """The release as tidy CSV."""
    return csv_document(release, Dialect())


def safe_text(text: str) -> str:
    """Text that no spreadsheet runs: a leading apostrophe where it would start a formula.

    >>> safe_text("=1+1"), safe_text("-5"), safe_text("5-9")
    ("'=1+1", '-5', '5-9')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.match(text) else text


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV file is written.

    Args:
        separator: What stands between fields.
        decimal: The decimal sign.
        safe: Makes a text harmless to the program that opens the file.
    """

    separator: str = ","
    decimal: str = "."
    safe: Callable[[str], str] = safe_text


def csv_document(release: Release, dialect: Dialect) -> bytes:
    """The release as CSV of a dialect."""
    from discreet.model.columns import numbers_of

    names = [name for d in release.dimensions for name in (d.name, f"{d.name}_label")]
    value, *beside = [numbers.name for numbers in numbers_of(release)]
    header = dialect.separator.join([*names, value, "status", *beside]) + "\n"
    return header.encode() + joined_lines(_columns(release, dialect), dialect.separator)


def _columns(release: Release, dialect: Dialect) -> list[pa.Array]:
    """The fields of every line, column by column."""
    import pyarrow as pa

    from discreet.model.columns import numbers_of, places_of
    from discreet.model.release import STATUSES

    columns = [
        quoted(texts, dialect).take(pa.array(places))
        for dimension, places in places_of(release)
        for texts in (dimension.codes, dimension.labels)
    ]
    value, *beside = [number_texts(numbers, dialect.decimal) for numbers in numbers_of(release)]
    status = pa.array(STATUSES, pa.large_string()).take(pa.array(release.status.ravel()))
    return [*columns, value, status, *beside]


def joined_lines(columns: list[pa.Array], separator: str) -> bytes:
    """Lines made of their fields."""
    import pyarrow as pa
    import pyarrow.compute as pc

    between, end, nothing = (pa.scalar(text, pa.large_string()) for text in (separator, "\n", ""))
    ended = pc.binary_join_element_wise(columns[-1], end, nothing)
    lines = pc.binary_join_element_wise(*columns[:-1], ended, between)
    return b"".join(line_block.buffers()[2].to_pybytes() for line_block in _blocks(lines))


def number_texts(numbers: Numbers, decimal: str = ".") -> pa.Array:
    """Whole numbers as they are, a float by the fewest digits that give it back; empty where missing."""
    import numpy as np
    import pyarrow as pa

    if numbers.values.dtype.kind != "f":
        return pa.array(numbers.values, mask=numbers.missing).cast(pa.large_string()).fill_null("")
    known, places = np.unique(numbers.values, return_inverse=True)
    texts = [repr(value).replace(".", decimal) for value in known.tolist()]
    return pa.array(texts, pa.large_string()).take(pa.array(places, mask=numbers.missing)).fill_null("")


def _blocks(lines: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    chunks = getattr(lines, "chunks", [lines])
    return [chunk for chunk in chunks if len(chunk)]


def quoted(texts: tuple[str, ...], dialect: Dialect) -> pa.Array:
    """Each text as a CSV field, by Python's own writer."""
    import pyarrow as pa

    fields = []
    for text in texts:
        buffer = io.StringIO()
        csv.writer(buffer, delimiter=dialect.separator, lineterminator="\r\n").writerow(
            [dialect.safe(text), ""]
        )
        fields.append(buffer.getvalue().removesuffix(f"{dialect.separator}\r\n"))
    return pa.array(fields, pa.large_string())


FORMAT = Format("csv", "CSV", "tidy CSV", "csv", "text/csv; charset=utf-8", to_csv)
