"""Lines of a CSV file, read slowly by Python where something is wrong: where a record stands, and which line is torn."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from discreet.errors import BadData
from discreet.records.csv_dialect import PACK_ERRORS, open_text, torn_pack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from discreet.records.csv_dialect import Dialect


def record_lines(path: Path, dialect: Dialect, numbers: Sequence[int]) -> list[int]:
    """The lines on which records begin, given their numbers from 1, in any order."""
    wanted, found = set(numbers), {}
    for number, (line, _) in enumerate(_records(path, dialect), 1):
        if number in wanted:
            found[number] = line
            if len(found) == len(wanted):
                break
    return [found[number] for number in numbers]


def torn_line(path: Path, dialect: Dialect) -> BadData | None:
    """What is wrong with the first line that cannot be read, if there is one."""
    width = len(dialect.names)
    line = 0
    try:
        for line, row in _records(path, dialect):
            if len(row) != width:
                return BadData(
                    f"Line {line:,} of {path.name} has {_fields(len(row))}, and the header has {width:,}.",
                    "Is it torn, or does a value hold the separator? Mend the line, or put such values in quotes.",
                )
            if any("\ufffd" in value for value in row):
                return BadData(
                    f"Line {line:,} of {path.name} has a character that is not {dialect.encoding}.",
                    "Name the encoding that the file has: --encoding cp1252, or [file] encoding.",
                )
    except csv.Error:
        return BadData(
            f"A quote that begins after line {max(1, line):,} of {path.name} does not end, or text follows it.",
            "Close the quote, and write a quote within quotes twice.",
        )
    except PACK_ERRORS:
        return torn_pack(path)
    return None


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count:,} fields"


def _records(path: Path, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """The records with the lines on which they begin; empty lines are none, unless there is one column only."""
    with open_text(path, dialect.encoding) as text:
        rows = dialect.rows(text)
        header, begins = True, dialect.skip + 1
        for row in rows:
            if (row or (len(dialect.names) == 1 and not header)) and not header:
                yield begins, row or [""]
            header = header and not row
            begins = rows.line_num + dialect.skip + 1
