"""Sheets of Excel workbooks, row by row: the first row has the names of the columns."""

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO, Any

import duckdb

from discreet.errors import BadData
from discreet.model import limits
from discreet.model.description.sections import FileOptions
from discreet.model.plugins import Extra
from discreet.records.readers import Reader
from discreet.records.source import Source, Stream, choose_table, refuse_wide, unique_names


def _open(connection: duckdb.DuckDBPyConnection, path: Path, options: FileOptions, _aside: Path) -> Source:
    import openpyxl  # noqa: PLC0415 - an extra

    try:
        _refuse_large(path)
        workbook = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, OSError):
        raise BadData(
            f"{path.name} cannot be opened as an Excel workbook.",
            "Check that it is complete and has no password.",
        ) from None
    with ExitStack() as on_error:
        on_error.callback(workbook.close)
        sheets = {sheet.title: sheet for sheet in workbook.worksheets}
        filled = [name for name, sheet in sheets.items() if not options.table and _is_filled(sheet)]
        options = choose_table(list(sheets) if options.table else filled, options, path.name, "sheet")
        sheet = sheets[options.table]
        sheet.reset_dimensions()  # the size in the file may be wrong
        rows = sheet.iter_rows(values_only=True)
        on_error.callback(rows.close)
        header = _without_tail(next(rows, ()))
        if not header:
            raise BadData(
                f'The first row of the sheet "{options.table}" is empty.',
                "Put the names of the columns there.",
            )
        refuse_wide(header, path.name)
        opened = on_error.pop_all()
    numbers: list[int] = []
    stream = Stream(unique_names(header), _records(rows, len(header), numbers, opened), path.name)
    most = sheets[options.table].max_row
    return Source(
        stream.relation(connection),
        None if most is None else most - 1,
        path.name,
        found=options,
        unit="row",
        places=lambda asked: [number + 1 + sum(skip < number for skip in numbers) for number in asked],
        torn=stream.error,
    )


def _is_filled(sheet: Any) -> bool:
    with closing(sheet.iter_rows(max_row=2, values_only=True)) as rows:
        return any(value is not None for row in rows for value in row)


def _refuse_large(path: Path) -> None:
    """Refuse a workbook that unpacks to too much, or with one text of more than a megabyte: parsing it takes minutes."""
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        unpacked = sum(member.file_size for member in members)
        if unpacked > limits.MOST_WORKBOOK_BYTES:
            raise BadData(
                f"{path.name} unpacks to {unpacked >> 20:,} MB; at most {limits.MOST_WORKBOOK_BYTES >> 20:,} MB are read.",
                "Save the sheet as CSV.",
            )
        for member in members:
            if member.file_size > limits.LONGEST_TEXT:
                with archive.open(member) as file:
                    _refuse_long_text(file, path.name)


def _refuse_long_text(file: IO[bytes], name: str) -> None:
    """Refuse XML with more bytes between two tags than Excel writes."""
    run = 0
    while block := file.read(limits.LONGEST_TEXT):
        tag = block.find(b"<")
        run += len(block) if tag < 0 else tag
        if run > limits.LONGEST_TEXT:
            raise BadData(
                f"{name} has a text of more than {limits.LONGEST_TEXT:,} bytes.",
                "Excel has texts of 32,767 characters at most: save the sheet again, or as CSV.",
            )
        run = run if tag < 0 else len(block) - block.rfind(b"<")


def _without_tail(row: Sequence[Any]) -> list[Any]:
    values = list(row)
    while values and values[-1] is None:
        values.pop()
    return values


def _records(
    rows: Iterator[Sequence[Any]], width: int, skipped: list[int], opened: ExitStack
) -> Iterator[Sequence[Any]]:
    """The nonempty rows below the header; `skipped` collects the number of records before each empty row."""
    done = 0
    with opened:
        for number, row in enumerate(rows, 2):
            values = _without_tail(row)
            if not values:
                skipped.append(done)
                continue
            if len(values) > width:
                raise BadData(
                    f"Row {number} has a value in column {len(values)}, and the first row names {width} columns.",
                    "Give every column a name in the first row, or empty what stands beside the table.",
                )
            done += 1
            yield values + [None] * (width - len(values))


READER = Reader("Excel", (".xlsx", ".xlsm"), _open, needs=Extra("discreet[excel]", ("openpyxl",)))
