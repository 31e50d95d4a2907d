"""A release laid out for the eye: headers, layers, statuses and their legend."""

import pytest

from .conftest import Page


def test_headers_of_two_levels_span_what_stands_below_them(client):
    page = Page(client.get("/datasets/people?rows=region,sex&columns=origin,age"))
    outer = [e for e in page.all("th", scope="colgroup") if e.get("class") != "axis"]
    assert [e["colspan"] for e in outer] == ["4"] * 5
    assert page.all("th", class_="axis")[0]["colspan"] == "20"
    assert page.all("th", class_="corner")[0]["rowspan"] == "3"
    assert page.texts("th", scope="rowgroup") == ["North", "South", "Total"]
    assert {e["colspan"] for e in page.all("th", scope="rowgroup")} == {"21"}
    assert len(page.all("tbody")) == 3
    assert len(page.all("th", scope="row")) == 9
    assert len(page.all("td")) == 9 * 20
    assert len(page.all("th", scope="col")) == 20 + 1


def test_every_layer_is_a_table_with_a_link_to_it(client):
    page = Page(client.get("/datasets/people?rows=sex&columns=age&layers=region"))
    assert len(page.all("table")) == 3
    anchors = [e["id"] for e in page.all("h3", class_="layer")]
    assert [f"#{anchor}" for anchor in anchors] == [
        e["href"] for e in page.all("a") if e["href"].startswith("#layer")
    ]
    values = client.get("/api/datasets/people/table?rows=sex&columns=age&layers=region").json()["value"]
    shown = [int(text.replace(",", "")) for text in page.texts("td")]
    assert shown == [values[cell * 3 + layer] for layer in range(3) for cell in range(12)]


@pytest.mark.parametrize("query", ["rows=sex", "columns=sex", "layers=sex", "rows=region,age,sex"])
def test_any_number_of_variables_on_any_axis_can_be_shown(client, query):
    page = Page(client.get(f"/datasets/people?{query}"))
    cells = len(client.get(f"/api/datasets/people/table?{query}").json()["value"])
    assert len(page.all("td")) == cells


def test_statuses_are_shown_with_a_legend_only_where_they_occur(client):
    with_zeros = Page(client.get("/datasets/people?rows=age&columns=job"))
    assert with_zeros.texts("td", class_="s") == ["[z]", "[z]"]
    assert "Not applicable: cannot occur" in with_zeros.texts("dd")
    assert "[z]" not in client.get("/datasets/people?rows=age&columns=sex").text
