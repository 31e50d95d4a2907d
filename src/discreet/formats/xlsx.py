"""Excel: a workbook with the sheets data, notes and definitions, and no formula.

The sheet data has the columns of the tidy CSV: codes and labels as text, `value` empty where nothing is released,
`status` beside it. The sheet notes has the mandatory note and all that travels with the table, the sheet
definitions the columns, categories and status letters. Every text is written as text: a label never becomes a
formula, a link, a number or a date.
"""

from __future__ import annotations

import io
from datetime import datetime
from typing import TYPE_CHECKING, Any

from discreet.errors import BadRequest
from discreet.formats import Format
from discreet.model.registry import Extra

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from discreet.model.release import Release

#: The lines and the letters of a cell that Excel can hold.
MOST_LINES, MOST_LETTERS = 1_048_575, 32_767
#: A workbook tells when it was made; the same release is the same file, so the time is a fixed one.
_MADE = datetime(2000, 1, 1)  # noqa: DTZ001 - Excel knows no time zones


def to_xlsx(release: Release) -> bytes:
    """The release as an Excel workbook.

    Raises:
        BadRequest: It has more cells than a sheet has lines.
    """
    import xlsxwriter

    from discreet.model.provenance import provenance

    refuse_long(release.cells)
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        book.set_properties({"title": release.title[:255], "comments": release.notes[0], "created": _MADE})
        bold, wrapped = book.add_format({"bold": True}), book.add_format({"text_wrap": True, "valign": "top"})
        _write_data(book.add_worksheet("data"), release, bold)
        _write_lines(book.add_worksheet("notes"), ("name", "text"), provenance(release), bold, wrapped)
        header = ("name", "code", "label", "parent")
        _write_lines(book.add_worksheet("definitions"), header, _definitions(release), bold, wrapped)
    return buffer.getvalue()


def refuse_long(cells: int) -> None:
    """Refuse what a sheet cannot hold."""
    if cells > MOST_LINES:
        raise BadRequest(
            f"The table has {cells:,} cells; a sheet of Excel has {MOST_LINES:,} lines below its header.",
            "Take the format parquet or csv, or ask for a smaller table.",
        )


def _write_data(sheet: Any, release: Release, bold: Any) -> None:
    """The sheet of the numbers, column by column."""
    from discreet.model.columns import numbers_of, places_of
    from discreet.model.release import STATUSES

    columns: list[tuple[str, Sequence[str]]] = []
    for dimension, places in places_of(release):
        for name, texts in ((dimension.name, dimension.codes), (f"{dimension.name}_label", dimension.labels)):
            columns.append((name, [texts[place] for place in places.tolist()]))
    status = [STATUSES[number] for number in release.status.ravel().tolist()]
    value, *beside = numbers_of(release)
    for column, (name, lines) in enumerate(columns):
        _write_texts(sheet, column, name, lines, bold)
    _write_numbers(sheet, len(columns), value.name, value.listed(), bold)
    _write_texts(sheet, len(columns) + 1, "status", status, bold)
    for column, numbers in enumerate(beside, start=len(columns) + 2):
        _write_numbers(sheet, column, numbers.name, numbers.listed(), bold)
    width = len(columns) + 2 + len(beside)
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, release.cells, width - 1)
    sheet.set_column(0, width - 1, 16)


def _write_texts(sheet: Any, column: int, name: str, texts: Sequence[str], bold: Any) -> None:
    sheet.write_string(0, column, name, bold)
    for line, text in enumerate(texts, start=1):
        if text:
            sheet.write_string(line, column, text[:MOST_LETTERS])


def _write_numbers(sheet: Any, column: int, name: str, numbers: list[float | None], bold: Any) -> None:
    sheet.write_string(0, column, name, bold)
    for line, number in enumerate(numbers, start=1):
        if number is not None:
            sheet.write_number(line, column, number)


def _write_lines(
    sheet: Any, header: tuple[str, ...], lines: Iterable[tuple[str, ...]], bold: Any, wrapped: Any
) -> None:
    """A sheet of words."""
    for column, name in enumerate(header):
        sheet.write_string(0, column, name, bold)
    for number, line in enumerate(lines, start=1):
        for column, text in enumerate(line):
            if text:
                sheet.write_string(number, column, text[:MOST_LETTERS], wrapped)
    sheet.set_column(0, 0, 24)
    sheet.set_column(1, len(header) - 1, 100 if len(header) == 2 else 40)


def _definitions(release: Release) -> list[tuple[str, ...]]:
    """Every column, category and status letter, with what it means."""
    from discreet.model.columns import numbers_of
    from discreet.model.release import STATUS_MEANING

    lines: list[tuple[str, ...]] = []
    for dimension in release.dimensions:
        lines.append((dimension.name, "", dimension.label, ""))
        parents = [dimension.outputs[o.parent].code if o.parent >= 0 else "" for o in dimension.outputs]
        parents += [""] * dimension.total
        lines += [
            (dimension.name, *category)
            for category in zip(dimension.codes, dimension.labels, parents, strict=True)
        ]
    lines += [(numbers.name, "", numbers.meaning, "") for numbers in numbers_of(release)]
    return lines + [("status", letter, meaning, "") for letter, meaning in STATUS_MEANING.items()]


FORMAT = Format(
    "xlsx",
    "Excel",
    "an Excel workbook with data, notes and definitions",
    "xlsx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    to_xlsx,
    needs=Extra("discreet[excel]", ("xlsxwriter",)),
)
