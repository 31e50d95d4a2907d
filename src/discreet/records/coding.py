"""The SQL that turns a source into integer codes and marks problems.

Every record becomes its codes, half a hash of its id (and of its unit, stratum and cluster), its weights in fixed point, and
marks of problems. Original values go no further. A value is coded as

    missing?  -> the position of `not_stated`
    else      -> `values`: a single value, then a range; then a code; then the position of `unlisted`

Codes and values of a description enter as data (DuckDB enums), never as SQL text; only parsed numbers, dates and
positions are written into the SQL.
"""

from collections.abc import Iterable, Iterator, Sequence

import duckdb
import pyarrow as pa

from discreet.errors import BadDescription
from discreet.model.dataset import ROW_NUMBER, Dataset
from discreet.model.magnitude import NumericMeasure
from discreet.model.messages.text import nearest
from discreet.model.variable import Recodes, ValueRange, Variable
from discreet.records.source import Source, quote_name
from discreet.records.storage import CLUSTER, NULL_VALUE, STRATUM, column_type, design_of


def code_sql(
    reading: duckdb.DuckDBPyConnection, variable: Variable, place: int, *, comma: bool = False
) -> tuple[str, str]:
    """The SQL of a variable's integer code, a column `v<place>`, and of the problem with its value."""
    raw = f"{quote_name(variable.column)}::VARCHAR"
    text = f"trim({raw}, e' \\t\\r\\n')"
    code = _code(reading, variable, place, text, comma=comma)
    absences = [f"{text} IS NULL", f"{text} = ''"]
    if variable.missing.single:
        _create_enum(reading, f"m{place}", [value for value, _ in variable.missing.single])
        absences.append(f"TRY_CAST({text} AS m{place}) IS NOT NULL")
    absences += [
        f"coalesce({inside_sql(each, text, comma=comma)}, false)" for each in variable.missing.ranges
    ]
    missing = f"WHEN {' OR '.join(absences)} THEN"
    if variable.not_stated is None:
        known, absent = code, f"{missing} 'm{place}:' "
    else:
        known = f"CASE {missing} {variable.position(variable.not_stated)} ELSE {code} END"
        absent = f"{missing} NULL "
    if variable.missing == variable.recodes == Recodes():  # nearly all values are codes: try these first
        found = f"enum_code(TRY_CAST({raw} AS e{place}))"
        known, absent = f"{found}, {known}", f"WHEN {found} IS NOT NULL THEN NULL {absent}"
    problem = f"CASE {absent}WHEN {code} IS NULL THEN 'u{place}:' || {text} END"
    return f"coalesce({known}, 0)::{column_type(variable)} AS v{place}", problem


def number_sql(text: str, *, comma: bool) -> str:
    """The text of a number with a decimal point."""
    return f"replace({text}, ',', '.')" if comma else text


def _code(
    reading: duckdb.DuckDBPyConnection, variable: Variable, place: int, text: str, *, comma: bool
) -> str:
    """The first of: a single value of `values`, a range, a code, `unlisted`."""
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


def inside_sql(each: ValueRange, text: str, *, comma: bool) -> str:
    """Whether a value lies in a range; texts that are no number or date do not."""
    kind = "DATE" if each.of_dates else "DOUBLE"
    value = f"TRY_CAST({text if each.of_dates else number_sql(text, comma=comma)} AS {kind})"
    ends = [(each.low, ">="), (each.high, "<" if each.below else "<=")]
    return " AND ".join(f"{value} {sign} '{end}'::{kind}" for end, sign in ends if end is not None)


def _create_enum(reading: duckdb.DuckDBPyConnection, name: str, values: Iterable[str]) -> None:
    """Create a DuckDB type with these values, as data and not as SQL text."""
    listed: Sequence[str] = list(dict.fromkeys(values))
    reading.register("categories", pa.table({"code": pa.array(listed, pa.string())}))
    reading.execute(f"CREATE TYPE {name} AS ENUM (SELECT code FROM categories)")
    reading.unregister("categories")


CHUNK = 250_000


def check_columns(name: str, columns: list[str], dataset: Dataset) -> list[str]:
    """The columns of a source that a dataset reads."""
    design = design_of(dataset)
    named = [
        *((variable.column, f'the variable "{variable.name}"') for variable in dataset.variables),
        (None if by_row_number(columns, dataset) else dataset.id_column, "the id"),
        (dataset.weight_column, "the weight"),
        (dataset.key_column, "the record key"),
        (dataset.unit_column, "the person"),
        (design.strata, "the strata of [survey]"),
        (design.clusters, "the clusters of [survey]"),
        *((column, "the replicate weights of [survey]") for column in design.replicates),
        *((measure.column, f'the measure "{measure.name}"') for measure in dataset.measures),
    ]
    wanted = [(column, what) for column, what in named if column is not None]
    for column, what in wanted:
        if column not in columns:
            raise BadDescription(f"{name} has no column {column!r} for {what}.", nearest(column, columns))
    return list(dict.fromkeys(column for column, _ in wanted))


def by_row_number(columns: list[str], dataset: Dataset) -> bool:
    """Whether records are identified by their row number, because there is no id column."""
    return dataset.id_column == ROW_NUMBER and ROW_NUMBER not in columns


def code_batches(
    reading: duckdb.DuckDBPyConnection, source: Source, dataset: Dataset
) -> Iterator[pa.RecordBatch]:
    """Stream the source as integer codes, half hashes of ids, fixed-point weights and marks of problems."""
    comma, relation = source.decimal_comma, source.relation
    if by_row_number(source.columns, dataset):
        relation = relation.project(f"*, row_number() OVER () AS {quote_name(ROW_NUMBER)}")
    chosen, wrong = [], []
    design = design_of(dataset)
    for column, name, mark, stripped in (
        (dataset.id_column, "h", "i", "trim"),
        (dataset.unit_column, "u", "p", "trim"),
        (design.strata, STRATUM, "s", ""),
        (design.clusters, CLUSTER, "c", ""),
    ):
        if column is not None:
            text = f"{quote_name(column)}::VARCHAR"
            chosen.append(f"unhex(substr(sha256({text}), 1, 32)) AS {name}")  # half a hash
            wrong.append(f"CASE WHEN {stripped}(coalesce({text}, '')) = '' THEN '{mark}' END")
    for place, variable in enumerate(dataset.variables):
        code, problem = code_sql(reading, variable, place, comma=comma)
        chosen.append(code)
        wrong.append(problem)
    replicates = (
        (column, f"r{place}", f"'r{place}:' || coalesce({quote_name(column)}::VARCHAR, '')")
        for place, column in enumerate(design.replicates)
    )
    for column, name, problem in ((dataset.weight_column, "w", "'w'"), *replicates):
        if column is not None:
            weight = _to_fixed_point(column, dataset.weight_decimals, comma=comma)
            chosen.append(f"coalesce({weight}, 0) AS {name}")
            wrong.append(f"CASE WHEN coalesce({weight}, -1) < 0 THEN {problem} END")
    for place, measure in enumerate(dataset.measures):
        value, problem = _measure_sql(reading, measure, place, comma=comma, clamp=dataset.protection.is_dp)
        chosen.append(value)
        wrong.append(problem)
    if dataset.key_column is not None:
        number = _to_fixed_point(dataset.key_column, dataset.key_decimals, comma=comma)
        key = f"TRY_CAST({number} AS UINTEGER)"
        chosen.append(f"coalesce({key}, 0)::UINTEGER AS k")
        wrong.append(f"CASE WHEN {key} IS NULL THEN 'k' END")
    listed = ", ".join(wrong)
    chosen.append(
        f"CASE WHEN coalesce({listed}) IS NOT NULL THEN list_filter([{listed}], lambda x: x IS NOT NULL) END AS bad"
    )
    relation = relation.project(", ".join(chosen))
    # Many replicate weights mean fewer records per chunk, for the same memory.
    yield from relation.to_arrow_reader(CHUNK // (1 + len(design.replicates) // 8))


def _measure_sql(
    reading: duckdb.DuckDBPyConnection, measure: NumericMeasure, place: int, *, comma: bool, clamp: bool
) -> tuple[str, str]:
    """The SQL of a measure's stored value, a column `m<place>`, and of the problem with it.

    Under `dp` a value outside the bounds is moved to the nearest one; else it is a problem. NaN and infinity are no numbers.
    """
    text = f"trim({quote_name(measure.column)}::VARCHAR, e' \\t\\r\\n')"
    absences = [f"{text} IS NULL", f"{text} = ''"]
    if measure.missing:
        _create_enum(reading, f"n{place}", measure.missing)
        absences.append(f"TRY_CAST({text} AS n{place}) IS NOT NULL")
    absent = f"({' OR '.join(absences)})"
    low, high = measure.bounds
    value = _to_fixed_point(measure.column, measure.decimals, comma=comma)
    stored = f"greatest(least({value}, {high}), {low})" if clamp else value
    outside = "NULL" if clamp else f"'o{place}:' || {text}"
    problem = (
        f"CASE WHEN {absent} THEN NULL WHEN {value} IS NULL THEN 'n{place}:' || {text} "
        f"WHEN {value} NOT BETWEEN {low} AND {high} THEN {outside} END"
    )
    return (
        f"CASE WHEN {absent} THEN {NULL_VALUE} ELSE coalesce({stored}, {NULL_VALUE}) END::BIGINT AS m{place}",
        problem,
    )


def _to_fixed_point(column: str, decimals: int, *, comma: bool) -> str:
    """The SQL of a number as a fixed-point integer; NULL if it is not a number."""
    text = number_sql(f"{quote_name(column)}::VARCHAR", comma=True) if comma else quote_name(column)
    return f"(TRY_CAST({text} AS DECIMAL(18, {decimals})) * {10**decimals})::BIGINT"
