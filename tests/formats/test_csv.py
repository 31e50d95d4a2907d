"""CSV: one line a cell, and hostile text stays data."""

import csv
import io

import duckdb
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from discreet.formats import format_by_name
from discreet.formats.csv import Dialect, quote_fields, safe_text

from .conftest import HOSTILE


def rows_of(release):
    return list(csv.DictReader(io.StringIO(format_by_name("csv").write(release).decode(), newline="")))


def test_csv_has_one_line_a_cell_with_codes_labels_value_and_status(release):
    rows = rows_of(release)
    assert list(rows[0]) == ["age", "age_label", "job", "job_label", "sex", "sex_label", "value", "status"]
    assert len(rows) == release.cells
    for row in rows:
        value = release.value(row["age"], row["job"], row["sex"])
        assert row["value"] == ("" if value is None else str(value))
        assert row["status"] == ("z" if value is None else "")
    assert rows[-1]["age"] == "_T"
    assert rows[-1]["age_label"] == "Total"


def test_csv_keeps_hostile_text_as_data(hostile):
    rows = rows_of(hostile)
    assert [row["word"].lstrip("'") for row in rows[:-1]] == [code.lstrip("'") for code in HOSTILE.values()]
    for row in rows:
        assert row["word"][0] not in "=+@\t\r"
        assert row["word_label"][0] not in "=+@\t\r"


def test_numbers_and_ranges_are_not_taken_for_formulas():
    assert [safe_text(text) for text in ("-5", "-1.5", "5-9", "-5-9")] == ["-5", "-1.5", "5-9", "-5-9"]
    assert [safe_text(text)[0] for text in ("-a", "=1", "+1", "@x", "\tx", "\rx")] == ["'"] * 6


def test_duckdb_and_polars_read_it(release, tmp_path):
    file = tmp_path / "table.csv"
    file.write_bytes(format_by_name("csv").write(release))
    (total,) = duckdb.sql(f"select sum(value) from '{file}'").fetchall()[0]
    assert total == pl.read_csv(file)["value"].sum() == release.values[~release.missing].sum()


@given(st.text(st.sampled_from("aé0 .;,\t\"'()/-+\n\r"), max_size=6), st.sampled_from(",; \t"))
def test_a_field_is_what_pythons_writer_makes_of_it(text, separator):
    """The wrong alternative: to leave a text as it is that has the separator or a quote in it."""
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator="\r\n").writerow([text, ""])
    (field,) = quote_fields((text,), Dialect(separator, safe=str)).to_pylist()
    assert f"{field}{separator}\r\n" == line.getvalue()
