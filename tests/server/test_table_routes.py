"""Blocks and sheets over HTTP: the same numbers, the same withheld, and nothing that the table would not show."""

import csv
import io

import pytest

from .conftest import Page

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


def test_a_reader_who_has_a_block_gets_none_again(client):
    address = "/datasets/people/block?rows=district&columns=sex"
    tag = client.get(address).headers["etag"]
    assert client.get(address, headers={"if-none-match": tag}).status_code == 304
    assert client.get(f"{address}&from_row=1", headers={"if-none-match": tag}).status_code == 200


def test_all_sheets_have_every_number_of_the_table_with_its_note_and_citation(client):
    """Wrong: sheets that end with the first page's columns, or show one layer of several."""
    page = Page(client.get(f"/datasets/people/print?{TABLE}"))
    known = numbers(client, TABLE)
    assert sorted(text.replace(",", "") for text in page.texts("td")) == sorted(known.values())
    assert "randomly adjusted" in page.all("p", class_="note")[0]["text"]
    assert "People of Smallville, version 7" in page.all("div", class_="cite")[0]["text"]
