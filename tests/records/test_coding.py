"""What DuckDB makes of a source: weights as whole numbers, and only of columns that are there.

A value becomes a code: single values first, then ranges, then the code as it stands.
"""

import duckdb
import pytest

from discreet.errors import BadData, BadDescription
from discreet.model.dataset import ROW_NUMBER
from discreet.model.description.dataset_toml import parse_dataset
from discreet.records.coding import check_columns, code_sql
from discreet.workspace.versions.load_version import load_dataset
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


DESCRIPTION = """
id = "x"
label = "X"
id_column = "id"
[[variable]]
name = "age"
not_stated = "?"
missing = ["-9", "-99..-90"]
values = { "0..<15" = "child", "15.." = "15", "old" = "15", "1990-01-01..1999-12-31" = "child" }
categories = ["child", "15", "7", "?"]
"""
#: Every value with the place of its category, or None where it has none.
VALUES = {
    "0": 0, "14.9": 0, "15": 1, "200": 1, "old": 1, " old\t": 1, "child": 0, "7": 0, "1995-05-05": 0, "?": 3,
    "": 3, None: 3, "-9": 3, "-95": 3, "-5": None, "young": None, "2005-05-05": None, "O'Neill; --": None,
}  # fmt: skip


@pytest.mark.parametrize("comma", [False, True])
@pytest.mark.parametrize("unlisted", [False, True])
def test_values_become_codes(comma, unlisted):
    """Values that are not listed become the declared category, and missing ones never do."""
    described = DESCRIPTION.replace('not_stated = "?"', 'not_stated = "?"\nunlisted = "7"')
    variable = parse_dataset(described if unlisted else DESCRIPTION).variables[0]
    with duckdb.connect() as connection:
        code, problem = code_sql(connection, variable, 0, comma=comma)
        connection.execute("CREATE TABLE t (age VARCHAR)")
        given = [v.replace(".", ",") if comma and v else v for v in VALUES]
        connection.executemany("INSERT INTO t VALUES (?)", [[value] for value in given])
        found = connection.execute(f"SELECT {code}, {problem} AS wrong FROM t").fetchall()
    for (place, wrong), value in zip(found, VALUES, strict=True):
        expected = 2 if unlisted and VALUES[value] is None else VALUES[value]
        assert (place if wrong is None else None) == expected, value
        assert wrong is None or wrong.startswith("u0:")


def test_without_a_category_for_missing_values_they_are_not_unlisted():
    variable = parse_dataset(DESCRIPTION.replace('not_stated = "?"', 'unlisted = "7"')).variables[0]
    with duckdb.connect() as connection:
        code, problem = code_sql(connection, variable, 0)
        connection.execute("CREATE TABLE t AS SELECT unnest(['', ' ', NULL, '-9', 'young']) AS age")
        found = connection.execute(f"SELECT {code}, {problem} AS wrong FROM t").fetchall()
    assert [wrong for _, wrong in found] == ["m0:"] * 4 + [None]
    assert found[-1][0] == 2
