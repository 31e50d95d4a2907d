"""The wide table is listed in every format, and what is told of it adds up; no time is asserted."""

import pytest

from discreet_studies.bench.part import Wish
from discreet_studies.bench.wide import FORMATS, PART, measure


@pytest.mark.slow
def test_every_format_is_told():
    found = list(measure(Wish((2_000,), 1, say=lambda _text: None)))
    assert [line["format"] for line in found] == list(FORMATS)
    for line in found:
        assert line["cells"] > line["listed"] > 0
        assert line["file_mb"] >= 0
        assert line["peak_mb"] > 0
        assert all(column(line) for column in PART.columns.values())
