"""A picture as parameters; a theme that there is not is refused."""

import pytest

from discreet.errors import BadRequest
from discreet.model.picture import Picture


def test_only_what_was_asked_for_is_in_the_address():
    assert Picture().to_query() == []
    assert Picture("dots", "dark", 0.9, bare=True).to_query() == [("chart", "dots"), ("theme", "dark")]


def test_an_unknown_theme_names_the_nearest():
    with pytest.raises(BadRequest, match='Did you mean "dark"'):
        Picture(theme="drak")
