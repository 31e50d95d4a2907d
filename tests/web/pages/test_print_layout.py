"""Parts of a table: pages with every cell once, blocks with the numbers of the whole, and sheets for paper."""

import csv
import io
from itertools import chain

import pytest
from starlette.datastructures import QueryParams

from discreet.errors import BadRequest
from discreet.model.request import request_from_text
from discreet.release.pipeline import release_table
from discreet.web.pages.downloads import SHEET_COLUMNS, column_blocks, print_sheets
from discreet.web.pages.page_request import PAGE_COLUMNS, paginate, read_block
from discreet.web.pages.table_grid import Layout

from ..conftest import Page


@pytest.mark.parametrize("columns", [["district"], ["job", "age"], ["origin", "district"], ["sex"], []])
def test_every_column_stands_on_one_sheet_and_small_groups_stay_together(small_workspace, columns):
    """Wrong: to cut after every eighth column, through the middle of a group."""
    request = request_from_text("people", rows=["region"], columns=columns)
    layout = Layout(release_table(small_workspace.stored("people"), request))
    blocks = column_blocks(layout)
    assert list(chain(*blocks)) == list(range(layout.lengths[1]))
    assert max(map(len, blocks)) <= SHEET_COLUMNS
    inner = layout.axes[1][-1].length if columns else 1
    if inner <= SHEET_COLUMNS:
        assert {block.start % inner for block in blocks} == {0}
    assert [sheet.width for sheet in print_sheets(layout)] == [len(block) for block in blocks]


@pytest.mark.parametrize(
    ("rows", "width"), [(range(7, 107), 3), (range(5), 1234), (range(1), 1), (range(333), 250)]
)
def test_the_pages_of_a_table_have_every_cell_once(rows, width):
    """Wrong: a last row or column that no page shows, or one that two show."""
    pages = paginate(rows, width, 200, 1).pages
    seen = [
        (r, c)
        for page in range(1, pages + 1)
        for here in [paginate(rows, width, 200, page)]
        for r in here.rows
        for c in here.columns
    ]
    assert len(seen) == len(set(seen)) == len(rows) * width
    assert max(len(paginate(rows, width, 200, page).columns) for page in range(1, pages + 1)) <= PAGE_COLUMNS
    with pytest.raises(BadRequest, match="no page"):
        paginate(rows, width, 200, pages + 1)


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


TABLE = "rows=district&columns=age,job&layers=sex"


def numbers(client, query):
    """Value or letter of each cell by its codes, as the CSV has them."""
    lines = csv.DictReader(io.StringIO(client.get(f"/api/datasets/people/table?{query}&format=csv").text))
    names = [name for name in ("district", "age", "job", "sex") if name in query]
    return {
        frozenset(f"{n}={line[n]}" for n in names): line["value"] or f"[{line['status']}]" for line in lines
    }


@pytest.mark.parametrize(
    "view", ["", "&sort=-age=65%2B,job=1&hide_empty=yes", "&percent=row", "&labels=codes"]
)
def test_blocks_have_the_numbers_of_the_download_at_every_cell(client, view):
    """Wrong: a block cut from another table, whose noise or withheld cells would differ."""
    known = numbers(client, TABLE)
    seen = 0
    for first in range(0, 150, 40):
        block = client.get(
            f"/datasets/people/block?{TABLE}&layer=all{view}&from_row={first}&rows_wanted=40&columns_wanted=99"
        ).json()
        for row, cells in zip(block["rows"], block["cells"], strict=True):
            for column, (text, _, _, _) in zip(block["columns"], cells, strict=True):
                codes = frozenset(f"{row['cell']},{column['cell']}".replace("\\", "").split(","))
                assert text.replace(",", "").replace("\N{MINUS SIGN}", "-") == known[codes]
                seen += 1
    assert seen == len(known) or "hide_empty" in view


def test_a_block_refuses_what_the_page_refuses(client):
    for query, status in (("rows=sexx", 400), ("rows=sex,age,job,origin", 403), ("rows=sex&colour=red", 400)):
        assert client.get(f"/datasets/people/block?{query}").status_code == status
        assert client.get(f"/datasets/people/print?{query}").status_code == status


def test_all_sheets_have_every_number_of_the_table_with_its_note_and_citation(client):
    """Wrong: sheets that end with the first page's columns, or show one layer of several."""
    page = Page(client.get(f"/datasets/people/print?{TABLE}"))
    known = numbers(client, TABLE)
    assert sorted(text.replace(",", "") for text in page.texts("td")) == sorted(known.values())
    assert "randomly adjusted" in page.all("p", class_="note")[0]["text"]
    assert "People of Smallville, version 7" in page.all("div", class_="cite")[0]["text"]
