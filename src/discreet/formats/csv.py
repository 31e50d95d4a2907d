"""Tidy CSV: one header row, one line a cell, UTF-8.

For each variable a column of codes under its name and a column `<name>_label`; then `value`, empty where
nothing is released, and `status`; a table in which counts below zero are shown as zero also has them as they were
(`signed`); a weighted table also has `relative_standard_error` and `noise_share`, the
noise's part of the error's variance, both in percent. Text that a spreadsheet would take for a formula is led
by an apostrophe. Each category is quoted once and Arrow joins the lines of a block.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.formats import Format
from discreet.model.messages.text import message

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.model.columns import Listing, Numbers, Part
    from discreet.model.release import Release


_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(-\d+)?\Z")
#: What no dialect need quote, unless it has its separator in it.
_PLAIN = re.compile(r"[\w .()/-]+\Z")


def to_csv(release: Release | Listing) -> Iterator[bytes]:
    """The release as tidy CSV."""
    return csv_pieces(release, Dialect())


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


def csv_pieces(release: Release | Listing, dialect: Dialect) -> Iterator[bytes]:
    """The release as CSV of a dialect: the header, then block by block."""
    from discreet.model.columns import NONE, numbers_of, parts

    names = [name for d in release.dimensions for name in (d.name, f"{d.name}_label")]
    value, *beside = [numbers.name for numbers in numbers_of(release, NONE)]
    yield (dialect.separator.join([*names, value, "status", *beside]) + "\n").encode()
    texts = [(quote_fields(d.codes, dialect), quote_fields(d.labels, dialect)) for d in release.dimensions]
    for lines in parts(release):
        yield join_lines(_columns(release, lines, texts, dialect), dialect.separator)


def _columns(
    release: Release | Listing, lines: Part, texts: list[tuple[pa.Array, pa.Array]], dialect: Dialect
) -> list[pa.Array]:
    """The fields of some lines, column by column."""
    import pyarrow as pa

    from discreet.model.columns import numbers_of, places_of, statuses_of
    from discreet.model.release import STATUSES

    columns = [
        each.take(pa.array(places))
        for (_, places), pair in zip(places_of(release, lines), texts, strict=True)
        for each in pair
    ]
    value, *beside = [number_texts(numbers, dialect.decimal) for numbers in numbers_of(release, lines)]
    status = pa.array(STATUSES, pa.large_string()).take(pa.array(statuses_of(release, lines)))
    return [*columns, value, status, *beside]


def join_lines(columns: list[pa.Array], separator: str, end: str = "\n") -> bytes:
    """Lines made of their fields."""
    import pyarrow as pa
    import pyarrow.compute as pc

    between, last, nothing = (pa.scalar(text, pa.large_string()) for text in (separator, end, ""))
    ended = pc.binary_join_element_wise(columns[-1], last, nothing)
    lines = pc.binary_join_element_wise(*columns[:-1], ended, between)
    return b"".join(
        chunk.buffers()[2].to_pybytes() for chunk in getattr(lines, "chunks", [lines]) if len(chunk)
    )


def number_texts(numbers: Numbers, decimal: str = ".", missing: str = "") -> pa.Array:
    """Whole numbers as they are, a float by the fewest digits that give it back, and a text where there is none."""
    import numpy as np
    import pyarrow as pa

    if numbers.values.dtype.kind != "f":
        return pa.array(numbers.values, mask=numbers.missing).cast(pa.large_string()).fill_null(missing)
    known, places = np.unique(numbers.values, return_inverse=True)
    texts = [repr(value).replace(".", decimal) for value in known.tolist()]
    found = pa.array(texts, pa.large_string()).take(pa.array(places, mask=numbers.missing))
    return found.fill_null(missing)


def quote_fields(texts: tuple[str, ...], dialect: Dialect) -> pa.Array:
    """Each text as a CSV field."""
    import pyarrow as pa

    return pa.array(
        [_quote_field(dialect.safe(text), dialect.separator) for text in texts], pa.large_string()
    )


def _quote_field(text: str, separator: str) -> str:
    """A text as it is where it is plain; else as Python's own writer quotes it."""
    if _PLAIN.match(text) and separator not in text:
        return text
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=separator, lineterminator="\r\n").writerow([text, ""])
    return buffer.getvalue().removesuffix(f"{separator}\r\n")


FORMAT = Format(
    "csv", "CSV", message("tidy CSV"), "csv", "text/csv; charset=utf-8", to_csv, place=10, lists=True
)
