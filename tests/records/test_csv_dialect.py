"""The dialect is found from the header and from all bytes; what cannot be found must be named."""

import pytest

from discreet.errors import BadData
from discreet.model.file_section import FileOptions
from discreet.records.csv_dialect import find_dialect


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
