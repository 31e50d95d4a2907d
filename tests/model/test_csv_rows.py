"""Small CSV files: read, or refused with what is wrong with them."""

import pytest

from discreet.errors import BadData, NotFound
from discreet.model.csv_rows import parse_rows, read_rows, whole_number


def test_blank_lines_and_a_byte_order_mark_do_not_count(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xef\xbb\xbfa,b\r\n\r\n1,2\r\n")
    assert read_rows(tmp_path / "x.csv") == [["a", "b"], ["1", "2"]]


def test_what_is_no_text_no_csv_or_no_file_is_said(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"\xff\xfea")
    with pytest.raises(BadData, match="not a text file in UTF-8"):
        read_rows(tmp_path / "x.csv")
    with pytest.raises(NotFound, match="no file"):
        read_rows(tmp_path / "none.csv")
    with pytest.raises(BadData, match='Line 2 of "x" is no CSV'):
        parse_rows(["a,b\n", '"' + "y" * 200_000 + "\n"], "x")


@pytest.mark.parametrize("cell", ["", "x", "1.5", "--1", "²", "9" * 30, str(2**53 + 1)])
def test_only_counts_are_whole_numbers(cell):
    assert whole_number(cell) is None
    assert whole_number(str(-(2**53))) == -(2**53)
