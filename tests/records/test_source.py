import duckdb

from discreet.model.file_section import FileOptions
from discreet.records.source import Source, quote_name


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
