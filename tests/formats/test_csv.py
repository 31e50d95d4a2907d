"""CSV: one line a cell, and hostile text stays data."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.formats import format_by_name
from discreet.formats.writers.csv import Dialect, excel_safe_text, quote_fields, safe_text

from .conftest import HOSTILE
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
def test_it_has_a_mark_and_the_separator_and_decimal_sign_of_its_excel(release, name, separator, decimal):
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


def test_its_texts_are_those_of_the_other(hostile):
    point, comma = (format_by_name(name).write(hostile).decode() for name in ("csv-excel-point", "csv-excel"))
    assert "'+1+1" in point
    assert [line.split(",")[0] for line in point.split("\n")[4:7]] == [
        line.split(";")[0] for line in comma.split("\n")[4:7]
    ]
