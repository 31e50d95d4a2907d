"""A release laid out for the eye: headers, layers, cells with their meaning, statuses and their legend."""

import pytest

from discreet.inference.table_view import apply_view
from discreet.model.release import STATUSES
from discreet.model.request import request_from_text
from discreet.model.view import View
from discreet.release.pipeline import release_table
from discreet.web.pages.table_grid import Layout, axis_lines, headers, make_cell

from ..conftest import Page


@pytest.mark.parametrize(
    ("naming", "first", "last"),
    [("labels", "Child", "Total"), ("codes", "child", "Total"), ("both", "Child (child)", "Total")],
)
def test_a_total_keeps_its_label_however_others_are_named(town_release, naming, first, last):
    axis = (town_release.dimensions[0],)
    lines = axis_lines(axis, range(axis[0].length), naming)
    assert (lines[0].labels, lines[-1].labels) == ((first,), (last,))
    assert (lines[0].cell, lines[-1].cell) == ("age=child", "age=_T")
    assert [line.total for line in lines] == [False, False, False, True]


def test_the_outer_variable_runs_slowest_and_groups_begin_with_it(town_release):
    axis = town_release.dimensions[:2]
    lines = axis_lines(axis, range(axis[1].length + 1), "labels")
    assert [line.first for line in lines] == [True, *[False] * (axis[1].length - 1), True]
    assert lines[-1].labels[0] == axis[0].labels[1]


PLAIN = {"signed": 5, "status": 0, "error": -1, "noise": 0, "low": 3, "high": 7, "least": -1.0, "most": -1.0}


def cell(value, *rest, **changes):
    return make_cell(value, *{**PLAIN, **changes}.values(), *rest)


def test_a_number_has_its_interval_and_what_stands_below_it():
    assert cell(5, "12 %", "t") == ("5", "t", ("12 %",), "True count: 3 to 7 (95\u00a0% sure)")
    assert make_cell(5, *PLAIN.values(), "", ranges=True)[2] == ("3 to 7",)
    assert "true share: 10.0 to 20.0 %" in cell(5, "", least=10.0, most=20.0)[3]
    assert cell(0, "", signed=-2)[3].endswith("before it was raised to zero: −2")


def test_a_letter_has_its_meaning_and_no_number():
    text, look, notes, told = cell(5, "", status=STATUSES.index("c"))
    assert (text, look, notes) == ("[c]", "s", ())
    assert told
    assert "5" not in told


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
    assert page.texts("h2", class_="layer") == ["North", "South", "Total"]
    shown = [int(text.replace(",", "")) for text in page.texts("td")]
    assert shown == [values[cell * 3 + layer] for layer in range(3) for cell in range(12)]
    (menu,) = page.all("details", id="layers")
    assert all(name in menu["text"] for name in ("North", "South", "Total", "All layers"))
    for wrong in ("layer=region=R9", "layer=sex=1", "layer=x"):
        assert client.get(f"/datasets/people?{query}&{wrong}").status_code == 400
    assert client.get("/datasets/people?rows=sex&layer=region=R1").status_code == 400


def test_bars_are_as_long_as_the_numbers_beside_them_and_share_their_rows(small_workspace):
    """Wrong: bars in the order of the release where the rows are sorted, or a total that dwarfs all others."""
    release = release_table(
        small_workspace.stored("people"), request_from_text("people", rows=["age"], columns=["sex"])
    )
    layout = Layout(apply_view(release, View(sort="-value")))
    bars = layout.bars(range(layout.lengths[0]))
    assert bars.series == ("Male", "Female")
    lines, cells = layout.rows(range(4)), layout.cells(range(4), range(2))
    shown = {
        line.cell: [int(text.replace(",", "")) for text, *_ in row]
        for line, row in zip(lines, cells, strict=True)
    }
    top = max(number for name, row in shown.items() if name != "age=_T" for number in row)
    assert bars.rows.pop("age=_T") == ()
    for name, drawn in bars.rows.items():
        assert [bar.width for bar in drawn] == [f"{100 * number / top:.2f}" for number in shown[name]]
    assert bars.ticks[0] == (0, "0")
    wide = release_table(
        small_workspace.stored("people"), request_from_text("people", rows=["sex"], columns=["district"])
    )
    assert Layout(wide).bars(range(3)) is None


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
