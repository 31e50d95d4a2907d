"""A kind of file is one module; what all readers share."""

from pathlib import Path

import pytest

from discreet.errors import BadData, MissingExtra
from discreet.model.plugins import Extra
from discreet.records import readers
from discreet.records.readers import Reader, Stream, plain_path, reader_of, unique_names


def test_an_ending_belongs_to_one_reader():
    with pytest.raises(ValueError, match=r"another reader has the ending \.csv"):
        readers.register(Reader("mine", (".csv",), lambda *_given: None))


def test_a_reader_that_is_not_installed_says_what_to_install(tmp_path, monkeypatch):
    (tmp_path / "x.odd").write_text("x")
    odd = Reader("odd", (".odd",), lambda *_given: None, needs=Extra("discreet[odd]", ("no_such_odd",)))
    monkeypatch.setattr(readers, "readers", lambda: (odd,))
    with pytest.raises(MissingExtra, match=r"pip install \"discreet\[odd\]\""):
        reader_of(tmp_path / "x.odd")


def test_the_longest_ending_wins_and_capitals_do_not_matter(tmp_path):
    (tmp_path / "People.CSV.GZ").write_bytes(b"")
    assert reader_of(tmp_path / "People.CSV.GZ").name == "CSV"


def test_an_error_while_rows_are_read_is_kept(tmp_path):
    """DuckDB would tell only that something went wrong."""
    import duckdb

    def rows():
        yield ["1"]
        raise BadData("Row 2 is torn.", "Mend it.")

    stream = Stream(["a"], rows(), "x")
    with duckdb.connect() as connection, pytest.raises(duckdb.Error):
        stream.relation(connection).fetchall()
    assert stream.error().message == "Row 2 is torn."


def test_names_are_different_whatever_the_header_says():
    assert unique_names(["a", "A", "a_1", None]) == ["a", "A_1", "a_1_1", "column3"]


def test_a_pattern_in_a_name_is_one_file(tmp_path):
    (tmp_path / "aside").mkdir()
    assert plain_path(Path("people.csv"), tmp_path) == "people.csv"
    (tmp_path / "p*.csv").write_text("a\n1\n")
    link = Path(plain_path(tmp_path / "p*.csv", tmp_path / "aside"))
    assert link.name == "source.csv"
    assert link.read_text() == "a\n1\n"
