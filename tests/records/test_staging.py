"""A chunk is checked and keyed; under `dp` nothing in it is a reason to refuse."""

import pyarrow as pa
import pytest

from discreet.errors import BadData
from discreet.records.engine import AggregateQuery
from discreet.workspace.load import load_dataset
from discreet.workspace.workspace import Workspace

SURVEY = """
id = "s"
label = "S"
id_column = "id"
weight_column = "w"
[[variable]]
name = "sex"
categories = ["1", "2"]
[survey]
sample_size = 2
population_size = 9
largest_weight = 7.5
"""
SURVEY_UNDER_DP = """
[protection]
method = "dp"
[protection.universe]
variables = ["sex"]
[protection.budget]
name = "s"
epsilon = 1.0
cap_epsilon = 4.0
"""


def test_under_dp_a_weight_above_the_declared_largest_counts_as_the_largest(tmp_path):
    """Wrong alternative: it is refused, as by the cell key method, which tells that somebody has such a weight."""
    records = pa.table({"id": ["a", "b"], "sex": ["1", "2"], "w": [1.5, 900.0]})
    with pytest.raises(BadData):
        load_dataset(tmp_path / "plain", SURVEY, records)
    load_dataset(tmp_path / "dp", SURVEY + SURVEY_UNDER_DP, records)
    stored = Workspace(tmp_path / "dp").stored("s")
    assert sorted(stored.engine.aggregate(AggregateQuery(("sex",), weights=True)).weight_sums.tolist()) == [
        15_000,
        75_000,
    ]
