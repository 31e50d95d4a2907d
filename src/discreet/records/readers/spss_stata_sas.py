"""Files of SPSS, Stata and SAS, with labels of columns and values and with missing values.

User-defined missing values stay values here: a description says `missing = [...]`. Letters that Stata and SAS use in
place of numbers are written as they show them, ".a". A SAS catalogue of the same name next to the file (`.sas7bcat`) is
read with it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from discreet.errors import BadData
from discreet.model.description.sections import FileOptions
from discreet.model.plugins import Extra
from discreet.records.readers import Reader
from discreet.records.source import BATCH_VALUES, ColumnNotes, Source, Stream, as_text

#: The function of pyreadstat for each ending.
FUNCTIONS = {
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".dta": "read_dta",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
#: Functions that support user-defined missing values.
WITH_MISSING = frozenset({"read_sav", "read_dta", "read_sas7bdat"})


def _open(connection: duckdb.DuckDBPyConnection, path: Path, options: FileOptions, _aside: Path) -> Source:
    import pyreadstat  # noqa: PLC0415 - an extra

    name = FUNCTIONS[path.suffix.lower()]
    given: dict[str, Any] = {"output_format": "dict"}
    if name in WITH_MISSING:
        given["user_missing"] = True
    if options.encoding:
        given["encoding"] = options.encoding
    catalogue = path.with_suffix(".sas7bcat")
    if name == "read_sas7bdat" and catalogue.is_file():
        given["catalog_file"] = str(catalogue)
    read = partial(getattr(pyreadstat, name), str(path), **given)
    try:
        _, meta = read(metadataonly=True)
    except Exception as error:  # noqa: BLE001 - the library has no error class for a wrong file
        raise BadData(
            f"{path.name} cannot be read as a file of a statistics program ({type(error).__name__}).",
            "Check that it is complete; where letters are wrong, name its encoding.",
        ) from None
    numeric = [meta.readstat_variable_types[name] != "string" for name in meta.column_names]
    stream = Stream(meta.column_names, _rows(read, numeric), path.name)
    notes = {name: _notes(meta, name) for name in meta.column_names}
    relation = stream.relation(connection)
    return Source(relation, meta.number_rows, path.name, notes, found=options, torn=stream.error)


def _rows(read: Callable[..., tuple[Any, Any]], numeric: list[bool]) -> Iterator[Sequence[Any]]:
    size, done = max(1, 2 * BATCH_VALUES // max(1, len(numeric))), 0
    while True:
        columns, _ = read(row_limit=size, row_offset=done)
        found = [
            [f".{value}" if isinstance(value, str) else value for value in values] if is_number else values
            for values, is_number in zip(columns.values(), numeric, strict=True)
        ]
        rows = len(found[0]) if found else 0
        yield from zip(*found, strict=True)
        done += rows
        if rows < size:
            return


def _notes(meta: Any, name: str) -> ColumnNotes:
    kind = meta.readstat_variable_types[name]
    labels = {_value(value, kind): label for value, label in meta.variable_value_labels.get(name, {}).items()}
    ranges = meta.missing_ranges.get(name, ())
    missing = [value for value in labels if kind != "string" and re.fullmatch(r"\.[a-z_]", value)]
    missing += [_range(each["lo"], each["hi"], kind) for each in ranges]
    return ColumnNotes(meta.column_names_to_labels.get(name) or "", labels, tuple(missing))


def _value(value: Any, kind: str) -> str:
    return f".{value}" if isinstance(value, str) and kind != "string" else (as_text(value) or "").strip()


def _range(low: Any, high: Any, kind: str) -> str:
    """A missing range of SPSS in the syntax of `missing`; its lowest and highest numbers mean no limit."""
    if low == high:
        return _value(low, kind)
    ends = ["" if isinstance(end, float) and abs(end) > 1e300 else _value(end, kind) for end in (low, high)]
    return "..".join(ends)


READER = Reader(
    "SPSS, Stata or SAS", tuple(FUNCTIONS), _open, needs=Extra("discreet[statistics]", ("pyreadstat",))
)
