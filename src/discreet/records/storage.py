"""How records are stored: small unsigned integers, record keys and fixed-point weights, in DuckDB.

    records   one row a record, sorted by the finest geography
    rollup    counts and sums by all variables but the finer geography, where that is much smaller

The roll-up holds the same sums as the records, added up once: a table over its variables is exact and
several times faster from it. It is as confidential as the records.

Comes from: `load`. Goes to: `tabulate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.model.dataset import Dataset
    from discreet.model.variable import Variable

DATABASE = "data.duckdb"
RECORDS = "records"
ROLLUP = "rollup"
RECORD_KEY = "record_key"
WEIGHT = "weight"
MEMORY_LIMIT = "500MB"
#: A roll-up is kept where it has at most one row for so many records.
ROLLUP_GAIN = 4


def column_type(variable: Variable) -> str:
    """The smallest unsigned type that holds a variable's codes."""
    return "UTINYINT" if len(variable) <= 256 else "USMALLINT" if len(variable) <= 65_536 else "UINTEGER"


def column_names(dataset: Dataset) -> list[str]:
    """The columns of stored records."""
    return list(storage_schema(dataset).names)


def storage_schema(dataset: Dataset) -> pa.Schema:
    """The Arrow types of stored records."""
    types = {"UTINYINT": pa.uint8(), "USMALLINT": pa.uint16(), "UINTEGER": pa.uint32()}
    fields = [pa.field(variable.name, types[column_type(variable)]) for variable in dataset.variables]
    fields.append(pa.field(RECORD_KEY, pa.uint32()))
    if dataset.weight_column is not None:
        fields.append(pa.field(WEIGHT, pa.int64()))
    return pa.schema(fields)


def rollup_variables(dataset: Dataset) -> list[str]:
    """The variables of the roll-up: all but the finer levels of a geography."""
    finer = {level for h in dataset.hierarchies if h.geography for level in h.levels[1:]}
    return [variable.name for variable in dataset.variables if variable.name not in finer]


def store(staged: Path, dataset: Dataset, folder: Path) -> None:
    """Write staged records to the database of a version, sorted, with their roll-up."""
    path = folder / DATABASE
    database = duckdb.connect(str(path), config={"memory_limit": MEMORY_LIMIT, "temp_directory": str(folder)})
    database.execute("SET enable_progress_bar = false")
    with pa.memory_map(str(staged)) as source, database:
        database.register("staged", pa.ipc.open_file(source).read_all())
        order = f' ORDER BY "{dataset.finest_geography}"' if dataset.finest_geography else ""
        database.execute(f"CREATE TABLE {RECORDS} AS SELECT * FROM staged{order}")
        database.unregister("staged")
        _roll_up(database, dataset)


def _roll_up(database: duckdb.DuckDBPyConnection, dataset: Dataset) -> None:
    names = ", ".join(f'"{name}"' for name in rollup_variables(dataset))
    sums = f"count(*)::UINTEGER AS n, sum({RECORD_KEY})::UBIGINT AS k"
    if dataset.weight_column is not None:
        sums += f", sum({WEIGHT})::BIGINT AS w"
    database.execute(f"CREATE TEMP TABLE rolled AS SELECT {names}, {sums} FROM {RECORDS} GROUP BY {names}")
    sizes = database.execute(
        f"SELECT (SELECT count(*) FROM rolled), (SELECT count(*) FROM {RECORDS})"
    ).fetchone()
    if sizes is not None and sizes[0] * ROLLUP_GAIN <= sizes[1]:
        database.execute(f"CREATE TABLE {ROLLUP} AS SELECT * FROM rolled")
