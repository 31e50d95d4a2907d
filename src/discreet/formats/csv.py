"""Tidy CSV: one header row, one row per cell, UTF-8.

Each variable has a column of codes under its name and a column `<name>_label`; then follow `value`, empty where nothing is
released, `status`, and the other numbers that the table has: `signed`, `relative_standard_error` and `noise_share`, both in
percent. Text that a spreadsheet would take for a formula gets a leading apostrophe. Arrow joins the fields of a block.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.formats import Format
from discreet.model.messages.text import message

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from discreet.model.columns import Listing, Numbers, Part
    from discreet.model.release import Release


_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(-\d+)?\Z")
#: Text that needs no quotes, unless it contains the separator.
_PLAIN = re.compile(r"[\w .()/-]+\Z")


def to_csv(release: Release | Listing) -> Iterator[bytes]:
    """The release as tidy CSV."""
    return csv_pieces(release, Dialect())


def safe_text(text: str) -> str:
    """Text that no spreadsheet takes for a formula: with a leading apostrophe where needed.

    >>> safe_text("=1+1"), safe_text("-5"), safe_text("5-9")
    ("'=1+1", '-5', '5-9')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.match(text) else text


def text_array(texts: Iterable[str]) -> pa.Array:
    """Texts as an Arrow array."""
    import pyarrow as pa

    return pa.array(list(texts), pa.large_string())


def text_scalar(text: str) -> pa.Scalar:
    """A text as an Arrow scalar."""
    import pyarrow as pa

    return pa.scalar(text, pa.large_string())


def take(texts: pa.Array, places: NDArray[np.integer[Any]]) -> pa.Array:
    """The texts at some places."""
    import pyarrow as pa

    return texts.take(pa.array(places))


@dataclass(frozen=True, slots=True)
class Dialect:
    """A dialect of CSV.

    Args:
        separator: Between fields.
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
    """The fields of some rows, column by column."""
    from discreet.model.columns import numbers_of, places_of, statuses_of
    from discreet.model.release import STATUSES

    columns = [
        take(each, places)
        for (_, places), pair in zip(places_of(release, lines), texts, strict=True)
        for each in pair
    ]
    value, *others = [number_texts(numbers, dialect.decimal) for numbers in numbers_of(release, lines)]
    return [*columns, value, take(text_array(STATUSES), statuses_of(release, lines)), *others]


def join_lines(columns: list[pa.Array], separator: str, end: str = "\n") -> bytes:
    """Rows of text, joined from their fields."""
    import pyarrow.compute as pc

    ended = pc.binary_join_element_wise(columns[-1], text_scalar(end), text_scalar(""))
    lines = pc.binary_join_element_wise(*columns[:-1], ended, text_scalar(separator))
    return b"".join(
        chunk.buffers()[2].to_pybytes() for chunk in getattr(lines, "chunks", [lines]) if len(chunk)
    )


def number_texts(numbers: Numbers, decimal: str = ".", missing: str = "") -> pa.Array:
    """Numbers as text: whole ones as they are, a float by the fewest digits that give it back."""
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
    return text_array(_quote_field(dialect.safe(text), dialect.separator) for text in texts)


def _quote_field(text: str, separator: str) -> str:
    """A plain text unchanged; any other as quoted by Python's own writer."""
    if _PLAIN.match(text) and separator not in text:
        return text
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=separator, lineterminator="\r\n").writerow([text, ""])
    return buffer.getvalue().removesuffix(f"{separator}\r\n")


FORMAT = Format(
    "csv", "CSV", message("tidy CSV"), "csv", "text/csv; charset=utf-8", to_csv, place=10, lists=True
)
