"""Readers: one module per kind of file; a torn or strange file is refused whole."""

import datetime as dt
import sqlite3

import duckdb
import openpyxl
import pytest
from openpyxl.workbook.workbook import Workbook as OpenWorkbook

from discreet.errors import BadData, MissingExtra, NotFound
from discreet.model import limits
from discreet.model.description.sections import FileOptions
from discreet.model.plugins import Extra
from discreet.records import readers
from discreet.records.readers import Reader, reader_of
from discreet.records.source import Source, Stream, choose_table, quote_name
from discreet.workspace.versions.load_version import load_dataset


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

    def rows():
        yield ["1"]
        raise BadData("Row 2 is torn.", "Mend it.")

    stream = Stream(["a"], rows(), "x")
    with duckdb.connect() as connection, pytest.raises(duckdb.Error):
        stream.relation(connection).fetchall()
    assert stream.error().message == "Row 2 is torn."


def test_a_table_keeps_its_types(opened, tmp_path):
    with duckdb.connect(str(tmp_path / "x.duckdb")) as database:
        database.execute("CREATE TABLE people AS SELECT 1 AS a, 'x' AS b")
    source = opened(tmp_path / "x.duckdb")
    assert source.found.table == "people"
    assert source.relation.fetchall() == [(1, "x")]


def test_numbers_come_as_codes_and_any_name_of_a_table_is_one(opened, tmp_path):
    path = tmp_path / "a b#?.db"
    database = sqlite3.connect(path)
    database.execute('CREATE TABLE "x""; DROP" (a, b)')
    database.executemany('INSERT INTO "x""; DROP" VALUES (?, ?)', [(1, 2.0), (None, "z"), (2.5, b"\x01")])
    database.commit()
    database.close()
    source = opened(path, FileOptions(table='x"; DROP'))
    assert source.records == 3
    assert source.relation.fetchall() == [("1", "2"), (None, "z"), ("2.5", "01")]


def test_a_sheet_gives_text_and_skips_empty_rows(opened, tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["id", None, "seen"], [1, 2.5, dt.datetime(2020, 5, 1)], [], [2, True, None]):  # noqa: DTZ001
        sheet.append(row)
    book.create_sheet("Notes").append(["nothing"])
    book.save(tmp_path / "x.xlsx")
    source = opened(tmp_path / "x.xlsx", FileOptions(table="Sheet"))
    assert source.columns == ["id", "column1", "seen"]
    assert source.relation.fetchall() == [("1", "2.5", "2020-05-01"), ("2", "true", None)]
    assert source.places([1, 2]) == [2, 4]


def test_a_name_with_quotes_stays_one_name():
    """The wrong alternative puts the name into SQL as it stands."""
    with duckdb.connect() as connection:
        name = 'x"; DROP TABLE t; --'
        relation = connection.sql(f"SELECT 1 AS {quote_name(name)}")
        assert Source(relation, 1, "x").columns == [name]


def test_the_only_table_needs_no_name_and_one_of_several_does():
    assert choose_table(["people"], FileOptions(), "x.db").table == "people"
    assert choose_table(["a", "b"], FileOptions(table="b"), "x.db").table == "b"
    with pytest.raises(BadData, match='has 2 tables: "a", "b"'):
        choose_table(["a", "b"], FileOptions(), "x.db")
    with pytest.raises(BadData, match='Did you mean "people"'):
        choose_table(["people"], FileOptions(table="peopel"), "x.db")
    with pytest.raises(BadData, match="has no sheet"):
        choose_table([], FileOptions(), "x.xlsx", "sheet")


def test_a_file_that_is_not_there_is_said_so(town, tmp_path):
    with pytest.raises(NotFound):
        load_dataset(tmp_path / "workspace", town.description, tmp_path / "nothing.csv")


def test_a_file_of_many_columns_is_refused_before_they_are_described(opened, tmp_path, monkeypatch):
    """A million columns took all memory and no signal ended it."""
    monkeypatch.setattr(limits, "MOST_COLUMNS", 3)
    book = openpyxl.Workbook()
    for row in (["a", "b", "c", "d"], [1, 2, 3, 4]):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    (tmp_path / "x.csv").write_text("a,b,c,d\n1,2,3,4\n")
    with duckdb.connect() as database:
        database.sql("SELECT 1 AS a, 2 AS b, 3 AS c, 4 AS d").write_parquet(str(tmp_path / "x.parquet"))
    for name in ("x.xlsx", "x.csv", "x.parquet"):
        with pytest.raises(BadData, match=f"{name} has 4 columns, and at most 3 are read"):
            opened(tmp_path / name)
    (tmp_path / "x.csv").write_text("a,b,c\n1,2,3\n")
    assert opened(tmp_path / "x.csv").columns == ["a", "b", "c"]


@pytest.mark.parametrize("length", [50, 250])
def test_a_workbook_with_a_text_that_excel_does_not_write_is_refused(opened, tmp_path, monkeypatch, length):
    """A text of 600 MB was parsed for a minute; the reader looks for tags first, block by block."""
    monkeypatch.setattr(limits, "LONGEST_TEXT", 200)
    book = openpyxl.Workbook()
    for row in (["id", "a"], *([n, "z" * length if n == 20 else "y"] for n in range(40))):
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    if length < 200:
        assert opened(tmp_path / "x.xlsx").relation.count("*").fetchall() == [(40,)]
        monkeypatch.setattr(limits, "MOST_WORKBOOK_BYTES", 100)
    with pytest.raises(BadData, match="a text of more than 200 bytes" if length > 200 else "unpacks to 0 MB"):
        opened(tmp_path / "x.xlsx")


def test_a_workbook_is_closed_when_it_is_read_or_refused(opened, tmp_path, monkeypatch):
    closed = []
    book = openpyxl.Workbook()
    book.active.append(["a"])
    book.active.append([1])
    book.create_sheet("other").append(["b"])
    book.save(tmp_path / "x.xlsx")
    close = OpenWorkbook.close
    monkeypatch.setattr(OpenWorkbook, "close", lambda self: (closed.append(1), close(self)))
    with pytest.raises(BadData, match="2 sheets"):
        opened(tmp_path / "x.xlsx")
    assert closed == [1]
    assert opened(tmp_path / "x.xlsx", FileOptions(table="other")).relation.fetchall() == []
    assert closed == [1, 1]
