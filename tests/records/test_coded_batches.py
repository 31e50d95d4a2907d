"""What DuckDB makes of a source: weights as whole numbers, and only of columns that are there."""

import duckdb
import pytest

from discreet.errors import BadData, BadDescription
from discreet.model.dataset import ROW_NUMBER
from discreet.model.dataset_toml import parse_dataset
from discreet.records.coded_batches import check_columns
from discreet.workspace.load import load_dataset
from discreet.workspace.workspace import Workspace


class TestWeights:
    DESCRIPTION = """
id = "survey"
label = "A survey"
id_column = "id"
weight_column = "weight"
weight_decimals = 3
[[variable]]
name = "sex"
categories = ["1", "2"]
"""

    def load(self, weights, tmp_path):
        import pandas as pd

        frame = pd.DataFrame({"id": range(len(weights)), "sex": "1", "weight": weights})
        load_dataset(tmp_path, self.DESCRIPTION, frame)
        stored = Workspace(tmp_path).stored("survey")
        with duckdb.connect(
            str(tmp_path / "datasets" / "survey" / stored.digest / "data.duckdb"), read_only=True
        ) as c:
            return sorted(w for (w,) in c.execute("SELECT weight FROM records").fetchall())

    def test_weights_become_fixed_point_integers(self, tmp_path):
        assert self.load([1.5, 0.001, 666.6667, 0], tmp_path) == [0, 1, 1500, 666_667]

    def test_weights_as_text_are_read_exactly(self, tmp_path):
        assert self.load(["0.1", "0.2", "123456789.125"], tmp_path) == [100, 200, 123_456_789_125]

    @pytest.mark.parametrize("weight", [-1.0, None, float("nan"), "much"])
    def test_a_weight_that_is_no_weight_is_refused(self, weight, tmp_path):
        with pytest.raises(BadData, match="weight"):
            self.load([1.0, weight], tmp_path)


def test_columns_that_a_description_reads_must_be_there():
    dataset = parse_dataset(TestWeights.DESCRIPTION)
    assert check_columns("a file", ["weight", "sex", "other", "id"], dataset) == ["sex", "id", "weight"]
    with pytest.raises(BadDescription, match=r"no column 'weight' for the weight\. Did you mean"):
        check_columns("a file", ["weights", "sex", "id"], dataset)
    numbered = parse_dataset(TestWeights.DESCRIPTION.replace('"id"', f'"{ROW_NUMBER}"', 1))
    assert check_columns("a file", ["weight", "sex"], numbered) == ["sex", "weight"]  # no column is needed
