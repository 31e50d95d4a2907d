import duckdb
import pytest

from discreet.errors import BadData
from discreet.model.description.sections import FileOptions
from discreet.records.source import Source, choose_table, quote_name


def test_a_name_with_quotes_stays_one_name():
    """The wrong alternative puts the name into SQL as it stands."""
    with duckdb.connect() as connection:
        name = 'x"; DROP TABLE t; --'
        relation = connection.sql(f"SELECT 1 AS {quote_name(name)}")
        assert Source(relation, 1, "x").columns == [name]


def test_records_are_counted_from_one_unless_the_file_has_lines():
    source = Source(None, None, "x", found=FileOptions(decimal=","))
    assert source.places([3, 5]) == [3, 5]
    assert source.decimal_comma
    assert source.torn() is None


def test_the_only_table_needs_no_name_and_one_of_several_does():
    assert choose_table(["people"], FileOptions(), "x.db").table == "people"
    assert choose_table(["a", "b"], FileOptions(table="b"), "x.db").table == "b"
    with pytest.raises(BadData, match='has 2 tables: "a", "b"'):
        choose_table(["a", "b"], FileOptions(), "x.db")
    with pytest.raises(BadData, match='Did you mean "people"'):
        choose_table(["people"], FileOptions(table="peopel"), "x.db")
    with pytest.raises(BadData, match="has no sheet"):
        choose_table([], FileOptions(), "x.xlsx", "sheet")
