"""CSV that Excel opens by itself: the columns of the tidy CSV with a byte order mark, semicolons and decimal commas.

Excel splits a file by the separator of the reader's locale, which no server can know. This is the one of locales with a
decimal comma, as in most of Europe; `csv_excel_point` is for a decimal point. A first line `sep=;` does not help: Excel is
said to ignore the byte order mark then, and the decimal sign stays the reader's. Every text that Excel would change gets a
leading apostrophe: a formula, or a code that it would take for a date (`5-9`), a time, or a number with other digits (`007`,
`1E5`, more than 15 digits).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from discreet.formats import Format
from discreet.formats.csv import Dialect, csv_pieces
from discreet.model.messages.text import message

if TYPE_CHECKING:  # help starts without NumPy
    from discreet.model.release import Release

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


def to_csv_excel(release: Release) -> Iterator[bytes]:
    """The release as CSV for Excel with a decimal comma."""
    return excel_pieces(release, ";", ",")


def excel_pieces(release: Release, separator: str, decimal: str) -> Iterator[bytes]:
    """The release as CSV for Excel with a decimal sign."""
    yield b"\xef\xbb\xbf"
    yield from csv_pieces(release, Dialect(separator, decimal, excel_safe_text))


def excel_safe_text(text: str) -> str:
    """Text that Excel does not change: with a leading apostrophe where needed.

    >>> [excel_safe_text(text) for text in ("5-9", "007", "12", "=1+1", "North")]
    ["'5-9", "'007", '12', "'=1+1", 'North']
    """
    if _KEPT.match(text):
        return text
    changed = _DIGITS.match(text) or _MONTH.match(text) or _OTHERS.match(text)
    return f"'{text}" if changed else text


FORMAT = Format(
    "csv-excel",
    message("CSV for Excel (semicolons)"),
    message("CSV that Excel opens by itself where the comma is the decimal sign"),
    "csv",
    "text/csv; charset=utf-8",
    to_csv_excel,
    owns_extension=False,
    place=20,
    for_people=True,
    lists=True,
)
