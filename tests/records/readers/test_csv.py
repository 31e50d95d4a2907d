"""CSV files: the dialect is detected from the header and all bytes, lines count as in an editor, codes stay text."""

import gzip

import pytest

from discreet.errors import BadData
from discreet.model import limits
from discreet.model.description.sections import FileOptions
from discreet.records.readers.csv import BLOCK, find_dialect, record_lines


@pytest.fixture
def found(tmp_path):
    def find(data, **options):
        path = tmp_path / "x.csv"
        path.write_bytes(data)
        return find_dialect(path, FileOptions(**options))

    return find


def test_letters_after_the_sample_count(found):
    """The wrong alternative looks at the first lines only, and takes the file for UTF-8."""
    assert found(b"id,place\n" + b"1,x\n" * 200_000 + "2,Köln\n".encode("cp1252")).encoding == "cp1252"


def test_signs_between_letters_are_central_european(found):
    assert found("id;miasto\n1;Łódź małe\n2;Ustrzyki\n3;Białystok".encode("cp1250")).encoding == "cp1250"


def test_one_damaged_letter_does_not_make_utf_8_another_encoding(found):
    good = "id,place\n1,Île-de-France\n2,Zürich\n".encode()
    assert found(good + b"3,K\xf6ln\n").encoding == "utf-8"


@pytest.mark.parametrize(
    ("data", "delimiter", "decimal"),
    [
        (b"a;b\n1,5;2\n", ";", ","),
        (b"a;b\n1.5;2,5\n", ";", "."),
        (b'"x;y;z",b\n1,2\n', ",", "."),
        (b"a\n1\n", ",", "."),
        (b"sep=|\na|b\n", "|", "."),
    ],
)
def test_separators_and_decimal_signs(data, delimiter, decimal, found):
    dialect = found(data)
    assert (dialect.delimiter, dialect.decimal) == (delimiter, decimal)


def test_what_is_named_is_taken(found):
    dialect = found(b"a;b,c\n1;2,3\n", delimiter=",", decimal=",")
    assert dialect.names == ("a;b", "c")
    assert dialect.decimal == ","


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b" \n \n", "is empty"),
        (b",,\n1,2,3\n", "no header line"),
        ("place\nМосква\n".encode("cp1251"), "Name its encoding"),
    ],
)
def test_a_file_without_a_dialect_says_why(data, words, found):
    with pytest.raises(BadData, match=words) as refused:
        found(data)
    assert refused.value.advice


@pytest.fixture
def written(tmp_path):
    def make(text):
        path = tmp_path / "x.csv"
        path.write_text(text, "utf-8", newline="")
        return path, find_dialect(path, FileOptions())

    return make


def test_a_record_stands_where_it_begins(written):
    """The wrong alternative counts records: a value of two lines and an empty line shift it."""
    path, dialect = written('a,b\n1,"x\ny"\n\n2,z\r\n3,w\n')
    assert record_lines(path, dialect, [3, 1, 2]) == [6, 2, 5]


def test_lines_before_the_header_count(written):
    path, dialect = written("sep=;\n\na;b\n1;2\n3;4\n")
    assert record_lines(path, dialect, [1, 2]) == [4, 5]


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


@pytest.mark.parametrize("encoding", ["", "utf-8"])
def test_a_file_that_unpacks_to_far_more_than_its_size_is_refused(opened, tmp_path, monkeypatch, encoding):
    monkeypatch.setattr(limits, "MOST_UNPACKED_BYTES", 1 << 20)
    text = b"a,b\n" + b"1,2\n" * 600_000
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(text))
    with pytest.raises(BadData, match=r"x\.csv\.gz unpacks to more than 200 times its size"):
        opened(tmp_path / "x.csv.gz", FileOptions(encoding=encoding))
    (tmp_path / "x.csv").write_bytes(text)
    assert opened(tmp_path / "x.csv").relation.count("*").fetchall() == [(600_000,)]


@pytest.mark.parametrize("end", ["\n", "", "\r\n7,8\n"])
@pytest.mark.parametrize("encoding", ["", "cp1252"])
def test_a_line_that_duckdb_leaves_out_is_refused(opened, tmp_path, monkeypatch, end, encoding):
    """The last record of a file vanished without a word if it had 40 MB."""
    monkeypatch.setattr(limits, "LONGEST_LINE", 2 * BLOCK)
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n5," + "z" * (2 * BLOCK + 9) + end)
    with pytest.raises(BadData, match="a line of more than 2,097,152 bytes"):
        opened(path, FileOptions(encoding=encoding))


def test_a_first_line_that_is_longer_than_the_sample_is_refused(opened, tmp_path):
    (tmp_path / "x.csv").write_text("a," + "b" * limits.LONGEST_HEADER + "\n1,2\n")
    with pytest.raises(BadData, match=r"The first line of x\.csv has more than 262,144 characters"):
        opened(tmp_path / "x.csv")
