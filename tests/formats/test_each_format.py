"""What is particular to each format: its layout, its metadata, and text that stays text."""

import csv
import io
import json
import re
import zipfile
from dataclasses import replace
from math import prod

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonstat_validator import validate_jsonstat
from pyaxis import pyaxis
from pyjstat import pyjstat

import discreet
from discreet.errors import BadRequest
from discreet.formats import format_by_name
from discreet.formats.writers.csv import Dialect, excel_safe_text, quote_fields, safe_text
from discreet.formats.writers.json_stat import Later, json_pieces, json_stat
from discreet.formats.writers.px import unique_texts
from discreet.formats.writers.xlsx import MOST_LINES, refuse_long
from discreet.model.request import request_from_text
from discreet.model.view import Picture
from discreet.release.pipeline import release_table

from .conftest import HOSTILE
from .large import large_release
from .readers import px_keywords
from .test_formats import decorated


def rows_of(release):
    return list(csv.DictReader(io.StringIO(format_by_name("csv").write(release).decode(), newline="")))


def test_csv_has_codes_beside_labels(release):
    rows = rows_of(release)
    assert list(rows[0]) == ["age", "age_label", "job", "job_label", "sex", "sex_label", "value", "status"]
    assert (rows[-1]["age"], rows[-1]["age_label"]) == ("_T", "Total")


def test_csv_keeps_hostile_text_as_data(hostile):
    rows = rows_of(hostile)
    assert [row["word"].lstrip("'") for row in rows[:-1]] == [code.lstrip("'") for code in HOSTILE.values()]
    for row in rows:
        assert row["word"][0] not in "=+@\t\r"
        assert row["word_label"][0] not in "=+@\t\r"


def test_numbers_and_ranges_are_not_taken_for_formulas():
    assert [safe_text(text) for text in ("-5", "-1.5", "5-9", "-5-9")] == ["-5", "-1.5", "5-9", "-5-9"]
    assert [safe_text(text)[0] for text in ("-a", "=1", "+1", "@x", "\tx", "\rx")] == ["'"] * 6


@given(st.text(st.sampled_from("aé0 .;,\t\"'()/-+\n\r"), max_size=6), st.sampled_from(",; \t"))
def test_a_field_is_what_pythons_writer_makes_of_it(text, separator):
    """The wrong alternative: to leave a text as it is that has the separator or a quote in it."""
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator="\r\n").writerow([text, ""])
    (field,) = quote_fields((text,), Dialect(separator, safe=str)).to_pylist()
    assert f"{field}{separator}\r\n" == line.getvalue()


@pytest.mark.parametrize(
    ("name", "separator", "decimal"), [("csv-excel", ";", ","), ("csv-excel-point", ",", ".")]
)
def test_csv_for_excel_has_a_mark_and_the_separator_and_decimal_sign_of_its_excel(
    release, name, separator, decimal
):
    """Wrong alternatives: decimal points where Excel takes them for dates; semicolons that it leaves in one column."""
    data = format_by_name(name).write(decorated(release))
    assert data.startswith(separator.join(["\ufeffage", "age_label", "job", ""]).encode())
    header, *lines = data.decode("utf-8-sig").splitlines()
    numbers = "".join(line.split(separator, 6)[6] for line in lines)
    assert {line.count(separator) for line in lines} == {header.count(separator)}
    assert decimal in numbers.replace(separator, "")
    assert ({",", ".", ";"} - {separator, decimal}).isdisjoint(numbers)


@pytest.mark.parametrize(
    "text",
    ["5-9", "1/2", "1.5", "007", "1E5", "12:30", "5-Mai", "MAR1", "sept 2", "-a", "=1", "@x", "9" * 16],
)
def test_what_excel_would_change_is_led_by_an_apostrophe(text):
    assert excel_safe_text(text) == f"'{text}"


@pytest.mark.parametrize(
    "text", ["0", "12", "-5", "_T", "North", "Area 5", "5 years", "N1", "9" * 15, "total 5-9"]
)
def test_what_excel_keeps_is_left_as_it_is(text):
    assert excel_safe_text(text) == text


def test_both_csv_for_excel_have_the_same_texts(hostile):
    point, comma = (format_by_name(name).write(hostile).decode() for name in ("csv-excel-point", "csv-excel"))
    assert "'+1+1" in point
    assert [line.split(",")[0] for line in point.split("\n")[4:7]] == [
        line.split(";")[0] for line in comma.split("\n")[4:7]
    ]


def test_json_stat_says_that_counts_are_perturbed_and_how(release):
    document = json.loads(format_by_name("json").write(release))
    assert "randomly adjusted" in document["note"][0]
    confidentiality = document["extension"]["confidentiality"]
    assert confidentiality["perturbed"] is True
    assert confidentiality["largest_change"] == release.distribution.table.largest
    assert document["extension"]["query"] == "rows=age&columns=job&layers=sex"
    assert "perturbed" not in json.dumps(document["status"])


def test_json_stat_names_geography(town_workspace):
    released = release_table(
        town_workspace.stored("town"), request_from_text("town", rows=["area"], columns=["sex"])
    )
    assert json.loads(format_by_name("json").write(released))["role"] == {"geo": ["area"]}


@pytest.mark.parametrize("full", [False, True])
def test_other_programs_read_json_stat(release, full):
    """By the validator of the standard, and by pyjstat, which drops the status and has NaN for what is missing."""
    each = decorated(release) if full else release
    text = format_by_name("json").write(each).decode()
    assert validate_jsonstat(json.loads(text))
    frame = pyjstat.Dataset.read(text).write("dataframe")
    assert frame["value"].isna().tolist() == each.missing.ravel().tolist()
    assert frame["value"].dropna().tolist() == each.values[~each.missing].tolist()
    assert frame["Job"].drop_duplicates().tolist() == list(each.dimensions[1].labels)


def test_json_stat_is_compact_and_our_own_keys_are_in_the_extension(release):
    """Wrong alternative: a blank after every comma, a fifth of a large document."""
    text = format_by_name("json").write(decorated(release)).decode()
    document = json.loads(text)
    assert text == json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    standard = {"version", "class", "label", "source", "note", "id", "size", "dimension", "value", "status"}
    assert document.keys() == standard | {"extension"}


def test_a_text_like_a_mark_and_what_is_no_json_are_no_trouble(release):
    """Wrong alternative: a mark that a label could hold, and that would then be replaced."""
    document = json_stat(release) | {"label": "later 0 \x00 later"}
    assert json.loads(b"".join(json_pieces(document)))["label"] == "later 0 \x00 later"
    assert (
        b"".join(json_pieces({"a": Later("{}", lambda: iter([b"", b'"1":2,', b""])), "b": []}))
        == b'{"a":{"1":2},"b":[]}'
    )
    assert b"".join(json_pieces({"a": Later("[]", lambda: iter([b""]))})) == b'{"a":[]}'
    with pytest.raises(TypeError, match="set is not JSON"):
        list(json_pieces({"a": {1}}))


def test_the_distribution_of_every_cell_of_a_private_table_is_told_once(private_town):
    """Wrong alternative: the margin and the number of terms of every cell, which is longer than the table."""
    with discreet.open(private_town.folder) as catalogue:
        release = catalogue.table("town", rows=["sex"], columns=["job"]).release
    noise = json.loads(format_by_name("json").write(release))["extension"]["confidentiality"]["noise"]
    assert noise.keys() == {"tables", "laws", "classes", "law"}
    assert list(map(len, noise["classes"])) == list(release.values.shape)
    distribution = np.array(noise["law"]).reshape([max(each) + 1 for each in noise["classes"]])
    for place in np.ndindex(release.values.shape):
        told = noise["laws"][
            distribution[tuple(each[p] for each, p in zip(noise["classes"], place, strict=True))]
        ]
        assert told["terms"] == release.distribution.terms[place]


def text_of(release):
    return format_by_name("html").write(release).decode()


def test_labels_never_become_elements_of_html(hostile):
    """Wrong alternative: labels that are not escaped."""
    text = text_of(hostile)
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "\0" not in text
    assert f"<bdi>{HOSTILE['bidi']}</bdi>" in text


def test_html_stands_alone_and_every_header_has_its_scope(release):
    text = text_of(release)
    assert not re.search(r"<(script|link|img|iframe)|(src|href)=", text)
    assert text.count("<th ") == text.count("<th scope=")
    assert f"<h1><bdi>{release.title}</bdi></h1>" in text
    assert text.index("<p><bdi>") < text.index("<table>"), "the mandatory note stands above the numbers"


def test_each_layer_is_a_table_with_the_rows_and_columns_of_the_request(release):
    """Wrong alternative: one line a cell, which nobody can read as a table. Read by pandas."""
    text = text_of(release)
    age, job, sex = release.dimensions
    tables = pd.read_html(io.StringIO(text), index_col=0)
    assert len(tables) == sex.length
    assert re.findall("<caption>(.*?)</caption>", text)[-1].endswith(
        '<data value="_T"><bdi>Total</bdi></data>'
    )
    for layer, table in enumerate(tables):
        assert table.index.tolist() == list(age.labels)
        assert table.columns.tolist() == [(job.label, label) for label in job.labels]
        for place in ((1, 1), (2, 3)):
            assert int(table.iloc[place]) == release.values[(*place, layer)]


def test_numbers_beside_the_value_are_the_innermost_columns(release):
    """Their meaning stands below; outer headers span them."""
    text = text_of(decorated(release))
    table = pd.read_html(io.StringIO(text), index_col=0)[0]
    names = ["value", "signed", "relative standard error", "noise share"]
    assert table.columns.tolist() == [
        ("Job", label, name) for label in release.dimensions[1].labels for name in names
    ]
    assert "<dt><bdi>noise share</bdi></dt><dd><bdi>The noise&#x27;s part" in text


@pytest.mark.parametrize(
    ("asked", "shape"),
    [({"rows": ["sex"]}, (3, 1)), ({"columns": ["sex"]}, (1, 3)), ({"layers": ["sex"]}, (1, 1))],
)
def test_a_table_without_rows_or_columns_has_one_of_them(town_workspace, asked, shape):
    release = release_table(town_workspace.stored("town"), request_from_text("town", **asked))
    tables = pd.read_html(io.StringIO(text_of(release)), index_col=0 if "rows" in asked else None)
    assert {table.shape for table in tables} == {shape}


def test_a_finer_level_stands_within_the_coarser_one(town_workspace):
    asked = request_from_text("town", rows=["area"], levels=["area=region,area"])
    text = text_of(release_table(town_workspace.stored("town"), asked))
    assert '<th scope="row" class="d1"><data value="N1">' in text
    assert '<th scope="row"><data value="N">' in text


def test_a_status_says_what_it_means(release):
    text = text_of(release)
    assert text.count('<abbr title="Not applicable: cannot occur">z</abbr>') == release.missing.sum() > 0


def book_of(release):
    return openpyxl.load_workbook(io.BytesIO(format_by_name("xlsx").write(release)))


def test_a_workbook_has_data_notes_and_definitions(release):
    book = book_of(release)
    assert book.sheetnames == ["table", "data", "notes", "definitions"]
    notes = list(book["notes"].iter_rows(min_row=2, values_only=True))
    assert ("note", release.notes[0]) in notes
    assert ("digest", release.digest) in notes
    assert [text for name, text in notes if name == "promise"] == list(release.promise)
    defined = list(book["definitions"].iter_rows(min_row=2, values_only=True))
    assert ("job", "9", "Not stated", None) in defined
    assert ("status", "c", "Not released: withheld to protect confidentiality", None) in defined


def test_the_first_sheet_is_the_cross_table_as_it_is_seen(release):
    """Wrong alternative: the numbers of the next column or layer."""
    sheet, request = book_of(release)["table"], release.request
    lengths = {d.name: d for d in release.dimensions}
    columns, layers = (prod(lengths[n].length for n in names) for names in (request.columns, request.layers))
    assert sheet["A1"].value == release.title
    assert sheet.freeze_panes is not None
    stub = max(len(request.rows), 1)
    lines = [
        row
        for row in sheet.iter_rows(min_row=3)
        if any(cell.data_type == "n" for cell in row if cell.value is not None)
    ]
    found = [[cell.value for cell in row[stub : stub + columns]] for row in lines]
    height = release.cells // (columns * layers)
    values, missing = (a.reshape(height, columns, layers) for a in (release.values, release.missing))
    slow = [
        [None if missing[r, c, z] else values[r, c, z] for c in range(columns)]
        for z in range(layers)
        for r in range(height)
    ]
    shown = [[v if isinstance(v, int | float) else None for v in row] for row in found]
    assert shown == [row for row in slow if any(v is not None for v in row)]
    assert {
        cell.number_format
        for row in lines
        for cell in row[stub:]
        if cell.data_type == "n" and cell.value is not None
    } == {"#,##0"}
    spans = {merged.coord for merged in sheet.merged_cells.ranges}
    assert any(span[1:].split(":")[0] in {"3", "4"} for span in spans), "the heads of columns are merged"
    assert release.notes[0] in {cell.value for cell in sheet["A"]}
    assert any(release.dataset.source in str(cell.value) for cell in sheet["A"])


def test_a_table_too_large_to_read_has_no_cross_table(release, monkeypatch):
    monkeypatch.setattr("discreet.formats.writers.xlsx.MOST_CROSSED", 5)
    assert book_of(release).sheetnames == ["data", "notes", "definitions"]


def test_no_cell_of_a_workbook_is_a_formula_a_link_or_a_date(hostile):
    """Wrong alternative: `worksheet.write`, which makes `=cmd` a formula and `http://` a link."""
    data = format_by_name("xlsx").write(hostile)
    with zipfile.ZipFile(io.BytesIO(data)) as parts:
        sheets = [parts.read(name).decode() for name in parts.namelist() if "worksheets/sheet" in name]
    assert len(sheets) == 4
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


def stream_of(release):
    return pa.ipc.open_stream(format_by_name("arrow").write(release))


def test_texts_of_arrow_are_dictionaries_and_counts_are_integers(release):
    schema = stream_of(release).schema
    assert schema.names == ["age", "age_label", "job", "job_label", "sex", "sex_label", "value", "status"]
    assert all(pa.types.is_dictionary(schema.field(name).type) for name in schema.names if name != "value")
    assert schema.field("value").type == pa.int64()
    assert schema.field("sex").metadata == {b"label": b"Sex"}


def test_parquet_is_the_table_of_the_arrow_stream(release):
    table = pq.read_table(io.BytesIO(format_by_name("parquet").write(release)))
    assert table.equals(pa.ipc.open_stream(format_by_name("arrow").write(release)).read_all())
    assert json.loads(table.schema.metadata[b"discreet"])["note"][0] == release.notes[0]


def keywords_of(release):
    return px_keywords(format_by_name("px").write(release).decode())


def test_the_mandatory_keywords_of_px_stand_in_their_order(release):
    found = [key for key, _ in keywords_of(release)]
    mandatory = ["DECIMALS", "MATRIX", "SUBJECT-CODE", "SUBJECT-AREA", "TITLE", "CONTENTS", "UNITS", "STUB"]
    mandatory += ["HEADING", 'VALUES("Age")', 'CODES("Age")', "NOTEX", "DATA"]
    places = [found.index(key) for key in mandatory]
    assert places == sorted(places)
    assert found[-1] == "DATA"
    assert len(set(found)) == len(found)


def test_the_note_of_px_is_mandatory_and_sums_are_not_allowed(release):
    """Wrong alternative: NOTE, which programs may leave out."""
    told = dict(keywords_of(release))
    assert told["NOTEX"] == [re.sub(r"\s+", " ", release.notes[0]).replace('"', "'")]
    assert told["AGGREGALLOWED"] == "NO"
    assert release.digest in told["NOTE"][0]
    assert told['CODES("Job")'] == ["0", "1", "2", "9", "_T"]


def test_withheld_and_impossible_cells_have_symbols_of_their_own(release):
    data = dict(keywords_of(decorated(release)))["DATA"].split("\n")
    assert set(data[1].split()) == {'"."'}
    assert set(data[2].split()) == {'".."'}
    assert data[3].split()[-1] == "1", "the cell is unreliable"


def test_no_line_of_px_is_longer_than_the_format_allows(release, hostile):
    for each in (release, hostile):
        assert max(map(len, format_by_name("px").write(each).decode().split("\n"))) <= 256


@pytest.mark.parametrize("texts", [['a"', "a'"], ["x\ny", "x y"], ["b", "b", "b (2)"]])
def test_texts_that_become_alike_stay_apart(texts):
    assert len(set(unique_texts(texts))) == len(texts)


def test_pyaxis_reads_px(release, tmp_path):
    """A reader of another house: labels by variable, and NaN where a symbol stands for a number."""
    file = tmp_path / "table.px"
    file.write_bytes(format_by_name("px").write(release))
    frame = pyaxis.parse(uri=str(file), encoding="utf-8")["DATA"]
    assert frame["DATA"].isna().tolist() == release.missing.ravel().tolist()
    assert frame["DATA"].dropna().astype(int).tolist() == release.values[~release.missing].tolist()
    assert frame["Sex"].tolist()[:3] == list(release.dimensions[2].labels)


def test_the_release_names_its_svg_picture(release):
    one = replace(release, picture=Picture("multiples"))
    assert b'data-chart="multiples"' in format_by_name("svg").write(one)
    assert format_by_name("svg").write(release) == format_by_name("svg").write(one), "it is what fits best"
    with pytest.raises(BadRequest, match='does not fit the chart "bars"'):
        next(format_by_name("svg").stream(replace(release, picture=Picture("bars"))))


def test_the_note_and_the_version_are_on_an_svg_and_what_is_withheld_is_not(release):
    status = release.status.copy()
    status[0, 0, 0] = 1
    values = release.values.copy()
    values[0, 0, 0] = 918273645
    text = format_by_name("svg").write(replace(release, values=values, status=status)).decode()
    assert "randomly adjusted" in text
    assert release.digest[:8] in text
    assert "918" not in text.replace(release.digest[:8], "")
    assert "918,273,645" in format_by_name("svg").write(replace(release, values=values)).decode()
