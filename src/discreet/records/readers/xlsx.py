"""Sheets of Excel workbooks, row by row: the first row has the names of the columns."""

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from discreet.errors import BadData
from discreet.model.description.sections import FileOptions
from discreet.model.plugins import Extra
from discreet.records.readers import Reader
from discreet.records.source import Source, Stream, choose_table, unique_names


def _open(connection: duckdb.DuckDBPyConnection, path: Path, options: FileOptions, _aside: Path) -> Source:
    import openpyxl  # noqa: PLC0415 - an extra

    try:
        workbook = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError):
        raise BadData(
            f"{path.name} cannot be opened as an Excel workbook.",
            "Check that it is complete and has no password.",
        ) from None
    sheets = {sheet.title: sheet for sheet in workbook.worksheets}
    filled = [
        name
        for name, sheet in sheets.items()
        if any(v is not None for row in sheet.iter_rows(max_row=2, values_only=True) for v in row)
    ]
    options = choose_table(list(sheets) if options.table else filled, options, path.name, "sheet")
    sheet = sheets[options.table]
    sheet.reset_dimensions()  # the size in the file may be wrong
    rows = sheet.iter_rows(values_only=True)
    header = _without_tail(next(rows, ()))
    if not header:
        raise BadData(
            f'The first row of the sheet "{options.table}" is empty.', "Put the names of the columns there."
        )
    numbers: list[int] = []
    stream = Stream(unique_names(header), _records(rows, len(header), numbers), path.name)
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


def _without_tail(row: Sequence[Any]) -> list[Any]:
    values = list(row)
    while values and values[-1] is None:
        values.pop()
    return values


def _records(rows: Iterator[Sequence[Any]], width: int, skipped: list[int]) -> Iterator[Sequence[Any]]:
    """The nonempty rows below the header; `skipped` collects the number of records before each empty row."""
    done = 0
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
