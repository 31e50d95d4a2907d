"""CSV files come as text, in the order of their lines."""

import pytest

from discreet.errors import BadData
from discreet.model.file_section import FileOptions
from discreet.records.readers.csv import BLOCK


def test_codes_keep_their_zeros_and_the_dialect_is_told(opened, tmp_path):
    (tmp_path / "x.csv").write_bytes("code;größe\n01;1,5\n".encode("cp1252"))
    source = opened(tmp_path / "x.csv")
    assert source.relation.fetchall() == [("01", "1,5")]
    assert source.found == FileOptions("cp1252", ";", ",")
    assert source.unit == "line"


def test_a_copy_keeps_line_ends_that_fall_between_two_blocks(opened, tmp_path):
    """The wrong alternative makes two line ends of one that is cut."""
    lines = ["é,b", *(["1,2"] * 10), "x" * (BLOCK - 63) + ",y", "3,4"]
    text = "\r\n".join(lines)
    assert text[BLOCK - 1 : BLOCK + 1] == "\r\n" or "\r\n" in text[BLOCK - 40 : BLOCK + 40]
    for shift in range(6):
        (tmp_path / "x.csv").write_bytes(("\n" * shift + text).encode("cp1252"))
        assert len(opened(tmp_path / "x.csv").relation.fetchall()) == 12
        (tmp_path / "aside" / "source.csv").unlink()


def test_a_named_encoding_that_does_not_fit_is_refused(opened, tmp_path):
    (tmp_path / "x.csv").write_bytes("a,b\n1,é\n".encode("cp1252"))
    with pytest.raises(BadData, match="not ascii"):
        opened(tmp_path / "x.csv", FileOptions("ascii"))
