"""Excel: a workbook with the sheets data, notes and definitions, without formulas.

The sheet data has the columns of the tidy CSV: codes and labels as text, `value` empty where nothing is released, `status`
next to it. The sheet notes has the provenance, the sheet definitions the columns, categories and status letters. Every text
is written as text: a label never becomes a formula, a link, a number or a date.

XlsxWriter makes the workbook with all its texts. The rows of the sheet data are then inserted block by block, as XML that
Arrow joins: a text is its index in the workbook's list of texts, all of which are in the sheet definitions.
"""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadRequest
from discreet.formats.writers.csv import join_lines, number_texts, take, text_array, text_scalar
from discreet.model.columns import NONE, blocks, numbers_of, places_of
from discreet.model.file_io import Outbox
from discreet.model.messages.sentences import provenance
from discreet.model.release import STATUS_MEANING, STATUSES, Release

#: The maximum number of rows, and of characters of a cell, in Excel.
MOST_LINES, MOST_LETTERS = 1_048_575, 32_767
#: A workbook has a creation time; it is fixed, so that the same release gives the same file.
_MADE = datetime(2000, 1, 1)  # noqa: DTZ001 - Excel knows no time zones
#: Rows per block: their XML is long.
_LINES = 2_048
#: The parts of the file with the sheet data and the list of the sheets.
_DATA, _SHEETS = "xl/worksheets/sheet1.xml", "xl/workbook.xml"
#: The part with all texts, and its escape of a character that XML cannot have.
_TEXTS, _ESCAPED = "xl/sharedStrings.xml", re.compile("_x([0-9A-Fa-f]{4})_")
#: The extent of the sheet data in these parts, which ends with its header.
_HEADER_ONLY = re.compile(rb'(\$?A\$?1:\$?[A-Z]+\$?)1(?=["<])')


def to_xlsx(release: Release) -> Iterator[bytes]:
    """The release as an Excel workbook.

    Raises:
        BadRequest: It has more cells than a sheet has rows.
    """
    refuse_long(release.cells)
    outbox = Outbox()
    with (
        zipfile.ZipFile(_book(release)) as made,
        zipfile.ZipFile(outbox, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as sent,
    ):
        texts = _numbers_of_texts(made.read(_TEXTS))
        for name in made.namelist():
            with sent.open(name, "w") as part:
                whole = made.read(name)
                if name in {_DATA, _SHEETS}:  # unchanged except for the rows of the data and their extent
                    whole = _HEADER_ONLY.sub(rb"\g<1>%d" % (release.cells + 1), whole)
                before, end, after = whole.partition(b"</sheetData>")
                rows = _data(release, texts) if name == _DATA else ()
                for piece in chain([before], rows, [end + after]):
                    part.write(piece)
                    yield outbox.taken()
    yield outbox.taken()


def _book(release: Release) -> io.BytesIO:
    """The workbook, with only the header of the sheet data."""
    import xlsxwriter

    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        book.set_properties({"title": release.title[:255], "comments": release.notes[0], "created": _MADE})
        bold, wrapped = book.add_format({"bold": True}), book.add_format({"text_wrap": True, "valign": "top"})
        data, names = (
            book.add_worksheet("data"),
            [n for d in release.dimensions for n in (d.name, f"{d.name}_label")],
        )
        value, *beside = [numbers.name for numbers in numbers_of(release, NONE)]
        names += [value, "status", *beside]
        for column, name in enumerate(names):
            data.write_string(0, column, name, bold)
        data.freeze_panes(1, 0)
        data.autofilter(0, 0, 0, len(names) - 1)
        data.set_column(0, len(names) - 1, 16)
        _write_lines(book.add_worksheet("notes"), ("name", "text"), provenance(release), bold, wrapped)
        header = ("name", "code", "label", "parent")
        _write_lines(book.add_worksheet("definitions"), header, _definitions(release), bold, wrapped)
    return buffer


def _numbers_of_texts(shared: bytes) -> dict[str, int]:
    """The index of each text in the file's list of texts (ECMA-376 part 1, 18.4 and 22.9.2.19)."""
    items = ET.fromstring(shared)  # noqa: S314 - XlsxWriter has just written it
    texts = ("".join(item.itertext()) for item in items)
    return {
        _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text): place for place, text in enumerate(texts)
    }


def refuse_long(cells: int) -> None:
    """Refuse a table that is too long for a sheet."""
    if cells > MOST_LINES:
        raise BadRequest(
            f"The table has {cells:,} cells; a sheet of Excel has {MOST_LINES:,} lines below its header.",
            "Take the format parquet or csv, or ask for a smaller table.",
        )


def _data(release: Release, texts: dict[str, int]) -> Iterator[bytes]:
    found = [(_text_cells(d.codes, texts), _text_cells(d.labels, texts)) for d in release.dimensions]
    letters = _text_cells(STATUSES, texts)
    for lines in blocks(release, _LINES):
        yield join_lines(_lines(release, lines, found, letters), "", "")


def _text_cells(texts: Iterable[str], numbers: dict[str, int]) -> pa.Array:
    """The end of a cell element for each text; an empty text is an empty cell."""
    return text_array(
        f'" t="s"><v>{numbers[text[:MOST_LETTERS]]}</v></c>' if text else '"/>' for text in texts
    )


def _lines(
    release: Release, lines: slice, texts: list[tuple[pa.Array, pa.Array]], letters: pa.Array
) -> list[pa.Array]:
    """The XML of some rows, column by column."""
    from xlsxwriter.utility import xl_col_to_name

    row = pa.array(np.arange(lines.start, lines.stop) + 2).cast(pa.large_string())
    pairs = zip(places_of(release, lines), texts, strict=True)
    cells = [take(each, places) for (_, places), pair in pairs for each in pair]
    value, *others = [_number_cells(number_texts(numbers)) for numbers in numbers_of(release, lines)]
    cells += [value, take(letters, release.status.flat[lines]), *others]
    parts = [text_scalar('<row r="'), row, text_scalar('">')]
    for column, cell in enumerate(cells):
        parts += [text_scalar(f'<c r="{xl_col_to_name(column)}'), row, cell]
    return [*parts, text_scalar("</row>")]


def _number_cells(texts: pa.Array) -> pa.Array:
    """The end of a cell element for each number; an empty cell where there is none."""
    start, end, nothing, empty = map(text_scalar, ('"><v>', "</v></c>", "", '"/>'))
    return pc.if_else(
        pc.equal(texts, nothing), empty, pc.binary_join_element_wise(start, texts, end, nothing)
    )


def _write_lines(
    sheet: Any, header: tuple[str, ...], lines: Iterable[tuple[str, ...]], bold: Any, wrapped: Any
) -> None:
    for column, name in enumerate(header):
        sheet.write_string(0, column, name, bold)
    for number, line in enumerate(lines, start=1):
        for column, text in enumerate(line):
            if text:
                sheet.write_string(number, column, text[:MOST_LETTERS], wrapped)
    sheet.set_column(0, 0, 24)
    sheet.set_column(1, len(header) - 1, 100 if len(header) == 2 else 40)


def _definitions(release: Release) -> list[tuple[str, ...]]:
    """Every column, category and status letter with its meaning."""
    lines: list[tuple[str, ...]] = []
    for dimension in release.dimensions:
        lines.append((dimension.name, "", dimension.label, ""))
        parents = [dimension.outputs[o.parent].code if o.parent >= 0 else "" for o in dimension.outputs]
        parents += [""] * dimension.total
        lines += [
            (dimension.name, *category)
            for category in zip(dimension.codes, dimension.labels, parents, strict=True)
        ]
    lines += [(numbers.name, "", numbers.meaning, "") for numbers in numbers_of(release, NONE)]
    return lines + [("status", letter, meaning, "") for letter, meaning in STATUS_MEANING.items()]
