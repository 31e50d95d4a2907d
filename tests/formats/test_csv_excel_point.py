"""CSV for Excel where the point is the decimal sign: the same texts with commas and points."""

from discreet.formats import format_by_name

from .test_formats import decorated


def test_it_has_a_mark_commas_and_decimal_points(release):
    """Wrong alternative: semicolons, which Excel leaves in one column where the comma separates."""
    data = format_by_name("csv-excel-point").write(decorated(release))
    assert data.startswith(b"\xef\xbb\xbfage,age_label,job,")
    lines = data.decode("utf-8-sig").splitlines()
    assert ";" not in "".join(lines)
    assert "." in lines[1]


def test_its_texts_are_those_of_the_other(hostile):
    point, comma = (format_by_name(name).write(hostile).decode() for name in ("csv-excel-point", "csv-excel"))
    assert "'+1+1" in point
    assert [line.split(",")[0] for line in point.split("\n")[4:7]] == [
        line.split(";")[0] for line in comma.split("\n")[4:7]
    ]
