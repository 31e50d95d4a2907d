"""The rows of a small CSV file, or a refusal that says what is wrong with the file."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from discreet.errors import BadData, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

#: A count that fits a 64-bit integer with room for sums.
LARGEST_COUNT = 2**53


def read_rows(path: Path) -> list[list[str]]:
    """All rows of a file that are not blank.

    Raises:
        NotFound: There is no such file.
        BadData: The file is no text in UTF-8, or no CSV.
    """
    if not path.is_file():
        raise NotFound(f'There is no file "{path}".', "Check the name.")
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return parse_rows(lines, path.name)
    except UnicodeDecodeError:
        raise BadData(f'"{path.name}" is not a text file in UTF-8.', "Save it as CSV in UTF-8.") from None


def parse_rows(lines: Iterable[str], source: str) -> list[list[str]]:
    """The rows of lines that are not blank.

    >>> parse_rows(["a,b", "", "1,2"], "small.csv")
    [['a', 'b'], ['1', '2']]
    """
    reader = csv.reader(lines)
    try:
        return [row for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise BadData(
            f'Line {reader.line_num} of "{source}" is no CSV: {error}.', "Save it as CSV."
        ) from None


def whole_number(cell: str) -> int | None:
    """A whole number within ±2^53; None for everything else.

    >>> whole_number(" -3 "), whole_number("3.5"), whole_number("9" * 30)
    (-3, None, None)
    """
    digits = cell.strip().removeprefix("-")
    if not digits.isascii() or not digits.isdecimal() or len(digits) > 16:
        return None
    number = int(cell)
    return number if abs(number) <= LARGEST_COUNT else None
