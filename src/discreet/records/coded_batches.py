"""A source as small integers: the SQL by which DuckDB turns each value into its code, and marks what is wrong.

Every record becomes its codes, half a hash of its id (and of its unit, stratum and cluster), its weights in fixed point,
and marks of what does not fit. Values themselves go no further.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import BadDescription
from discreet.model.dataset import ROW_NUMBER
from discreet.model.nearest import nearest
from discreet.records.design_columns import CLUSTER, STRATUM, bad_unit, design_of, source_columns
from discreet.records.source import quote_name
from discreet.records.value_sql import code_sql, number_sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb
    import pyarrow as pa

    from discreet.model.dataset import Dataset
    from discreet.records.source import Source

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


def coded_batches(
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
        weight = _fixed_point(dataset.weight_column, dataset.weight_decimals, comma=comma)
        chosen.append(f"coalesce({weight}, 0) AS w")
        wrong.append(f"CASE WHEN coalesce({weight}, -1) < 0 THEN 'w' END")
    for place, column in enumerate(design.replicates if design else ()):
        replicate = _fixed_point(column, dataset.weight_decimals, comma=comma)
        chosen.append(f"coalesce({replicate}, 0) AS r{place}")
        wrong.append(f"CASE WHEN {replicate} IS NULL THEN 'r{place}' END")
    if dataset.key_column is not None:
        key = f"TRY_CAST({_fixed_point(dataset.key_column, dataset.key_decimals, comma=comma)} AS UINTEGER)"
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


def _fixed_point(column: str, decimals: int, *, comma: bool) -> str:
    """The SQL of a column's value as an integer with so many decimals; NULL where it is no number."""
    text = number_sql(f"{quote_name(column)}::VARCHAR", comma=True) if comma else quote_name(column)
    return f"(TRY_CAST({text} AS DECIMAL(18, {decimals})) * {10**decimals})::BIGINT"
