"""SDMX-CSV: the columns of version 2.0, and words in the first line only."""

import csv
import io
from dataclasses import replace

from discreet.formats import format_by_name
from discreet.formats.sdmx_csv import sdmx_csv
from discreet.model.sdmx import dataset_flow, sdmx_id

from .test_formats import decorated


def rows_of(release):
    return list(csv.DictReader(io.StringIO(format_by_name("sdmx-csv").write(release).decode(), newline="")))


def test_the_columns_stand_in_the_order_of_the_standard(release):
    row = rows_of(decorated(release))[0]
    first = ["STRUCTURE", "STRUCTURE_ID", "ACTION", "age", "job", "sex", "OBS_VALUE", "OBS_STATUS"]
    assert list(row)[:8] == first
    assert list(row)[8:12] == ["CONF_STATUS", "SIGNED", "RELATIVE_STANDARD_ERROR", "NOISE_SHARE"]
    assert [row[name] for name in first[:3]] == ["dataflow", "DISCREET:town-age-job-sex(1.0.0)", "I"]


def test_a_withheld_cell_is_q_and_one_that_cannot_occur_is_m(release):
    """Wrong alternative: our own letters, of which SDMX's code list gives z and c no meaning."""
    rows = rows_of(decorated(release))
    assert {row["OBS_STATUS"]: row["OBS_VALUE"] == "" for row in rows} == {
        "A": False,
        "Q": True,
        "M": True,
        "U": False,
    }
    assert {row["OBS_STATUS"]: row["CONF_STATUS"] for row in rows} == {"A": "F", "Q": "C", "M": "F", "U": "F"}


def test_the_words_of_the_table_stand_in_the_first_line_only(release):
    first, *others = rows_of(release)
    assert first["NOTE"] == " ".join(release.notes)
    assert first["DIGEST"] == release.digest
    assert {row["NOTE"] + row["CITATION"] for row in others} == {""}


def test_hostile_codes_are_ids_and_hostile_words_are_one_line(hostile):
    """Wrong alternative: a quoted line end, at which sdmx1 breaks the line."""
    data = format_by_name("sdmx-csv").write(replace(hostile, notes=("two\nlines\u2028three", "=1+1")))
    assert len(data.decode().splitlines()) == hostile.cells + 1
    rows = list(csv.DictReader(io.StringIO(data.decode(), newline="")))
    assert [row["word"] for row in rows] == [sdmx_id(code) for code in hostile.dimensions[0].codes]
    assert rows[0]["NOTE"] == "two lines three =1+1"


def test_dimensions_that_a_table_does_not_have_are_totals(release):
    flow = dataset_flow(release.dataset)
    rows = list(csv.DictReader(io.StringIO(b"".join(sdmx_csv(release, flow)).decode(), newline="")))
    assert list(rows[0])[3:8] == ["region", "area", "sex", "age", "job"]
    assert {(row["region"], row["area"]) for row in rows} == {("_T", "_T")}
    assert rows[0]["STRUCTURE_ID"] == "DISCREET:town(1.0.0)"
    assert [row["age"] for row in rows] == [row["age"] for row in rows_of(release)]
