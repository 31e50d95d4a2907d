"""What a column looks like, whatever kind of file it comes from."""

import duckdb
import pyarrow as pa
import pytest

from discreet.records.draft.column_facts import StagedColumns, natural
from discreet.records.source import Source


@pytest.fixture
def look():
    connection = duckdb.connect()

    def at(**columns):
        table = pa.table(columns)
        return StagedColumns(connection, Source(connection.from_arrow(table), len(table), "x"))

    yield at
    connection.close()


def test_words_for_missing_are_no_values(look):
    (column,) = look(x=["1", "NA", " 2 ", "", None, "n/a"]).columns
    assert (column.filled, column.distinct, column.whole) == (2, 2, True)
    assert column.missing == ("NA", "n/a")
    assert column.gaps


def test_numbers_dates_and_texts_are_told_apart(look):
    looked = look(a=["1", "22"], b=["1.5", "2"], c=["2020-01-01", "2021-12-31"], d=["x1", "y2"])
    assert [c.whole for c in looked.columns] == [True, False, False, False]
    assert [c.numeric for c in looked.columns] == [True, True, False, False]
    assert [c.dates for c in looked.columns] == [False, False, True, False]
    assert looked.columns[0].lengths == (1, 2)
    assert looked.columns[1].decimals == 1


def test_a_finer_column_nests_only_where_it_tells_the_coarser_one(look):
    looked = look(fine=["a1", "a2", "b1"], coarse=["a", "a", "b"], other=["x", "y", "x"])
    fine, coarse, other = looked.columns
    assert looked.nests(fine, coarse)
    assert not looked.nests(coarse, other)
    assert looked.values(fine, "coarse") == [("a1", "a"), ("a2", "a"), ("b1", "b")]


def test_people_count_ages_by_their_numbers():
    assert sorted(["10-14", "5-9", "-1", "100+", "x"], key=natural) == ["-1", "5-9", "10-14", "100+", "x"]
