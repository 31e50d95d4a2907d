"""Tabs of a page: table, chart, map; each picture with its words, and a refusal that says why."""

import pytest

from discreet.formats.standard import PICTURES


@pytest.fixture(scope="module")
def page(client):
    return lambda query: client.get(f"/datasets/people?{query}")


def test_a_chart_stands_on_the_page_with_its_words_and_its_table(page):
    found = page("rows=age&columns=sex&show=chart").text
    assert 'data-chart="pyramid"' in found
    assert 'id="chart-told"' in found
    assert "The largest is" in found
    assert '<table class="grid' in found, "the numbers behind it"
    assert "style=" not in found.partition("<figure")[2].partition("</figure>")[0]
    assert "format=svg" in found
    assert "chart=pyramid&amp;format=svg&amp;download=1" in found


def test_without_show_there_is_the_table_and_a_tab(page):
    found = page("rows=age&columns=sex").text
    assert "<figure" not in found
    assert "show=chart#table" in found
    assert "show=map" not in found, "no boundaries, no map"


def test_a_chart_that_does_not_fit_says_why_and_names_those_that_do(page):
    answer = page("rows=job&columns=sex&show=chart&chart=pyramid")
    assert answer.status_code == 200
    assert "a pyramid needs a variable of numbers" in answer.text
    assert "chart=grouped" in answer.text
    assert "<figure" not in answer.text


@pytest.mark.parametrize(
    ("query", "why"), [("show=pie", "show is"), ("show=chart&chart=pie", "There is no chart")]
)
def test_what_there_is_not_is_refused(page, query, why):
    assert why in page(f"rows=sex&{query}").text


def test_the_state_is_the_address(page):
    """A picture of a view, and the links from it, keep the view."""
    found = page("rows=job&columns=sex&percent=row&show=chart").text
    assert "percent=row&amp;show=chart&amp;chart=stacked" in found
    assert "percent=row#table" in found
    tags = {page(f"rows=sex{more}").headers["etag"] for more in ("", "&show=chart", "&show=chart&chart=dots")}
    assert len(tags) == 3


def test_without_the_extra_the_page_says_so_and_has_no_tab(page, monkeypatch):
    monkeypatch.setattr(type(PICTURES), "missing", ["altair"])
    found = page("rows=job&columns=sex&show=chart").text
    assert "Charts and maps are not installed on this server." in found
    assert 'class="tabs"' not in found


def test_hostile_labels_stay_text_in_the_page(client):
    found = client.get("/datasets/hostile?rows=bad&columns=good&show=chart&chart=grouped").text
    assert "<script>alert" not in found
    assert "&lt;script&gt;alert(&#39;label&#39;)" in found or "&lt;script&gt;alert('label')" in found


def test_the_api_draws_and_refuses(client):
    asked = "/api/datasets/people/table?rows=age&columns=sex&format="
    assert client.get(f"{asked}svg&chart=lines").headers["content-type"].startswith("image/svg+xml")
    assert client.get(f"{asked}png&theme=dark").content.startswith(b"\x89PNG")
    refused = client.get(f"{asked}svg&chart=map").json()
    assert "has boundaries" in refused["detail"]
    assert client.get(f"{asked}csv&chart=bars").json()["advice"].startswith("Add format=svg")
    assert client.get(f"{asked}svg&chart=bars&theme=pink").status_code == 400
