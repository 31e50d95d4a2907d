"""The page of a table: what it says, how much is drawn at once, what a refusal shows, and what links keep."""

import pytest
from fastapi.testclient import TestClient
from starlette.datastructures import QueryParams

from discreet.model.messages.text import message
from discreet.release import notes
from discreet.release.dataset_registry import open_registry
from discreet.release.load_cautions import load_with_cautions
from discreet.web.app import create_app
from discreet.web.pages.page_request import link_parameters
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import LoadJob

from ..conftest import Page, people_description, people_records
from .helpers import chosen


def test_the_note_is_said_in_a_sentence_and_the_rest_of_it_is_one_click_away(client):
    page = Page(client.get("/datasets/people?rows=sex&columns=age"))
    summary = next(" ".join(e["text"].split()) for e in page.all("summary") if "Note." in e["text"])
    assert summary.startswith("Note. Counts in this table have been randomly adjusted")
    assert "within ±" in summary
    assert "Totals are adjusted separately" not in summary
    (details,) = page.all("details", class_="note")
    assert "Totals are adjusted separately" in details["text"]
    assert "differentially private" not in details["text"]
    (promise,) = [e for e in page.all("details", class_="more") if "How this table is protected" in e["text"]]
    assert "open" not in promise
    assert "differentially private" in promise["text"]


def test_a_note_is_not_cut_inside_an_abbreviation(client, monkeypatch):
    """Wrong: to split the note at ". ", which ends the first sentence at "e.g."."""
    said = message("Counts, e.g. those of small areas, have been randomly adjusted.")
    monkeypatch.setitem(notes._NOISE, "cellkey", said)
    page = Page(client.get("/datasets/people?rows=job&columns=origin&totals=no"))
    summary = next(" ".join(e["text"].split()) for e in page.all("summary") if "Note." in e["text"])
    assert summary.startswith(f"Note. {said}")
    assert "Do not rely on small counts" not in summary


def test_a_table_is_drawn_whole_up_to_the_limit_and_in_parts_beyond_it(client):
    """The fixture draws 1,000 cells at once. Wrong: to decide by the whole table where one layer is shown."""
    whole = Page(client.get("/datasets/people?rows=district&columns=age,job"))
    assert not whole.all("nav", class_="pager")
    assert len([e for e in whole.all("div") if e.get("data-module") == "windowed"]) == 0
    layered = "/datasets/people?rows=district&columns=age,origin&layers=region"
    assert not Page(client.get(layered)).all("nav", class_="pager")
    stacked = Page(client.get(f"{layered}&layer=all"))
    assert len(stacked.all("nav", class_="pager")) == 1
    (region,) = [e for e in stacked.all("div") if e.get("data-module") == "windowed"]
    assert (region["data-rows"], region["data-columns"]) == (str(49 * 3), "20")
    assert len(stacked.all("td")) == 1000


def test_wide_tables_have_sheets_for_paper_with_every_column(client):
    page = Page(client.get("/datasets/people?rows=sex&columns=district"))
    assert len(page.all("section", class_="sheet")) == 7
    assert not Page(client.get("/datasets/people?rows=district&columns=sex")).all("section", class_="sheet")


def test_without_a_choice_the_first_two_variables_beside_geography_are_shown(client):
    page = Page(client.get("/datasets/people"))
    assert chosen(page) == ["age", "", "sex", "", "", "", ""]
    assert page.texts("h2")[-1] == "Persons by age and sex"
    assert page.texts("th", scope="row") == ["0-14 years", "15-64 years", "65+ years", "Total"]


def test_the_page_shows_what_the_api_releases(client):
    page = Page(client.get("/datasets/people?rows=origin&columns=sex"))
    values = client.get("/api/datasets/people/table?rows=origin&columns=sex").json()["value"]
    assert [int(text.replace(",", "")) for text in page.texts("td")] == values


def test_regions_that_scroll_can_be_reached_and_are_named(client):
    page = Page(client.get("/datasets/people?rows=sex&layers=region&layer=all"))
    regions = page.all("div", role="region")
    assert [e["aria-label"] for e in regions] == [
        f"Persons by sex and region: {r}" for r in ("North", "South", "Total")
    ]
    assert {e["tabindex"] for e in regions} == {"0"}


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("rows=sex&columns=agee", 400, "Did you mean &#34;age&#34;?"),
        ("rows=sex&rows=&filter.district=D99", 400, "has no category &#39;D99&#39;"),
        ("rows=sex&colour=red", 400, "There is no parameter &#34;colour&#34; here."),
        ("rows=sex,age,job,origin", 403, "at most 3 may be combined"),
        ("rows=district,region,sex&columns=age,job", 403, "at most 5,000 are released at a time"),
        ("rows=sex%5C", 400, "lone backslash"),
        ("rows=sex&filter=age", 400, "cannot be read"),
    ],
)
def test_a_refusal_is_a_friendly_box_and_the_form_stays_filled_in(client, query, status, words):
    response = client.get(f"/datasets/people?{query}")
    assert response.status_code == status
    assert words in response.text
    assert response.headers["cache-control"] == "no-store"
    page = Page(response)
    assert page.all("p", role="alert")
    assert not page.all("table")
    if query.startswith("rows=sex&"):
        assert chosen(page)[0] == "sex"


def test_a_table_beyond_the_page_is_counted_once_for_all_its_parts(watched, watched_client):
    """Wrong: to count the table anew for every part, or to offer its download only."""
    address = "/datasets/people?rows=district&columns=origin,age,region"
    first = watched_client.get(address)
    assert "Part 1 of 4" in first.text
    assert "Part 4 of 4" in watched_client.get(f"{address}&page=4").text
    assert watched_client.get(address.replace("people?", "people/block?")).status_code == 200
    assert watched.engines["people"].calls == 1
    assert watched_client.get(f"{address}&page=5").status_code == 400


def test_a_hostile_host_is_text_too(client):
    response = client.get("/datasets/people?rows=sex", headers={"host": 'x"><script>alert(1)</script>'})
    assert response.status_code == 421
    assert [e["text"] for e in Page(response).all("script")] == [""]


def test_a_link_with_a_tracking_parameter_still_leads_to_the_landing_page(client):
    assert client.get("/?utm_source=letter").status_code == 200


STRICT = """
[[rule]]
kind = "mean-cell-size"
least = 1000000
"""


@pytest.mark.slow
def test_a_large_table_that_a_rule_on_counts_refuses_is_shown_in_no_part(tmp_path):
    query = "rows=district&columns=age,job"
    load_with_cautions(LoadJob(tmp_path, people_description() + STRICT, people_records()))
    strict = TestClient(create_app(open_registry(tmp_path), read_options(tmp_path, page_cells=100)))
    for what in (
        "/api/datasets/people/table",
        "/datasets/people",
        "/datasets/people/block",
        "/datasets/people/print",
    ):
        refused = strict.get(f"{what}?{query}")
        assert refused.status_code == 403
        assert "Download" not in refused.text


def test_a_view_is_on_the_page_in_its_links_and_in_its_form(client):
    address = "rows=origin&columns=sex"
    document = client.get(f"/api/datasets/people/table?{address}&percent=row").json()
    response = client.get(f"/datasets/people?{address}&percent=row&rank=yes&hide_empty=yes")
    text = response.text
    first = next(p for p in document["extension"]["percent"] if p is not None)
    assert f"<small>{first} %</small>" in text
    assert "Percent of the row total" in text
    assert '<option value="row" selected>' in text
    assert 'name="hide_empty" value="yes" checked' in text
    assert "percent=row&amp;rank=yes&amp;hide_empty=yes&amp;format=csv" in text, "downloads"
    assert "--percent row --rank --hide-empty" in text
    assert "percent=&#34;row&#34;, rank=True, hide_empty=True" in text
    sent = client.get(f"/datasets/people?{address}&columns=&percent=row&top=", follow_redirects=False)
    assert sent.headers["location"] == f"/datasets/people?{address}&percent=row#table"


@pytest.mark.parametrize(
    "view", ["percent=rows", "top=x", "rank=maybe", "percent=column&columns=sex", "percent=sex=9"]
)
def test_a_view_that_cannot_be_shown_is_refused_alike_on_the_page_and_in_the_api(client, view):
    axes = "" if "columns" in view else "rows=sex&"
    page, api = (
        client.get(f"{path}?{axes}{view}") for path in ("/datasets/people", "/api/datasets/people/table")
    )
    assert (page.status_code, api.status_code) == (400, 400)
    assert api.json()["advice"]


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
