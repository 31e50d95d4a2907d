"""SVG among the formats: the picture that the release names; a table that fits no chart is refused."""

from dataclasses import replace

import pytest

from discreet.errors import BadRequest
from discreet.formats import named_format
from discreet.model.picture import Picture


def test_the_release_names_its_picture(release):
    one = replace(release, picture=Picture("multiples"))
    assert b'data-chart="multiples"' in named_format("svg").write(one)
    assert named_format("svg").write(release) == named_format("svg").write(one), "it is what fits best"
    with pytest.raises(BadRequest, match='does not fit the chart "bars"'):
        next(named_format("svg").stream(replace(release, picture=Picture("bars"))))


def test_the_note_and_the_version_are_on_it_and_what_is_withheld_is_not(release):
    status = release.status.copy()
    status[0, 0, 0] = 1
    values = release.values.copy()
    values[0, 0, 0] = 918273645
    text = named_format("svg").write(replace(release, values=values, status=status)).decode()
    assert "randomly adjusted" in text
    assert release.digest[:8] in text
    assert "918" not in text.replace(release.digest[:8], "")
    assert "918,273,645" in named_format("svg").write(replace(release, values=values)).decode()
