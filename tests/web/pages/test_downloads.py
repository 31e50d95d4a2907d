"""The download panel: every link, call and citation asks for the same table, at the public URL."""

import ast
import csv
import io
import re
import shlex
from dataclasses import replace
from html import unescape
from itertools import chain
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import QueryParams

from discreet.errors import BadDescription, BadRequest
from discreet.formats import formats
from discreet.model.request import TableRequest, canonical, request_from_text
from discreet.model.view import View
from discreet.publish.publisher import Limits, plan_publication
from discreet.release.dataset_registry import DatasetRegistry, open_registry
from discreet.release.pipeline import release_table
from discreet.web.context import RequestContext, use_context
from discreet.web.pages.downloads import (
    SHEET_COLUMNS,
    column_blocks,
    command,
    download_panel,
    print_sheets,
    python,
)
from discreet.web.pages.page_request import PAGE_COLUMNS, paginate, read_block
from discreet.web.pages.table_grid import Layout, table_facts
from discreet.web.urls import SiteUrl, file_stem, page_path
from discreet.workspace.versions.label_corrections import relabel_dataset

from ..conftest import Page, client_of, people_description

VIEW = [("percent", "row")]


@pytest.fixture
def keep(small_workspace):
    """What is kept of a table, as a reader of https://x.org/tables sees it."""

    def kept(dataset, *names, version=()):
        service = DatasetRegistry(small_workspace).open(dataset)
        with use_context(RequestContext(site_url=SiteUrl("https://x.org", "/tables"))):
            checked = service.check(TableRequest(dataset, *names))
            return SimpleNamespace(
                **download_panel(checked, VIEW, [], list(version), publisher="Office {of} tables")
            )

    return kept


def test_every_format_of_the_registry_is_a_download_under_one_heading(keep):
    found = keep("people", ("sex",), ("age",)).downloads
    links = [link for _, group in found for link in group]
    assert sorted(form.label for form, _ in links) == sorted(
        form.label for form in formats() if form.installed and not form.is_picture
    )
    by_heading = {heading: {form.label for form, _ in group} for heading, group in found}
    assert "Excel" in by_heading["Spreadsheet"]
    assert {"CSV", "Parquet", "JSON-stat"} <= by_heading["For programs"]
    assert all("percent=row" in href for _, href in links)


def test_code_names_the_public_address_and_never_the_readers_own_machine(keep):
    """Code that opens a folder, or 127.0.0.1, would not work for a reader of a hosted site."""
    codes = dict(keep("people", ("sex",), ("age",)).codes)
    assert set(codes) == {"Python", "R", "Excel (Power Query)", "JavaScript", "curl", "Command line"}
    for text in codes.values():
        assert "https://x.org/tables" in text
        assert "127.0.0.1" not in text
    assert 'discreet.open("https://x.org/tables")' in codes["Python"]
    assert codes["curl"].startswith(
        "curl 'https://x.org/tables/api/datasets/people/table?rows=sex&columns=age&percent=row"
    )


def test_one_link_names_the_version_and_the_other_follows_the_newest(keep, small_workspace):
    digest = DatasetRegistry(small_workspace).open("people").digest[:8]
    found = keep("people", ("sex",), version=[("version", digest)])
    assert found.pinned == f"https://x.org/tables/datasets/people?rows=sex&percent=row&version={digest}"
    assert found.newest == "https://x.org/tables/datasets/people?rows=sex&percent=row"
    assert f"version={digest}" in found.embed


def test_citations_for_programs_survive_labels_that_are_not_text(keep):
    found = dict(keep("hostile", ("bad",), ("good",)).citations)
    assert found["Text"].endswith(found["RIS"].split("UR  - ")[1].split("\n")[0])
    inner = found["BibTeX"].removeprefix("@misc{")
    assert inner.count("{") - inner.count("\\{") + 1 == inner.count("}") - inner.count("\\}")
    assert [line[:6] for line in found["RIS"].split("\n")] == [
        "TY  - ", "TI  - ", "AU  - ", "T2  - ", "ET  - ", "N1  - ", "UR  - ", "ER  - ",
    ]  # fmt: skip
    assert "\nAU  - Office {of} tables\n" in found["RIS"]


def test_the_author_is_the_publisher_and_the_source_is_a_note(small_copy):
    """Wrong alternative: the sentence of the source as the name of an author."""
    relabel_dataset(small_copy, people_description() + '\n[about]\npublisher = "Office of Halvern"\n')
    text = client_of(small_copy).get("/datasets/people?rows=sex").text
    assert "author = {{Office of Halvern}}" in text
    assert "<bdi>AU  - Office of Halvern</bdi>" in text
    assert "note = {{Smallville Statistics}}" in text


DRAFT = "Unchecked draft on this computer: not for publication"
PEOPLE = "people?rows=sex&columns=age"


def test_an_unchecked_draft_is_named_on_every_page_in_notes_and_in_citations(small_copy):
    """Wrong alternative: a banner on the page of the table alone, while files are passed on."""
    pages = [
        "/", "/api", f"/datasets/{PEOPLE}", "/datasets/people?rows=nothing", "/datasets/people/print?rows=sex",
        f"/embed/datasets/{PEOPLE}", "/datasets/people/methodology", "/datasets/people/variables/sex?rows=sex",
    ]  # fmt: skip
    files = [
        f"/api/datasets/people/table?rows=sex&format={name}" for name in ("json", "html", "px", "sdmx-csv")
    ]
    for draft in (True, False):
        relabel_dataset(small_copy, ("unchecked_draft = true\n" if draft else "") + people_description())
        client = client_of(small_copy)
        for path in (*pages, *files):
            assert (DRAFT in client.get(path).text) is draft, path
        citations = client.get("/datasets/people?rows=sex").text
        assert (
            re.search(rf"note = .*{DRAFT}}}}}", citations) is not None,
            re.search(rf"N1  - .*{DRAFT}", citations) is not None,
        ) == (draft, draft)
        german = client.get("/datasets/people?rows=sex&lang=de").text
        assert ("Ungeprüfter Entwurf auf diesem Rechner" in german) is draft


def test_an_unchecked_draft_is_not_published(small_copy):
    relabel_dataset(
        small_copy, "unchecked_draft = true\n" + people_description() + '\n[publish]\nvariables = ["sex"]\n'
    )
    with pytest.raises(BadDescription, match="unchecked draft"):
        plan_publication(open_registry(small_copy), "people", Limits())


def test_the_frame_is_one_element_whose_title_is_escaped(keep):
    found = keep("hostile", ("bad",), ("good",)).frame
    assert found.count("<") == 2
    assert found.endswith("></iframe>")
    titles = re.findall(r' title="([^"]*)"', found)
    assert "<script>alert(2)</script>" in unescape(titles[0])


def test_the_page_shows_them(client):
    page = Page(client.get("/datasets/people?rows=sex&columns=age"))
    assert [e["name"] for e in page.all("details", class_="code")] == ["code"] * 6
    assert all("hidden" in button for button in page.all("button") if "data-copy" in button), (
        "they need scripts"
    )
    assert any(link.get("href", "").endswith("/datasets/people/feed.atom") for link in page.all("a"))


BASE = "https://example.org"
#: What a category may have for a code: anything without blanks at its ends.
CODES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6).filter(
    lambda code: code == code.strip()
)


@given(st.lists(CODES, min_size=1, max_size=3, unique=True))
def test_the_command_line_and_the_python_code_ask_the_same_question(codes):
    request = TableRequest(
        "people",
        ("age",),
        layers=("sex",),
        filters=(("bad", tuple(codes)),),
        groups=(("age", (("1", "2"), ("3",))),),
        totals=False,
    )
    words = shlex.split(command(request, BASE))
    assert "--no-totals" in words
    given_filter = words[words.index("--filter") + 1]
    assert request_from_text("people", filters=[given_filter]).filters == request.filters
    call = ast.parse(python(request, BASE)).body[2].value
    arguments = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert ast.literal_eval(call.args[0]) == "people"
    assert arguments == {
        "rows": ["age"],
        "layers": ["sex"],
        "filters": {"bad": codes},
        "groups": {"age": [["1", "2"], ["3"]]},
        "totals": False,
    }


def test_a_survey_says_that_its_counts_are_not_weighted_and_long_filters_are_cut_short(small_workspace):
    dataset = small_workspace.stored("people").dataset
    request = TableRequest("people", ("sex",))
    assert "Weights" not in dict(table_facts(dataset, request))
    weighted = replace(dataset, weight_column="weight")
    assert dict(table_facts(weighted, request))["Weights"] == "not applied: records are counted"
    many = (("district", tuple(f"D{d:02}" for d in range(1, 11))),)
    only = dict(table_facts(dataset, replace(request, filters=many)))["Only"]
    assert only.endswith("District 8 and 2 more")


def test_names_and_ranges_are_asked_for_again_from_code(small_workspace):
    dataset = small_workspace.stored("people").dataset
    lines = {"groups": ["age=a\\:b:0-14+15-64"], "filters": ["district!=D01"]}
    asked = canonical(request_from_text("people", rows=["age"], **lines), dataset)
    words = shlex.split(command(asked, BASE))
    again = {
        name: [words[words.index(option) + 1]]
        for name, option in (("groups", "--group"), ("filters", "--filter"))
    }
    assert again["filters"] == ["district=D02..D48"]
    assert canonical(request_from_text("people", rows=["age"], **again), dataset) == asked
    call = ast.parse(python(asked, BASE)).body[2].value
    arguments = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert arguments == {"rows": ["age"], **again}
    assert file_stem(asked) == "people-age-selection"


def test_a_view_and_a_version_are_in_every_call():
    asked = TableRequest("people", ("age",), ("sex",))
    also = [
        *View("sex=1,age=_T", rank=True, top=5, hide_empty=True, sort="-value").to_query(),
        ("version", "ab12"),
    ]
    words = shlex.split(command(asked, BASE, also))
    assert words[words.index("--percent") : -2] == [
        "--percent", "sex=1,age=_T", "--rank", "--top", "5", "--hide-empty", "--sort", "-value", "--version", "ab12",
    ]  # fmt: skip
    call = ast.parse(python(asked, BASE, also)).body[2].value
    passed = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert passed == {
        "rows": ["age"], "columns": ["sex"], "percent": "sex=1,age=_T", "rank": True, "top": 5,
        "hide_empty": True, "sort": "-value", "version": "ab12",
    }  # fmt: skip
    query = urlsplit(page_path(asked, also)).query
    assert parse_qsl(query)[2:] == also


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
