"""The SQL that turns a column's values into the integer codes of a variable, and tells what is wrong with them.

    missing?  -> the position of `not_stated`
    else      -> `values`: a single value, then a range; then the codes as they are; then the position of `unlisted`

Codes and values of a description go in as data (DuckDB enums), never as SQL text; only numbers and dates that were
parsed, and positions, are written into it.

A source as small integers: the SQL by which DuckDB turns each value into its code, and marks what is wrong.

Every record becomes its codes, half a hash of its id (and of its unit, stratum and cluster), its weights in fixed point,
and marks of what does not fit. Values themselves go no further.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from discreet.errors import BadDescription
from discreet.model.dataset import ROW_NUMBER, Dataset
from discreet.model.messages.text import nearest
from discreet.model.variable import Recodes, ValueRange, Variable
from discreet.records.source import Source, quote_name
from discreet.records.storage import CLUSTER, STRATUM, bad_unit, column_type, design_of, source_columns

if TYPE_CHECKING:
    import duckdb


def code_sql(
    reading: duckdb.DuckDBPyConnection, variable: Variable, place: int, *, comma: bool = False
) -> tuple[str, str]:
    """The SQL of a variable's integer code, and of what is wrong with its value.

    Args:
        reading: Where the enums are made.
        variable: Whose codes.
        place: Its place in the dataset, which names the column `v0`, `v1`, ...
        comma: Whether numbers have a decimal comma.
    """
    raw = f"{quote_name(variable.column)}::VARCHAR"
    text = f"trim({raw}, e' \\t\\r\\n')"
    code = _code(reading, variable, place, text, comma=comma)
    missing = f"WHEN {_is_missing(reading, variable, place, text, comma=comma)} THEN"
    if variable.not_stated is None:
        known, absent = code, f"{missing} 'm{place}:' "
    else:
        known = f"CASE {missing} {variable.position(variable.not_stated)} ELSE {code} END"
        absent = f"{missing} NULL "
    if (
        variable.missing == variable.recodes == Recodes()
    ):  # nearly all values are codes as they stand: look there first
        found = f"enum_code(TRY_CAST({raw} AS e{place}))"
        known, absent = f"{found}, {known}", f"WHEN {found} IS NOT NULL THEN NULL {absent}"
    problem = f"CASE {absent}WHEN {code} IS NULL THEN 'u{place}:' || {text} END"
    return f"coalesce({known}, 0)::{column_type(variable)} AS v{place}", problem


def number_sql(text: str, *, comma: bool) -> str:
    """A text as it is cast to a number."""
    return f"replace({text}, ',', '.')" if comma else text


def _code(
    reading: duckdb.DuckDBPyConnection, variable: Variable, place: int, text: str, *, comma: bool
) -> str:
    """The first of: a single value of `values`, a range, a code as it stands, what unlisted values become."""
    _create_enum(reading, f"e{place}", variable.codes)
    parts = [f"enum_code(TRY_CAST({text} AS e{place}))"]
    recodes = variable.recodes
    if recodes.ranges:
        cases = " ".join(
            f"WHEN {inside_sql(each, text, comma=comma)} THEN {variable.position(each.code)}"
            for each in recodes.ranges
        )
        parts.insert(0, f"CASE {cases} END")
    if recodes.single:
        _create_enum(reading, f"r{place}", [value for value, _ in recodes.single])
        positions = ", ".join(str(variable.position(code)) for _, code in recodes.single)
        parts.insert(0, f"([{positions}])[enum_code(TRY_CAST({text} AS r{place})) + 1]")
    if variable.unlisted is not None:
        parts.append(f"CASE WHEN {text} <> '' THEN {variable.position(variable.unlisted)} END")
    return parts[0] if len(parts) == 1 else f"coalesce({', '.join(parts)})"


def _is_missing(
    reading: duckdb.DuckDBPyConnection, variable: Variable, place: int, text: str, *, comma: bool
) -> str:
    parts = [f"{text} IS NULL", f"{text} = ''"]
    if variable.missing.single:
        _create_enum(reading, f"m{place}", [value for value, _ in variable.missing.single])
        parts.append(f"TRY_CAST({text} AS m{place}) IS NOT NULL")
    parts += [f"coalesce({inside_sql(each, text, comma=comma)}, false)" for each in variable.missing.ranges]
    return " OR ".join(parts)


def inside_sql(each: ValueRange, text: str, *, comma: bool) -> str:
    """Whether a value lies in a range; what is no number or no date does not."""
    kind = "DATE" if each.of_dates else "DOUBLE"
    value = f"TRY_CAST({text if each.of_dates else number_sql(text, comma=comma)} AS {kind})"
    ends = [(each.low, ">="), (each.high, "<" if each.below else "<=")]
    return " AND ".join(f"{value} {sign} '{end}'::{kind}" for end, sign in ends if end is not None)


def _create_enum(reading: duckdb.DuckDBPyConnection, name: str, values: Iterable[str]) -> None:
    """A DuckDB type with these values; they go in as data, never as SQL text."""
    listed: Sequence[str] = list(dict.fromkeys(values))
    reading.register("categories", pa.table({"code": pa.array(listed, pa.string())}))
    reading.execute(f"CREATE TYPE {name} AS ENUM (SELECT code FROM categories)")
    reading.unregister("categories")


CHUNK = 250_000


def check_columns(name: str, columns: list[str], dataset: Dataset) -> list[str]:
    """The columns of a source that a dataset reads.

    Raises:
        BadDescription: One of them is not there.
    """
    wanted = [(variable.column, f'the variable "{variable.name}"') for variable in dataset.variables]
    if not by_row_number(columns, dataset):
        wanted.append((dataset.id_column, "the id"))
    if dataset.weight_column is not None:
        wanted.append((dataset.weight_column, "the weight"))
    if dataset.key_column is not None:
        wanted.append((dataset.key_column, "the record key"))
    if dataset.unit_column is not None:
        wanted.append((dataset.unit_column, "the person"))
    design = design_of(dataset)
    wanted += [] if design is None else source_columns(design)
    for column, what in wanted:
        if column not in columns:
            raise BadDescription(f"{name} has no column {column!r} for {what}.", nearest(column, columns))
    return list(dict.fromkeys(column for column, _ in wanted))


def by_row_number(columns: list[str], dataset: Dataset) -> bool:
    """Whether records are told apart by their places in the file, there being no column of that name."""
    return dataset.id_column == ROW_NUMBER and ROW_NUMBER not in columns


def code_batches(
    reading: duckdb.DuckDBPyConnection, source: Source, dataset: Dataset
) -> Iterator[pa.RecordBatch]:
    """Stream the source as integer codes, half hashes of ids, fixed-point weights and what is wrong."""
    comma, relation = source.decimal_comma, source.relation
    if by_row_number(source.columns, dataset):
        relation = relation.project(f"*, row_number() OVER () AS {quote_name(ROW_NUMBER)}")
    chosen = [f"{_half_hash(dataset.id_column)} AS h"]
    wrong = [f"CASE WHEN trim(coalesce({quote_name(dataset.id_column)}::VARCHAR, '')) = '' THEN 'i' END"]
    if dataset.unit_column is not None:
        chosen.append(f"{_half_hash(dataset.unit_column)} AS u")
        wrong.append(
            f"CASE WHEN trim(coalesce({quote_name(dataset.unit_column)}::VARCHAR, '')) = '' THEN 'p' END"
        )
    design = design_of(dataset)
    named = () if design is None else ((STRATUM, design.strata, "s"), (CLUSTER, design.clusters, "c"))
    for name, unit, mark in named:
        if unit is not None:
            chosen.append(f"{_half_hash(unit)} AS {name}")
            wrong.append(bad_unit(unit, mark))
    for place, variable in enumerate(dataset.variables):
        code, problem = code_sql(reading, variable, place, comma=comma)
        chosen.append(code)
        wrong.append(problem)
    if dataset.weight_column is not None:
        weight = _to_fixed_point(dataset.weight_column, dataset.weight_decimals, comma=comma)
        chosen.append(f"coalesce({weight}, 0) AS w")
        wrong.append(f"CASE WHEN coalesce({weight}, -1) < 0 THEN 'w' END")
    for place, column in enumerate(design.replicates if design else ()):
        replicate = _to_fixed_point(column, dataset.weight_decimals, comma=comma)
        chosen.append(f"coalesce({replicate}, 0) AS r{place}")
        wrong.append(f"CASE WHEN {replicate} IS NULL THEN 'r{place}' END")
    if dataset.key_column is not None:
        key = (
            f"TRY_CAST({_to_fixed_point(dataset.key_column, dataset.key_decimals, comma=comma)} AS UINTEGER)"
        )
        chosen.append(f"coalesce({key}, 0)::UINTEGER AS k")
        wrong.append(f"CASE WHEN {key} IS NULL THEN 'k' END")
    listed = ", ".join(wrong)
    chosen.append(
        f"CASE WHEN coalesce({listed}) IS NOT NULL THEN list_filter([{listed}], lambda x: x IS NOT NULL) END AS bad"
    )
    relation = relation.project(", ".join(chosen))
    # A chunk with many replicate weights has fewer records, so that it takes no more memory.
    yield from relation.to_arrow_reader(CHUNK // (1 + len(design.replicates if design else ()) // 8))


def _half_hash(column: str) -> str:
    """The SQL of 16 bytes of a value's SHA-256."""
    return f"unhex(substr(sha256({quote_name(column)}::VARCHAR), 1, 32))"


def _to_fixed_point(column: str, decimals: int, *, comma: bool) -> str:
    """The SQL of a column's value as an integer with so many decimals; NULL where it is no number."""
    text = number_sql(f"{quote_name(column)}::VARCHAR", comma=True) if comma else quote_name(column)
    return f"(TRY_CAST({text} AS DECIMAL(18, {decimals})) * {10**decimals})::BIGINT"
