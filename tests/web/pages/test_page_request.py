"""The request of a page is parsed once, and links to other tables keep what still has a meaning."""

import pytest
from starlette.datastructures import QueryParams

from discreet.web.pages.page_request import link_parameters


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("percent=row&sort=-value&version=7&labels=codes", "percent=row&sort=-value&labels=codes&version=7"),
        ("percent=sex=1&sort=-sex=1&rank=yes", "rank=yes"),
        ("layer=sex=1&page=3&show=chart&chart=bars", "show=chart"),
    ],
)
def test_links_to_other_tables_drop_what_names_a_cell_of_this_one(query, kept):
    assert "&".join(map("=".join, link_parameters(QueryParams(query)))) == kept
