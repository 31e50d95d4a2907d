"""CSV for Excel: a byte order mark, semicolons, decimal commas, and codes that stay codes."""

import pytest

from discreet.formats import format_by_name, format_of_file
from discreet.formats.csv_excel import excel_safe_text

from .test_formats import decorated


def test_it_has_a_mark_semicolons_and_decimal_commas(release):
    """Wrong alternative: decimal points, which Excel takes for dates where the comma is the decimal sign."""
    data = format_by_name("csv-excel").write(decorated(release))
    assert data.startswith(b"\xef\xbb\xbfage;age_label;job;")
    lines = data.decode("utf-8-sig").splitlines()
    assert all(line.count(";") == lines[0].count(";") for line in lines)
    assert "," in lines[1]
    assert "." not in lines[1]


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


def test_the_tidy_csv_keeps_the_ending():
    assert format_of_file("x.csv").name == "csv"
