"""SVG among the formats: the picture that the release names; a table that fits no chart is refused."""

from dataclasses import replace

import pytest

from discreet.errors import BadRequest
from discreet.formats import format_by_name
from discreet.model.view import Picture


def test_the_release_names_its_picture(release):
    one = replace(release, picture=Picture("multiples"))
    assert b'data-chart="multiples"' in format_by_name("svg").write(one)
    assert format_by_name("svg").write(release) == format_by_name("svg").write(one), "it is what fits best"
    with pytest.raises(BadRequest, match='does not fit the chart "bars"'):
        next(format_by_name("svg").stream(replace(release, picture=Picture("bars"))))


def test_the_note_and_the_version_are_on_it_and_what_is_withheld_is_not(release):
    status = release.status.copy()
    status[0, 0, 0] = 1
    values = release.values.copy()
    values[0, 0, 0] = 918273645
    text = format_by_name("svg").write(replace(release, values=values, status=status)).decode()
    assert "randomly adjusted" in text
    assert release.digest[:8] in text
    assert "918" not in text.replace(release.digest[:8], "")
    assert "918,273,645" in format_by_name("svg").write(replace(release, values=values)).decode()
