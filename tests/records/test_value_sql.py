"""A value becomes a code: single values first, then ranges, then the code as it stands."""

import duckdb
import pytest

from discreet.model.dataset_toml import parse_dataset
from discreet.records.value_sql import code_sql

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
