"""Of many problems the first ten are told, and all are counted."""

import pyarrow as pa
import pytest

from discreet.errors import BadRecords
from discreet.model.dataset_toml import parse_dataset
from discreet.records.problems import Problem, Problems
from discreet.records.source import Source


def test_the_first_ten_are_told_in_the_order_of_the_file_and_all_are_counted(town):
    problems = Problems(parse_dataset(town.description))
    assert not problems
    marks = [None] * 5 + [["u2:x", "m3:"]] * 1000
    problems.add_marks(pa.array(marks, pa.list_(pa.string())), 100)
    problems.add([Problem(50, "area", "wrong", "mend it")], "area", 1)
    problems.settle()
    with pytest.raises(BadRecords) as refused:
        problems.refuse(
            Source(None, None, "town.csv", unit="line", places=lambda n: [each + 1 for each in n])
        )
    error = refused.value
    assert error.counts == {"sex": 1000, "age": 1000, "area": 1}
    assert [problem["line"] for problem in error.problems] == [
        51,
        107,
        107,
        108,
        108,
        109,
        109,
        110,
        110,
        111,
    ]
    assert error.problems[1]["value"] == "x"
    assert error.message.startswith("Line 51: wrong There are 2,001 problems in all")


def test_nothing_wrong_refuses_nothing(town):
    Problems(parse_dataset(town.description)).refuse(Source(None, None, "town.csv"))
