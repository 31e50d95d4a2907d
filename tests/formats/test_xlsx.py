"""Excel: three sheets, every text is text, and what does not fit is refused."""

import io
import zipfile
from dataclasses import replace

import openpyxl
import polars as pl
import pytest

from discreet.errors import BadRequest
from discreet.formats import format_by_name
from discreet.formats.writers.xlsx import MOST_LINES, refuse_long

from .conftest import HOSTILE
from .large import large_release


def book_of(release):
    return openpyxl.load_workbook(io.BytesIO(format_by_name("xlsx").write(release)))


def test_a_workbook_has_data_notes_and_definitions(release):
    book = book_of(release)
    assert book.sheetnames == ["data", "notes", "definitions"]
    notes = list(book["notes"].iter_rows(min_row=2, values_only=True))
    assert ("note", release.notes[0]) in notes
    assert ("digest", release.digest) in notes
    assert [text for name, text in notes if name == "promise"] == list(release.promise)
    defined = list(book["definitions"].iter_rows(min_row=2, values_only=True))
    assert ("job", "9", "Not stated", None) in defined
    assert ("status", "c", "Not released: withheld to protect confidentiality", None) in defined


def test_no_cell_is_a_formula_a_link_or_a_date(hostile):
    """Wrong alternative: `worksheet.write`, which makes `=cmd` a formula and `http://` a link."""
    data = format_by_name("xlsx").write(hostile)
    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        sheets = [parts.read(name).decode() for name in parts.namelist() if "worksheets/sheet" in name]
    assert len(sheets) == 3
    assert not any("<f>" in sheet or "hyperlink" in sheet for sheet in sheets)
    rows = list(book_of(hostile)["data"].iter_rows(min_row=2))
    assert all(cell.data_type in {"s", "n"} for row in rows for cell in row)
    assert rows[list(HOSTILE).index("formula")][0].value == HOSTILE["formula"]
    assert rows[list(HOSTILE).index("formula")][0].data_type == "s"


def test_codes_of_digits_stay_text_and_counts_are_numbers(release):
    row = next(book_of(release)["data"].iter_rows(min_row=2))
    assert [cell.data_type for cell in row[:6]] == ["s"] * 6
    assert isinstance(row[6].value, int)


def test_every_reader_sees_all_lines_and_the_filter_reaches_the_last(release):
    """Wrong alternative: the extent of the header alone, at which openpyxl stops when it only reads."""
    data = format_by_name("xlsx").write(release)
    quick = openpyxl.load_workbook(io.BytesIO(data), read_only=True)["data"]
    assert quick.max_row == sum(1 for _ in quick.iter_rows()) == release.cells + 1
    assert book_of(release)["data"].auto_filter.ref == f"A1:H{release.cells + 1}"
    assert len(pl.read_excel(io.BytesIO(data), sheet_name="data", engine="openpyxl")) == release.cells


def test_more_cells_than_lines_are_refused_before_anything_is_written():
    refuse_long(MOST_LINES)
    with pytest.raises(BadRequest, match=r"1,048,576 cells.*Take the format parquet or csv"):
        refuse_long(MOST_LINES + 1)


def test_a_refusal_comes_before_the_first_byte(release, monkeypatch):
    """Wrong alternative: a generator that refuses when the headers of an answer have left."""
    monkeypatch.setattr("discreet.formats.writers.xlsx.MOST_LINES", 5)
    with pytest.raises(BadRequest):
        format_by_name("xlsx").stream(release)


def test_a_text_with_letters_that_xml_cannot_have_is_found_by_its_number():
    """Wrong alternative: to look for it as the file writes it, escaped, where it is not."""
    release = large_release(3, 3)
    first, *others = release.dimensions[0].outputs
    strange = replace(first, label="a\x1b_x0041_\r\n<&\t b ")
    shown = replace(release.dimensions[0], outputs=(strange, *others))
    book = book_of(replace(release, dimensions=(shown, *release.dimensions[1:])))
    line = [cell.value for cell in book["data"][2]]
    assert line[1] == "a_x001B__x0041__x000D_\n<&\t b "
    assert line[0] == "c0000"
