"""The SQL that turns a column's values into the integer codes of a variable, and tells what is wrong with them.

    missing?  -> the position of `not_stated`
    else      -> `values`: a single value, then a range; then the codes as they are; then the position of `unlisted`

Codes and values of a description go in as data (DuckDB enums), never as SQL text; only numbers and dates that were
parsed, and positions, are written into it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from discreet.model.recodes import Recodes
from discreet.records.source import quote_name
from discreet.records.storage import column_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import duckdb

    from discreet.model.recodes import ValueRange
    from discreet.model.variable import Variable


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
