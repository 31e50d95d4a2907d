"""How a page is read: words of its address."""

import pytest
from starlette.datastructures import QueryParams

from discreet.api.server_url import split_query
from discreet.errors import BadRequest
from discreet.model.view import READING_PARAMETERS
from discreet.web.pages.page_request import DisplayOptions, read_display_options


def test_what_is_read_is_written_the_same_and_what_says_nothing_is_left_out():
    reading = DisplayOptions("both", "region=R1", 3, "chart", "bars")
    assert tuple(dict(reading.to_query())) == READING_PARAMETERS
    assert read_display_options(QueryParams(reading.to_query())) == reading
    assert read_display_options(QueryParams("")).to_query() == []


@pytest.mark.parametrize(
    "wrong", ["labels=code", "page=0", "page=-1", "page=two", "page=1&page=2", "page=99999999999", "show=pie"]
)
def test_what_means_nothing_is_refused(wrong):
    with pytest.raises(BadRequest):
        read_display_options(QueryParams(wrong))


def test_the_address_of_a_page_asks_for_the_same_table_elsewhere():
    """Wrong: to refuse a page's address on the command line because of how the page was read."""
    assert split_query("rows=sex&labels=codes&layer=age=a&page=2")[0] == "rows=sex"
