"""The form of a page: filled in from the address, and sent as the clean permalink."""

import itertools
from urllib.parse import parse_qsl, urlsplit

from .conftest import Page


def chosen(page):
    """What each select shows, in order."""
    position = [i for i, e in enumerate(page.elements) if e["tag"] == "select"] + [len(page.elements)]
    return [
        next((e["value"] for e in page.elements[a:b] if e["tag"] == "option" and "selected" in e), "")
        for a, b in itertools.pairwise(position)
    ]


def hidden(page):
    """What the form sends beside its fields."""
    return [(e["name"], e["value"]) for e in page.all("input", type="hidden")]


def test_the_form_is_filled_in_from_the_address(client):
    query = "rows=age&columns=sex&layers=region&filter=origin=2,3&group=age=0-14%2B15-64&totals=no"
    page = Page(client.get(f"/datasets/people?{query}"))
    assert chosen(page) == ["age", "", "sex", "", "region", "", "", "", "region=R1"]
    assert hidden(page)[:2] == [("filter", "origin=2,3"), ("group", "age=0-14+15-64")]
    ticked = [e["value"] for e in page.all("input", type="checkbox") if "checked" in e]
    assert ticked == ["no"]


def test_what_the_form_sends_becomes_the_clean_permalink(client):
    sent = [
        ("rows", "sex"), ("rows", ""), ("columns", "age"), ("columns", ""), ("layers", ""),
        ("filter", "origin=3"), ("filter", "origin=2"), ("filter.district", "D01, district 2"), ("search", "d"),
        ("group", "job=1+2"), ("levels", "district=region"),
    ]  # fmt: skip
    response = client.get("/datasets/people", params=sent, follow_redirects=False)
    assert (response.status_code, response.headers["cache-control"]) == (303, "no-store")
    target = urlsplit(response.headers["location"])
    assert (target.path, target.fragment) == ("/datasets/people", "table")
    assert parse_qsl(target.query) == [
        ("rows", "sex"), ("columns", "age"), ("filter", "district=D01,D02"), ("filter", "origin=2,3"),
    ]  # fmt: skip
    page = Page(client.get(response.headers["location"]))
    assert "District: District 1, District 2" in page.texts("a", id="only-district")


def test_a_form_with_nothing_chosen_shows_the_default_table(client):
    response = client.get("/datasets/people?rows=&columns=&layers=", follow_redirects=False)
    assert response.headers["location"] == "/datasets/people?rows=age&columns=sex#table"


def test_a_mistyped_line_of_codes_is_kept_to_be_mended(client):
    page = Page(client.get("/datasets/people?rows=sex&filter.district=D01,D99"))
    assert page.texts("a", id="only-district") == ["District: D01, D99"]
    picker = Page(client.get(page.all("a", id="only-district")[0]["href"]))
    assert [e["value"] for e in picker.all("input", type="checkbox") if "checked" in e] == ["district=D01"]
    assert "D99" in picker.texts("p", role="alert")[0]


def test_a_hostile_category_can_be_filtered_by_its_box(client):
    page = Page(client.get("/datasets/hostile/variables/bad?rows=good"))
    box = next(e["value"] for e in page.all("input", type="checkbox") if e["value"].startswith("bad=a"))
    filtered = Page(client.get("/datasets/hostile", params={"rows": "good", "filter": box}))
    assert hidden(filtered) == [("filter", box)]


def test_of_a_wrong_address_as_much_is_kept_as_can_be_read(client):
    """A form that fell back to the default table would lose the reader's choice."""
    page = Page(client.get("/datasets/people?rows=job,nothing&columns=sex%5C&filter=age&filter=origin=2"))
    assert chosen(page)[:2] == ["job", ""]
    assert hidden(page) == [("filter", "origin=2")]
