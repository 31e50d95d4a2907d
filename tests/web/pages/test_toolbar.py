"""The links above a table: each leads to the same table with one thing changed."""

from urllib.parse import parse_qs, urlsplit

import pytest

from ..conftest import Page


def links(client, query):
    page = Page(client.get(f"/datasets/people?{query}"))
    return page, {e["text"].strip(): e for e in page.all("a") if "data-live" in e}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "offered"),
    [
        ("rows=age&columns=sex", ["Count", "Row %", "Column %", "Table %"]),
        ("rows=age", ["Count", "Column %"]),
        ("columns=age", ["Count", "Row %"]),
        ("rows=age&columns=sex&totals=no", []),
    ],
)
def test_only_percentages_that_the_table_has_are_offered_and_each_link_works(client, query, offered):
    """Wrong: a link that leads to a refusal, as a percentage of a total that is not there would."""
    _, found = links(client, query)
    assert [text for text in found if text in ("Count", "Row %", "Column %", "Table %")] == offered
    for link in found.values():
        assert client.get(link["href"]).status_code == 200


def test_the_base_of_percentages_is_named(client):
    page, found = links(client, "rows=age&columns=sex&percent=row")
    assert found["Row %"]["aria-current"] == "true"
    assert "aria-current" not in found["Count"]
    assert page.texts("p", class_="base") == ["100 % is the total of each row: all of sex."]


def test_a_header_sorts_down_then_up_then_not_at_all(client):
    def sort_of(link):
        return parse_qs(urlsplit(link["href"]).query).get("sort", [""])[0]

    seen = []
    for sort in ("", "-sex=2", "sex=2"):
        _, found = links(client, f"rows=district&columns=sex&labels=both&page=1&sort={sort}")
        seen.append(sort_of(found["Female (2)"]))
    assert seen == ["-sex=2", "sex=2", ""]
    _, found = links(client, "rows=region,district&columns=sex&totals=no")
    assert "Female" not in found, "no total of the inner variable: nothing to sort by"
    layer = links(client, "rows=region&columns=sex&layers=age&layer=age=65%2B")[1]["Female"]
    assert sort_of(layer) == "-sex=2,age=65\\+"


def test_swapping_turns_the_table_and_what_percentages_are_of(client):
    _, found = links(client, "rows=age&columns=sex&percent=row&sort=-sex=1&hide_empty=yes")
    assert found["Swap"]["href"] == "/datasets/people?rows=sex&columns=age&percent=column&hide_empty=yes"


def test_a_layer_keeps_the_view_and_has_neighbours(client):
    page, found = links(client, "rows=age&columns=sex&layers=origin&layer=origin=2&percent=row&labels=both")
    assert "layer=origin=1" in found["Previous layer"]["href"]
    assert "layer=origin=3" in found["Next layer"]["href"]
    kept = [(e["name"], e["value"]) for e in page.all("input", type="hidden")]
    assert ("percent", "row") in kept
    assert ("labels", "both") in kept
    assert "layer" not in dict(kept)
