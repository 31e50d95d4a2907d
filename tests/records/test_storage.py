"""Stored records have the smallest columns that hold their codes, a key, and a weight where there is one."""

from dataclasses import replace

import pyarrow as pa
import pytest

from discreet.model.dataset_toml import parse_dataset
from discreet.model.variable import Category, Variable
from discreet.records.storage import column_names, column_type, storage_schema


@pytest.mark.parametrize(
    ("categories", "kind"),
    [(256, "UTINYINT"), (257, "USMALLINT"), (65_536, "USMALLINT"), (65_537, "UINTEGER")],
)
def test_the_largest_code_of_a_type_still_fits(categories, kind):
    codes = tuple(Category(str(n), "") for n in range(categories))
    assert column_type(Variable("v", "V", codes)) == kind


def test_neither_ids_nor_labels_are_stored(town):
    dataset = parse_dataset(town.description)
    assert column_names(dataset) == ["region", "area", "sex", "age", "job", "record_key"]
    weighted = storage_schema(replace(dataset, weight_column="w"))
    assert weighted.field("weight").type == pa.int64()
