"""How records are stored, whichever engine keeps them: small unsigned integers, record keys, fixed-point weights.

A survey has further columns for its sampling errors (`design_columns.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from discreet.records.design_columns import stored_sums, stored_units

if TYPE_CHECKING:
    from discreet.model.dataset import Dataset
    from discreet.model.variable import Variable

RECORD_KEY = "record_key"
WEIGHT = "weight"
#: What DuckDB may use while it reads, sorts and stores records.
MEMORY_LIMIT = "250MB"


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
    fields += [pa.field(name, pa.uint32()) for name in stored_units(dataset)]
    fields += [pa.field(name, pa.int64()) for name in stored_sums(dataset)]
    return pa.schema(fields)
