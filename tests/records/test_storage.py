"""Stored records have the smallest columns for their codes; strata, clusters and squared weights of a survey are exact."""

from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import discreet
from discreet.errors import BadData, BadDescription
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.variable import Category, Variable
from discreet.records.engine import AggregateQuery
from discreet.records.storage import (
    UnitCoder,
    column_type,
    hide_progress_bar,
    join_squares,
    square_decimals,
    squares,
    storage_schema,
)
from discreet.workspace.workspace import Workspace


@pytest.mark.parametrize(
    ("categories", "kind"),
    [(256, "UTINYINT"), (257, "USMALLINT"), (65_536, "USMALLINT"), (65_537, "UINTEGER")],
)
def test_the_largest_code_of_a_type_still_fits(categories, kind):
    codes = tuple(Category(str(n), "") for n in range(categories))
    assert column_type(Variable("v", "V", codes)) == kind


def test_neither_ids_nor_labels_are_stored(town):
    dataset = parse_dataset(town.description)
    assert storage_schema(dataset).names == ["region", "area", "sex", "age", "job", "record_key"]
    weighted = storage_schema(replace(dataset, weight_column="w"))
    assert weighted.field("weight").type == pa.int64()


TOML = """
id = "s"
label = "S"
id_column = "id"
weight_column = "w"
weight_decimals = 2

[[variable]]
name = "sex"
categories = ["1", "2"]

[survey]
sample_size = 4
population_size = 40
largest_weight = 20
relative_variance = 0.375
"""
RECORDS = {
    "id": [1, 2, 3, 4], "sex": ["1", "2", "1", "2"], "w": [20, 10, 5, 5], "h": ["A", "A", "B", "B"], "c": [1, 1, 1, 2],
    "r1": [20, 0, 5, 5], "r2": [0, 20, 5.25, 5],
}  # fmt: skip
REPLICATES = 'replicates = "r1..r2"\nmethod = "jackknife"\n'
UNITS = 'strata = "h"\nclusters = "c"\n'


def load(folder, lines, **changes):
    (folder / "dataset.toml").write_text(TOML + lines)
    discreet.load(folder / "w", folder / "dataset.toml", pa.table(RECORDS | changes))
    return Workspace(folder / "w").stored("s")


def test_values_are_numbered_as_they_first_occur_over_all_chunks():
    coder = UnitCoder()
    assert coder.codes(np.array([9, 3, 9], dtype=np.uint64)).tolist() == [0, 1, 0]
    assert coder.codes(np.array([2, 3, 2**63], dtype=np.uint64)).tolist() == [2, 1, 3]


@pytest.mark.parametrize("weights", [[0, 1, 70_000, 2**31 - 1], [2**31 - 1] * 3])
def test_sums_of_squares_are_exact(weights):
    halves = squares(np.array(weights), 0)
    high, low = (int(halves[name].sum()) for name in ("_square_high", "_square_low"))
    assert high * 2**32 + low == sum(weight**2 for weight in weights)
    joined = join_squares(np.array([high]), np.array([low]), 2)
    assert joined[0] == pytest.approx(sum(weight**2 for weight in weights) / 10**4)


def test_large_weights_are_squared_with_fewer_decimals_and_larger_ones_are_refused():
    def decimals(largest):
        return square_decimals(
            parse_dataset(TOML.replace("largest_weight = 20", f"largest_weight = {largest}"))
        )

    assert [decimals(largest) for largest in ("20", "30000000", "2000000000")] == [2, 1, 0]
    with pytest.raises(BadDescription, match="largest_weight"):
        decimals("1e10")


def test_only_what_errors_need_is_stored():
    plain = ["sex", "record_key", "weight"]
    assert storage_schema(parse_dataset(TOML)).names == [*plain, "_square_high", "_square_low"]
    assert storage_schema(parse_dataset(TOML + REPLICATES)).names == [*plain, "_replicate_1", "_replicate_2"]
    assert storage_schema(parse_dataset(TOML + UNITS)).names[3:5] == ["_stratum", "_cluster"]
    without = TOML[: TOML.index("[survey]")]
    assert storage_schema(parse_dataset(without)).names == plain


def test_a_cluster_of_the_same_name_in_another_stratum_is_another_one(tmp_path):
    stored = load(tmp_path, UNITS)
    found = stored.engine.aggregate(AggregateQuery(("_stratum", "_cluster")))
    assert sorted(found.counts.tolist()) == [1, 1, 2]
    stored.engine.close()


@pytest.mark.parametrize(
    ("lines", "changes", "what"),
    [
        (UNITS, {"h": ["A", None, "B", "B"]}, "no stratum"),
        (UNITS, {"h": ["A", "", "B", "B"]}, "no stratum"),
        (UNITS, {"c": [1, None, 2, 2]}, "no cluster"),
        (REPLICATES, {"r2": ["0", "x", "5", "5"]}, "replicate weight"),
        (REPLICATES, {"r1": [None, 1, 5, 5]}, "replicate weight"),
        (REPLICATES, {"r1": [20, -9, 5, 5]}, "The replicate weight is '-9'"),
        (REPLICATES, {"r2": [1, 2, 5, 5]}, "'r2' add up to 13, and the weights to 40"),
        (UNITS + "fpc = { A = 0.1 }\n", {}, "fpc"),
    ],
)
def test_records_without_a_unit_or_with_a_replicate_that_is_no_number_are_refused(
    lines, changes, what, tmp_path
):
    with pytest.raises(BadData, match=what) as caught:
        load(tmp_path, lines, **changes)
    assert caught.value.advice


def test_a_column_that_is_not_there_is_named(tmp_path):
    with pytest.raises(BadDescription, match="'r3' for the replicate weights"):
        load(tmp_path, REPLICATES.replace("r1..r2", "r1..r3"))


@pytest.mark.slow
def test_records_with_other_units_or_replicates_are_another_version(tmp_path):
    digests = []
    loads = [(UNITS, {}), (UNITS, {"c": [1, 2, 1, 2]}), (UNITS, {"h": ["A", "B", "A", "B"]})]
    for lines, changes in [*loads, (REPLICATES, {}), (REPLICATES, {"r2": [1, 20, 5.25, 5]})]:
        stored = load(tmp_path, lines, **changes)
        digests.append(stored.digest)
        stored.engine.close()
    assert len(set(digests)) == 5


def test_strata_and_replicates_are_refused_under_dp():
    dp = TOML.replace("[survey]", '[survey]\nform = "average-weight"')
    dp += UNITS + '[protection]\nmethod = "dp"\n[protection.universe]\nvariables = ["sex"]\n'
    with pytest.raises(BadDescription, match="method is dp"):
        parse_dataset(dp + '[protection.budget]\nfamily = "s"\nepsilon = 1.0\n')


class InANotebook:
    """A connection of a notebook without `ipywidgets`: the bar is off, and to turn it off again is an error."""

    def execute(self, query):
        if query.startswith("SET"):
            raise duckdb.InvalidInputException("required package 'ipywidgets' is missing")
        return duckdb.sql("SELECT false")


def test_a_notebook_without_widgets_opens_tables():
    """To say it in any case ended `discreet.open` in every such notebook."""
    hide_progress_bar(InANotebook())
