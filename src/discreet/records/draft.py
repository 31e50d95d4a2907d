"""Drafting a `dataset.toml` from a file: columns, categories, and what looks like an id or a weight.

The draft is a start. Its categories are what happens to be in the file; the custodian completes them
from the classification, since categories are public knowledge and must not be read off the data.

Comes from: a CSV, Parquet or Arrow file. Goes to: the custodian's editor, then `load`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from discreet.errors import BadData
from discreet.model.variable import RESERVED_NAMES
from discreet.records.default_protection import PROTECTION, RULES
from discreet.records.id_like import FEWEST_A_CATEGORY, named_as_id, too_fine
from discreet.records.sources import open_source, quoted

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.records.sources import Source

#: A column with more different values than this is no variable of a draft, nor is one that looks like an id.
MOST_CATEGORIES = 400
#: In more values than this nobody looks for those of one record.
MOST_VALUES = 100_000
#: With more values than this, most of them of one record, a column holds names or remarks: those name people.
MOST_SINGLE = 20
NOT_STATED = "not-stated"
HEADER = """\
# Drafted from {name}. Check every line before loading:
#  - categories were read off the file: complete and order them from the classification,
#    and replace labels that are only codes;
#  - say what is counted (unit, population), the source and the version;
#  - add hierarchies and structural zeros: see docs/reference/dataset-toml.md.
"""
WEIGHTS = "# Weighted tables need [survey]: see docs/reference/dataset-toml.md."


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    records: int
    distinct: int
    unique: bool
    single: bool
    missing: bool
    fractional: bool


def describe_file(path: Path) -> str:
    """A draft of `dataset.toml` for a file of records."""
    connection = duckdb.connect(config={"memory_limit": "1GB"})
    connection.execute("SET enable_progress_bar = false")  # standard output is kept for the draft
    try:
        source = open_source(connection, path)
        columns = [_look_at(source, name) for name in source.columns]
        return _draft(source, columns, path)
    except duckdb.Error:
        raise BadData(
            f"The file {path.name!r} cannot be read to the end.", "Check that it is complete."
        ) from None
    finally:
        connection.close()


def _look_at(source: Source, name: str) -> _Column:
    text = f"{quoted(name)}::VARCHAR"
    number = f"TRY_CAST({text} AS DOUBLE)"
    row = source.relation.aggregate(
        f"count(DISTINCT {text}), count(*), count(nullif({text}, '')), "
        f"coalesce(bool_or({number} != floor({number})) AND bool_and({text} IS NULL OR {number} IS NOT NULL), false)"
    ).fetchall()[0]
    distinct, records, filled, fractional = row
    single = MOST_SINGLE < distinct <= MOST_VALUES and 2 * _single_values(source, text) > distinct
    return _Column(
        name, records, distinct, distinct == records > 1, single, filled < records, bool(fractional)
    )


def _single_values(source: Source, text: str) -> int:
    """How many values stand in one record only."""
    counts = source.relation.aggregate(f"{text} AS value, count(*) AS records", text)
    return int(counts.filter("records = 1").aggregate("count(*)").fetchall()[0][0])


def _draft(source: Source, columns: list[_Column], path: Path) -> str:
    id_column = _id_column(columns)
    weight = next((c for c in columns if "weight" in c.name.lower() or c.name.lower() in {"wt", "w"}), None)
    rest = [c for c in columns if c not in (id_column, weight)]
    variables = [c for c in rest if not _why_left_out(c)]
    parents = _nesting(source, variables)
    names = _variable_names(variables)
    sections = [
        _variable(source, column, names[column.name], parents.get(column.name)) for column in variables
    ]
    left_out = [f"{c.name} ({_why_left_out(c)})" for c in rest if c not in variables]
    hierarchies = _hierarchies(parents, names)
    top = _top(path, id_column, weight, left_out)
    return "\n".join([top + "".join(sections) + hierarchies, PROTECTION, RULES])


def _id_column(columns: list[_Column]) -> _Column | None:
    """The id: another value in every record, whole or text; one that is called so before others."""
    possible = [c for c in columns if c.unique and not c.fractional]
    return next((c for c in possible if named_as_id(c.name)), next(iter(possible), None))


def _why_left_out(column: _Column) -> str:
    """Why a column is no variable in the draft, or nothing where it is one; in a small file it may well be one."""
    reasons = {
        "not whole numbers": column.fractional,
        "a different value in every record": column.unique,
        "its name says that it is an id": named_as_id(column.name),
        "most values stand in one record only": column.single,
        f"{column.distinct:,} different values, fewer than {FEWEST_A_CATEGORY} records each: is it an id?": too_fine(
            column.records, column.distinct
        ),
        f"{column.distinct:,} different values": column.distinct > MOST_CATEGORIES,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _nesting(source: Source, columns: list[_Column]) -> dict[str, str]:
    """For each column the next coarser one that it determines in every record, if there is one."""
    parents = {}
    for fine in columns:
        coarser = [
            c for c in columns if c.distinct >= 2 and 2 * c.distinct <= fine.distinct and not c.missing
        ]
        for coarse in sorted(coarser, key=lambda c: -c.distinct):
            pair = f"({quoted(fine.name)}, {quoted(coarse.name)})"
            if source.relation.aggregate(f"count(DISTINCT {pair})").fetchall()[0][0] == fine.distinct:
                parents[fine.name] = coarse.name
                break
    return {fine: coarse for fine, coarse in parents.items() if not _missing(columns, fine)}


def _missing(columns: list[_Column], name: str) -> bool:
    return any(column.missing for column in columns if column.name == name)


def _hierarchies(parents: dict[str, str], names: dict[str, str]) -> str:
    """A section for each chain of nested columns, from the finest upward."""
    sections = []
    for fine in (name for name in parents if name not in parents.values()):
        levels = [fine]
        while levels[0] in parents:
            levels.insert(0, parents[levels[0]])
        listed = ", ".join(_text(names[level]) for level in levels)
        note = "# These columns nest in the file. Set geography = true if they are places."
        sections.append(
            f"\n{note}\n[[hierarchy]]\nname = {_text(names[fine])}\nlevels = [{listed}]\ngeography = false\n"
        )
    return "".join(sections)


def _top(path: Path, id_column: _Column | None, weight: _Column | None, left_out: list[str]) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-") or "dataset"
    lines = [
        HEADER.format(name=_one_line(path.name)),
        f"id = {_text(name if name[0].isalpha() else 'data-' + name)}",
        f"label = {_text(path.stem)}",
        'source = ""',
        'version = "1"',
        'unit = "records"',
        'population = ""',
    ]
    if id_column is None:
        lines.append("# No column has a different value in every record: add a stable id and name it here.")
    lines.append(f"id_column = {_text(id_column.name if id_column else '')}")
    if weight is not None:
        lines += [f"weight_column = {_text(weight.name)}", "weight_decimals = 4", WEIGHTS]
    lines += [f"# Left out: {_one_line(each)}" for each in left_out]
    return "\n".join(lines) + "\n"


def _variable(source: Source, column: _Column, name: str, parent: str | None) -> str:
    chosen = f"{quoted(column.name)}::VARCHAR AS c, {f'{quoted(parent)}::VARCHAR' if parent else 'NULL'} AS p"
    values = source.relation.project(chosen).filter("c IS NOT NULL AND c != ''").distinct().fetchall()
    categories = sorted(values, key=lambda value: _natural(value[0]))
    lines = ["", "[[variable]]", f"name = {_text(name)}", f"label = {_text(column.name)}"]
    if name != column.name:
        lines.append(f"column = {_text(column.name)}")
    if column.missing:
        lines.append(f"not_stated = {_text(NOT_STATED)}")
        categories.append((NOT_STATED, None))
    lines.append("categories = [")
    for code, above in categories:
        label = "Not stated" if code == NOT_STATED else code
        within = f", parent = {_text(above)}" if above is not None else ""
        lines.append(f"  {{ code = {_text(code)}, label = {_text(label)}{within} }},")
    return "\n".join([*lines, "]", ""])


def _variable_names(columns: list[_Column]) -> dict[str, str]:
    """A usable name for each column, different for each."""
    names: dict[str, str] = {}
    for column in columns:
        name = re.sub(r"[^A-Za-z0-9_]+", "_", column.name).strip("_").lower() or "variable"
        name = name if name[0].isalpha() else f"v_{name}"
        if name in RESERVED_NAMES or name.endswith("_label"):
            name = f"{name}_1"
        candidate, number = name[:60], 2
        while candidate in names.values():
            candidate, number = f"{name[:56]}_{number}", number + 1
        names[column.name] = candidate
    return names


def _natural(text: str) -> list[tuple[int, int, str]]:
    """Sort "5-9" before "10-14": digits by value, the rest by letters."""
    parts = re.findall(r"\d+|\D+", text)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


def _text(value: str) -> str:
    """A TOML string: JSON's escapes are TOML's, and DEL is escaped too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(value: str) -> str:
    """Text that stays within its comment line."""
    return "".join(c if c.isprintable() else "?" for c in value)
