"""Lines are counted as an editor counts them."""

import pytest

from discreet.model.file_section import FileOptions
from discreet.records.csv_dialect import find_dialect
from discreet.records.csv_lines import record_lines, torn_line


@pytest.fixture
def opened(tmp_path):
    def make(text):
        path = tmp_path / "x.csv"
        path.write_text(text, "utf-8", newline="")
        return path, find_dialect(path, FileOptions())

    return make


def test_a_record_stands_where_it_begins(opened):
    """The wrong alternative counts records: a value of two lines and an empty line shift it."""
    path, dialect = opened('a,b\n1,"x\ny"\n\n2,z\r\n3,w\n')
    assert record_lines(path, dialect, [3, 1, 2]) == [6, 2, 5]


def test_lines_before_the_header_count(opened):
    path, dialect = opened("sep=;\n\na;b\n1;2\n3;4\n")
    assert record_lines(path, dialect, [1, 2]) == [4, 5]


def test_a_sound_file_has_no_torn_line_and_a_torn_one_is_named(opened):
    assert torn_line(*opened("a,b\n1,2\n3,4\n")) is None
    assert "Line 3 of x.csv has 1 field, and the header has 2" in torn_line(*opened("a,b\n1,2\n3\n")).message
