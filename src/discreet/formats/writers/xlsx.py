"""Excel: a workbook with the sheets table, data, notes and definitions, without formulas.

The sheet table is the cross table as a page shows it, with its title, note and source; a table of more than `MOST_CROSSED`
cells has none. The sheet data has the columns of the tidy CSV: codes and labels as text, `value` empty where nothing is
released, `status` next to it. The sheet notes has the provenance, the sheet definitions the columns, categories and status
letters. Every text is written as text: a label never becomes a formula, a link, a number or a date.

XlsxWriter makes the workbook with all its texts. The rows of the sheet data are then inserted block by block, as XML that
Arrow joins: a text is its index in the workbook's list of texts, all of which are in the sheet definitions.
"""

import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from math import ceil, prod
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadRequest
from discreet.formats.writers.csv import join_lines, number_texts, take, text_array, text_scalar
from discreet.model.columns import NONE, Numbers, blocks, numbers_of, places_of
from discreet.model.file_io import Outbox
from discreet.model.messages.sentences import citation, provenance
from discreet.model.release import STATUS_MEANING, STATUSES, Release
from discreet.model.shape import Dimension

#: The maximum number of rows, and of characters of a cell, in Excel.
MOST_LINES, MOST_LETTERS = 1_048_575, 32_767
#: A workbook has a creation time; it is fixed, so that the same release gives the same file.
_MADE = datetime(2000, 1, 1)  # noqa: DTZ001 - Excel knows no time zones
#: Rows per block: their XML is long.
_LINES = 2_048
#: The parts of the file with the sheet data and the list of the sheets.
_SHEET, _SHEETS = "xl/worksheets/sheet{number}.xml", "xl/workbook.xml"
#: The most cells of the sheet table, and the most columns of a sheet.
MOST_CROSSED, MOST_COLUMNS = 200_000, 16_384
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
        data = _SHEET.format(number=1 + is_crossed(release))
        for name in made.namelist():
            with sent.open(name, "w") as part:
                whole = made.read(name)
                if name in {data, _SHEETS}:  # unchanged except for the rows of the data and their extent
                    whole = _HEADER_ONLY.sub(rb"\g<1>%d" % (release.cells + 1), whole)
                before, end, after = whole.partition(b"</sheetData>")
                rows = _data(release, texts) if name == data else ()
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
        if is_crossed(release):
            _write_table(book, release)
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


def is_crossed(release: Release) -> bool:
    """Whether the workbook has the sheet table."""
    columns = prod(d.length for d in release.dimensions if d.name in release.request.columns)
    wide = columns * len(numbers_of(release, NONE)) + len(release.request.rows)
    return release.cells <= MOST_CROSSED and wide <= MOST_COLUMNS


def shown_numbers(release: Release) -> list[Numbers]:
    """The numbers of the cross table: all, or the derived ones alone."""
    numbers, derived = numbers_of(release), {column.name for column in release.derived}
    return [each for each in numbers if each.name in derived] if release.view.alone and derived else numbers


def _write_table(book: Any, release: Release) -> None:
    """The cross table: layers below each other, the heads of groups merged, and note and source below."""
    request, numbers = release.request, shown_numbers(release)
    rows, columns, layers = (
        [dimension for dimension in release.dimensions if dimension.name in names]
        for names in (request.rows, request.columns, request.layers)
    )
    sheet = book.add_worksheet("table")
    head = {"bold": True, "text_wrap": True, "valign": "bottom", "bottom": 1}
    looks = {
        name: book.add_format(look)
        for name, look in {
            "title": {"bold": True, "font_size": 14},
            "head": head,
            "number_head": {**head, "align": "right"},
            "group": {**head, "align": "center"},
            "layer": {"bold": True, "top": 2},
            "total": {"bold": True},
            "letter": {"align": "right", "italic": True},
            "note": {"text_wrap": True, "valign": "top"},
        }.items()
    }
    formats = [_number_formats(book, each) for each in numbers]
    count, width = (prod(d.length for d in axis) for axis in (layers, columns))
    stub, across = max(len(rows), 1), width * len(numbers)
    height = release.cells // (count * width)
    sheet.write_string(0, 0, release.title[:MOST_LETTERS], looks["title"])
    sheet.set_column(0, stub - 1, 26)
    sheet.set_column(stub, stub + across - 1, 13)
    line = 2
    for layer in range(count):
        if layers:
            sheet.write_string(line, 0, ", ".join(_labels_at(layers, layer))[:MOST_LETTERS], looks["layer"])
            line += 1
        first = _write_head(sheet, line, rows, columns, numbers, looks)
        if not layer:
            sheet.freeze_panes(first, stub)
            sheet.repeat_rows(line, first - 1)
        shown = _CrossedRows(sheet, release, numbers, formats, looks["letter"], (height, width, count))
        shown.write(first, layer, rows, looks["total"])
        line = first + height + 1
    last = stub + max(across, 6) - 1
    present = [STATUSES[number] for number in np.unique(release.status) if number]
    texts = [f"[{letter}] {STATUS_MEANING[letter]}" for letter in present]
    texts += [f"{each.name.replace('_', ' ')}: {each.meaning}" for each in numbers if each.name != "value"]
    for place, text in enumerate([*texts, *release.notes, citation(release)], line):
        _write_span(sheet, place, 0, last + 1, text, looks["note"])
        sheet.set_row(place, 15 * ceil(len(text) / (26 * stub + 13 * (last - stub + 1))))


@dataclass(frozen=True, slots=True)
class _CrossedRows:
    """The rows of the sheet table: their labels and numbers."""

    sheet: Any
    release: Release
    numbers: list[Numbers]
    formats: list[tuple[Any, Any]]
    letter: Any
    lengths: tuple[int, int, int]

    def write(self, first: int, layer: int, rows: list[Dimension], bold: Any) -> None:
        """The rows of one layer; a label of an outer variable is written where it begins."""
        before: list[str] = []
        for row in range(self.lengths[0]):
            labels = _labels_at(rows, row) or [self.release.dataset.unit]
            total = bold if rows and rows[-1].total and (row + 1) % rows[-1].length == 0 else None
            for column, label in enumerate(labels):
                if before[: column + 1] != labels[: column + 1]:
                    self.sheet.write_string(first + row, column, label[:MOST_LETTERS], total)
            before = labels
            for column in range(self.lengths[1]):
                self._write_cell(first + row, len(labels), (row, column, layer))

    def _write_cell(self, line: int, stub: int, place: tuple[int, int, int]) -> None:
        letter = STATUSES[self.release.status.reshape(self.lengths)[place]]
        for number, each in enumerate(self.numbers):
            at = stub + place[1] * len(self.numbers) + number
            if not each.missing.reshape(self.lengths)[place]:
                look = self.formats[number][letter == "u" and not number]
                self.sheet.write_number(line, at, each.values.reshape(self.lengths)[place].item(), look)
            elif letter and not number:
                self.sheet.write_string(line, at, f"[{letter}]", self.letter)


def _number_formats(book: Any, numbers: Numbers) -> tuple[Any, Any]:
    """The format of a column of numbers, and the one with the letter of low reliability."""
    pattern = "#,##0" if numbers.values.dtype == np.int64 else "#,##0.0"
    return book.add_format({"num_format": pattern}), book.add_format({"num_format": f'{pattern}" [u]"'})


def _write_head(
    sheet: Any,
    line: int,
    rows: list[Dimension],
    columns: list[Dimension],
    numbers: list[Numbers],
    looks: dict[str, Any],
) -> int:
    """The head of a table from a line on; the line after it. A category spans its columns."""
    levels = [list(dimension.labels) for dimension in columns]
    levels += [[each.name.replace("_", " ") for each in numbers]] if len(numbers) > 1 or not columns else []
    if len(numbers) == 1 and not columns:
        levels = [[numbers[0].meaning]]
    stub, across = max(len(rows), 1), prod(map(len, levels))
    if columns:
        title = ", ".join(dimension.label for dimension in columns)
        _write_span(sheet, line, stub, across, title, looks["group"])
    first = line + bool(columns)
    for place, dimension in enumerate(rows):
        sheet.write_string(first + len(levels) - 1, place, dimension.label, looks["head"])
    for depth, labels in enumerate(levels):
        span, repeats = prod(map(len, levels[depth + 1 :])), prod(map(len, levels[:depth]))
        for place, label in enumerate(labels * repeats):
            look = looks["number_head" if span == 1 else "group"]
            _write_span(sheet, first + depth, stub + place * span, span, label, look)
    return first + len(levels)


def _write_span(sheet: Any, line: int, column: int, span: int, text: str, look: Any) -> None:
    if span > 1:
        sheet.merge_range(line, column, line, column + span - 1, "", look)
    sheet.write_string(line, column, text[:MOST_LETTERS], look)


def _labels_at(axis: list[Dimension], place: int) -> list[str]:
    """The labels of a row, column or layer."""
    at = np.unravel_index(place, [d.length for d in axis]) if axis else ()
    return [d.labels[int(position)] for d, position in zip(axis, at, strict=True)]


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
