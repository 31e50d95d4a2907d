"""A view is a value of its own: read once, written the same, no part of the question.

A picture as parameters; a theme that there is not is refused.
"""

import pytest

from discreet.errors import BadRequest
from discreet.model.view import NO_VIEW, VIEW_PARAMETERS, Picture, View, read_top


def test_a_view_is_written_as_parameters_and_an_empty_one_as_none():
    view = View("sex=1", rank=True, top=3, hide_empty=True, sort="-sex=1")
    assert dict(view.to_query()) == dict(
        zip(VIEW_PARAMETERS, ("sex=1", "yes", "3", "yes", "-sex=1"), strict=True)
    )
    assert (bool(view), bool(NO_VIEW), NO_VIEW.to_query()) == (True, False, [])


@pytest.mark.parametrize(
    "wrong",
    [{"percent": "rows"}, {"top": -1}, {"top": True}, {"top": 1.5}, {"sort": "lable"}, {"sort": "--"}],
)
def test_what_is_no_view_is_refused_with_advice(wrong):
    with pytest.raises(BadRequest) as refused:
        View(**wrong)
    assert refused.value.advice


def test_the_nearest_base_is_named():
    with pytest.raises(BadRequest, match="columns") as refused:
        View("columns")
    assert "column" in refused.value.advice
    assert "sex=1" in refused.value.advice


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "ten", "\u0663", "1e3", "9" * 5000])
def test_a_number_of_rows_is_a_whole_number_above_zero(text):
    with pytest.raises(BadRequest):
        read_top(text)
    assert (read_top("10"), read_top("")) == (10, 0)


def test_only_what_was_asked_for_is_in_the_address():
    assert Picture().to_query() == []
    assert Picture("dots", "dark", 0.9, bare=True).to_query() == [("chart", "dots"), ("theme", "dark")]


def test_an_unknown_theme_names_the_nearest():
    with pytest.raises(BadRequest, match='Did you mean "dark"'):
        Picture(theme="drak")
