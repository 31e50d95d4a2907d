"""SDMX-CSV: the columns of version 2.0, and words in the first line only."""

import csv
import io

from discreet.formats import named_format

from .test_formats import decorated


def rows_of(release):
    return list(csv.DictReader(io.StringIO(named_format("sdmx-csv").write(release).decode(), newline="")))


def test_the_columns_stand_in_the_order_of_the_standard(release):
    row = rows_of(decorated(release))[0]
    first = ["STRUCTURE", "STRUCTURE_ID", "ACTION", "age", "job", "sex", "OBS_VALUE", "OBS_STATUS"]
    assert list(row)[:8] == first
    assert list(row)[8:11] == ["SIGNED", "RELATIVE_STANDARD_ERROR", "NOISE_SHARE"]
    assert [row[name] for name in first[:3]] == ["dataflow", "DISCREET:town-age-job-sex(1.0.0)", "I"]


def test_a_withheld_cell_is_q_and_one_that_cannot_occur_is_m(release):
    """Wrong alternative: our own letters, of which SDMX's code list gives z and c no meaning."""
    seen = {row["OBS_STATUS"]: row["OBS_VALUE"] == "" for row in rows_of(decorated(release))}
    assert seen == {"A": False, "Q": True, "M": True, "U": False}


def test_the_words_of_the_table_stand_in_the_first_line_only(release):
    first, *others = rows_of(release)
    assert first["NOTE"] == " ".join(release.notes)
    assert first["DIGEST"] == release.digest
    assert {row["NOTE"] + row["CITATION"] for row in others} == {""}


def test_hostile_codes_stay_fields(hostile):
    assert len(rows_of(hostile)) == hostile.cells
    assert not any(row["word"][0] in "=+@" for row in rows_of(hostile))
