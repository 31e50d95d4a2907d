"""A release laid out for the eye: headers, layers, statuses and their legend."""

import pytest

from discreet.answer.pipeline import release_table
from discreet.model.request import request_from_text
from discreet.server.grid import Layout, headers

from .conftest import Page


def test_headers_of_two_levels_span_what_stands_below_them(client):
    page = Page(client.get("/datasets/people?rows=region,origin&columns=sex,job&totals=no"))
    outer = [e for e in page.all("th", scope="colgroup") if e.get("class") != "axis"]
    assert [e["colspan"] for e in outer] == ["3"] * 2
    assert page.all("th", class_="axis")[0]["colspan"] == "6"
    assert page.all("th", class_="corner")[0]["rowspan"] == "3"
    assert page.texts("th", scope="rowgroup") == ["North", "South"]
    assert {e["colspan"] for e in page.all("th", scope="rowgroup")} == {"7"}
    assert len(page.all("tbody")) == 2
    assert len(page.all("th", scope="row")) == 8
    assert len(page.all("td")) == 8 * 6
    assert len(page.all("th", scope="col")) == 6 + 1


def test_one_layer_is_shown_or_all_of_them_and_each_can_be_chosen(client):
    """Wrong: the numbers of another layer, or all layers where one was chosen."""
    query = "rows=sex&columns=age&layers=region"
    values = client.get(f"/api/datasets/people/table?{query}").json()["value"]
    for place, layer in enumerate(["", "region=R2", "region=_T"]):
        page = Page(client.get(f"/datasets/people?{query}&layer={layer}"))
        shown = [int(text.replace(",", "")) for text in page.texts("td")]
        assert shown == [values[cell * 3 + place] for cell in range(12)]
    page = Page(client.get(f"/datasets/people?{query}&layer=all"))
    assert page.texts("h3", class_="layer") == ["North", "South", "Total"]
    shown = [int(text.replace(",", "")) for text in page.texts("td")]
    assert shown == [values[cell * 3 + layer] for layer in range(3) for cell in range(12)]
    offered = [
        e["value"] for e in page.all("option") if e["value"].startswith("region=") or e["value"] == "all"
    ]
    assert offered == ["region=R1", "region=R2", "region=_T", "all"]
    for wrong in ("layer=region=R9", "layer=sex=1", "layer=x"):
        assert client.get(f"/datasets/people?{query}&{wrong}").status_code == 400
    assert client.get("/datasets/people?rows=sex&layer=region=R1").status_code == 400


def test_categories_are_named_by_labels_codes_or_both(client):
    def labels(naming):
        return Page(client.get(f"/datasets/people?rows=region&labels={naming}")).texts("th", scope="row")

    assert labels("labels") == ["North", "South", "Total"]
    assert labels("codes") == ["R1", "R2", "Total"]
    assert labels("both") == ["North (R1)", "South (R2)", "Total"]
    assert client.get("/datasets/people?rows=region&labels=cods").status_code == 400


def test_a_rectangle_has_the_cells_that_the_whole_has_there(small_workspace):
    """Wrong: a block that starts at another row, or counts the rows of one layer only."""
    request = request_from_text("people", rows=["origin"], columns=["job", "age"], layers=["region"])
    layout = Layout(release_table(small_workspace.stored("people"), request))
    height, width, depth = layout.lengths
    whole = layout.cells(range(height * depth), range(width))
    rows, columns = range(height - 2, height + 5), range(3, 9)
    assert layout.cells(rows, columns) == [tuple(whole[r][c] for c in columns) for r in rows]
    lines, heads = layout.rows(rows), layout.columns(columns)
    for line, r in zip(lines, rows, strict=True):
        for head, c in zip(heads, columns, strict=True):
            codes = dict(part.split("=") for part in f"{line.cell},{head.cell}".replace("\\", "").split(","))
            value = layout.release.value(*(codes[d.name] for d in layout.release.dimensions))
            assert whole[r][c][0] == ("[z]" if value is None else f"{value:,}")
    spans = [[(h.label, h.span) for h in level] for level in headers(layout.columns(columns))]
    assert spans[0] == [("None", 1), ("Farm", 4), ("Office", 1)]


@pytest.mark.parametrize("query", ["rows=sex", "columns=sex", "layers=sex&layer=all", "rows=region,age,sex"])
def test_any_number_of_variables_on_any_axis_can_be_shown(client, query):
    page = Page(client.get(f"/datasets/people?{query}"))
    cells = len(client.get(f"/api/datasets/people/table?{query.removesuffix('&layer=all')}").json()["value"])
    assert len(page.all("td")) == cells


def test_statuses_are_shown_with_a_legend_only_where_they_occur(client):
    with_zeros = Page(client.get("/datasets/people?rows=age&columns=job"))
    assert with_zeros.texts("td", class_="s") == ["[z]", "[z]"]
    assert "Not applicable: cannot occur" in with_zeros.texts("dd")
    assert "[z]" not in client.get("/datasets/people?rows=age&columns=sex").text
