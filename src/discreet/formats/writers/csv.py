"""Tidy CSV: one header row, one row per cell, UTF-8; and two dialects that Excel opens by itself.

Each variable has a column of codes under its name and a column `<name>_label`; then follow `value`, empty where nothing is
released, `status`, and the other numbers that the table has: `signed`, `relative_standard_error` and `noise_share`, both in
percent. Text that a spreadsheet would take for a formula gets a leading apostrophe. Arrow joins the fields of a block.

Excel splits a file by the separator of the reader's locale, which no server can know: semicolons where the comma is the
decimal sign, as in most of Europe, and commas elsewhere. A first line `sep=;` does not help: Excel is said to ignore the
byte order mark then, and the decimal sign stays the reader's. Every text that Excel would change gets a leading apostrophe:
a formula, or a code that it would take for a date (`5-9`), a time, or a number with other digits (`007`, `1E5`).
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.model.columns import NONE, Listing, Numbers, numbers_of, parts, places_of, statuses_of
from discreet.model.release import STATUSES, Release

_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(-\d+)?\Z")
#: Text that needs no quotes, unless it contains the separator.
_PLAIN = re.compile(r"[\w .()/-]+\Z")
#: Numbers that Excel does not change.
_KEPT = re.compile(r"(0|-?[1-9]\d{0,14})\Z")
#: Texts of digits and signs only, which Excel parses as a date, a time, an amount or a number.
_DIGITS = re.compile(r"(?=.*\d)[\d\s.,:/+\-()%$€£eE]+\Z")
#: The first letters of months in the languages of western and northern Europe.
_MONTHS = (
    "jan feb fév fev mar mär mrz mrt maa apr abr avr mai may maj mag mei jun jui giu jul lug aug ago aoû"
)
_MONTHS += " sep set okt oct out ott nov dec dez dic déc des gen ene"
_MONTH = re.compile(
    rf"(\d+[\s.\-/]*)?({'|'.join(_MONTHS.split())})\w*[\s.,\-/]*(\d[\d\s.,:\-/]*)?\Z", re.IGNORECASE
)
_OTHERS = re.compile(r"[=+\-@\t\r]|(\d+:\d+.*|\d+ *[ap]m?|true|false|wahr|falsch|vrai|faux)\Z", re.IGNORECASE)


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
    return pa.array(list(texts), pa.large_string())


def text_scalar(text: str) -> pa.Scalar:
    """A text as an Arrow scalar."""
    return pa.scalar(text, pa.large_string())


def take(texts: pa.Array, places: NDArray[np.integer[Any]]) -> pa.Array:
    """The texts at some places."""
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
    names = [name for d in release.dimensions for name in (d.name, f"{d.name}_label")]
    value, *beside = [numbers.name for numbers in numbers_of(release, NONE)]
    yield (dialect.separator.join([*names, value, "status", *beside]) + "\n").encode()
    texts = [(quote_fields(d.codes, dialect), quote_fields(d.labels, dialect)) for d in release.dimensions]
    letters = text_array(STATUSES)
    for lines in parts(release):
        columns = [
            take(each, places)
            for (_, places), pair in zip(places_of(release, lines), texts, strict=True)
            for each in pair
        ]
        number, *others = [number_texts(numbers, dialect.decimal) for numbers in numbers_of(release, lines)]
        columns += [number, take(letters, statuses_of(release, lines)), *others]
        yield join_lines(columns, dialect.separator)


def join_lines(columns: list[pa.Array], separator: str, end: str = "\n") -> bytes:
    """Rows of text, joined from their fields."""
    ended = pc.binary_join_element_wise(columns[-1], text_scalar(end), text_scalar(""))
    lines = pc.binary_join_element_wise(*columns[:-1], ended, text_scalar(separator))
    return b"".join(
        chunk.buffers()[2].to_pybytes() for chunk in getattr(lines, "chunks", [lines]) if len(chunk)
    )


def number_texts(numbers: Numbers, decimal: str = ".", missing: str = "") -> pa.Array:
    """Numbers as text: whole ones as they are, a float by the fewest digits that give it back."""
    if numbers.values.dtype.kind != "f":
        return pa.array(numbers.values, mask=numbers.missing).cast(pa.large_string()).fill_null(missing)
    known, places = np.unique(numbers.values, return_inverse=True)
    texts = [repr(value).replace(".", decimal) for value in known.tolist()]
    found = pa.array(texts, pa.large_string()).take(pa.array(places, mask=numbers.missing))
    return found.fill_null(missing)


def quote_fields(texts: tuple[str, ...], dialect: Dialect) -> pa.Array:
    """Each text as a CSV field: plain ones unchanged, others as quoted by Python's own writer."""

    def quote(text: str) -> str:
        if _PLAIN.match(text) and dialect.separator not in text:
            return text
        buffer = io.StringIO()
        csv.writer(buffer, delimiter=dialect.separator, lineterminator="\r\n").writerow([text, ""])
        return buffer.getvalue().removesuffix(f"{dialect.separator}\r\n")

    return text_array(quote(dialect.safe(text)) for text in texts)


def to_csv_excel(release: Release | Listing) -> Iterator[bytes]:
    """The release as CSV for Excel where the comma is the decimal sign."""
    return _csv_excel(release, Dialect(";", ",", excel_safe_text))


def to_csv_excel_point(release: Release | Listing) -> Iterator[bytes]:
    """The release as CSV for Excel where the point is the decimal sign."""
    return _csv_excel(release, Dialect(",", ".", excel_safe_text))


def _csv_excel(release: Release | Listing, dialect: Dialect) -> Iterator[bytes]:
    yield b"\xef\xbb\xbf"
    yield from csv_pieces(release, dialect)


def excel_safe_text(text: str) -> str:
    """Text that Excel does not change: with a leading apostrophe where needed.

    >>> [excel_safe_text(text) for text in ("5-9", "007", "12", "=1+1", "North")]
    ["'5-9", "'007", '12', "'=1+1", 'North']
    """
    if _KEPT.match(text):
        return text
    changed = _DIGITS.match(text) or _MONTH.match(text) or _OTHERS.match(text)
    return f"'{text}" if changed else text
