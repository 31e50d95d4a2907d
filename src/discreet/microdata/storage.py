"""How records are stored: one table of small unsigned integers, record keys and fixed-point weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.model.dataset import Dataset
    from discreet.model.variable import Variable

RECORDS = "records"
RECORD_KEY = "record_key"
WEIGHT = "weight"


def create_sql(table: str, dataset: Dataset) -> str:
    """The statement that creates a table of records for a dataset."""
    columns = [f'"{variable.name}" {column_type(variable)} NOT NULL' for variable in dataset.variables]
    columns.append(f"{RECORD_KEY} UINTEGER NOT NULL")
    if dataset.weight_column is not None:
        columns.append(f"{WEIGHT} BIGINT NOT NULL")
    return f"CREATE TABLE {table} ({', '.join(columns)})"


def column_type(variable: Variable) -> str:
    """The smallest unsigned type that holds a variable's codes."""
    return "UTINYINT" if len(variable) <= 256 else "USMALLINT" if len(variable) <= 65_536 else "UINTEGER"
