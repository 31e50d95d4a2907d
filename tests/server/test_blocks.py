"""Parts of a table: every cell in exactly one page, and every block a part of the whole."""

import pytest
from starlette.datastructures import QueryParams

from discreet.errors import BadRequest
from discreet.server.blocks import PAGE_COLUMNS, part, read_block


@pytest.mark.parametrize(
    ("rows", "width"), [(range(7, 107), 3), (range(5), 1234), (range(1), 1), (range(333), 250)]
)
def test_the_pages_of_a_table_have_every_cell_once(rows, width):
    """Wrong: a last row or column that no page shows, or one that two show."""
    pages = part(rows, width, 200, 1).pages
    seen = [
        (r, c)
        for page in range(1, pages + 1)
        for here in [part(rows, width, 200, page)]
        for r in here.rows
        for c in here.columns
    ]
    assert len(seen) == len(set(seen)) == len(rows) * width
    assert max(len(part(rows, width, 200, page).columns) for page in range(1, pages + 1)) <= PAGE_COLUMNS
    with pytest.raises(BadRequest, match="no page"):
        part(rows, width, 200, pages + 1)


def test_a_block_ends_where_the_table_ends_and_is_never_too_large():
    asked = QueryParams("from_row=8&rows_wanted=50&from_column=2&columns_wanted=50")
    assert read_block(asked, range(100, 110), 4) == (range(108, 110), range(2, 4))
    assert read_block(QueryParams("from_row=50"), range(10), 4)[0] == range(10, 10)
    for wrong in (
        "rows_wanted=5000&columns_wanted=5000",
        "from_row=-1",
        "rows_wanted=0",
        "from_row=x",
        "from_row=1&from_row=2",
    ):
        with pytest.raises(BadRequest):
            read_block(QueryParams(wrong), range(10), 4)
