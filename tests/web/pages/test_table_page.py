"""The page of a table: what it says, how much is drawn at once, what a refusal shows, and what links keep."""

from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient
from starlette.datastructures import QueryParams

from discreet.api.server_url import split_query
from discreet.errors import BadRequest, OutsideUniverse, Refused
from discreet.formats.standard import PICTURES
from discreet.model.messages.text import message
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.model.universe import parse_universe
from discreet.model.view import READING_PARAMETERS
from discreet.protect.margin_choice import choose_margins
from discreet.release import notes
from discreet.release.dataset_registry import DatasetRegistry, open_registry
from discreet.release.load_cautions import load_with_cautions
from discreet.web.app import create_app
from discreet.web.i18n.translation import in_labels
from discreet.web.pages.page_request import DisplayOptions, link_parameters, read_display_options
from discreet.web.pages.table_page import preview_table
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import LoadJob

from ..conftest import Page, client_of, key_with_budget, people_description, people_records, with_key


def test_the_note_is_said_in_a_sentence_and_the_rest_of_it_is_one_click_away(client):
    page = Page(client.get("/datasets/people?rows=sex&columns=age"))
    summary = next(" ".join(e["text"].split()) for e in page.all("summary") if "Why?" in e["text"])
    assert summary.endswith("Each count is within ±3 of the true one (95 % sure) Why?")
    (details,) = page.all("details", id="note")
    assert "open" not in details
    for said in (
        "randomly adjusted",
        "with a probability of at least 95\u00a0%",
        "Totals are adjusted separately",
    ):
        assert said not in summary
        assert said in details["text"]
    assert "differentially private" in details["text"]
    (printed,) = page.all("div", class_="print-only")
    assert "Totals are adjusted separately" in printed["text"], "on paper nothing is folded away"


def test_a_note_is_not_cut_inside_an_abbreviation(client, monkeypatch):
    """Wrong: to split the note at ". ", which ends the first sentence at "e.g."."""
    said = message("Counts, e.g. those of small areas, have been randomly adjusted.")
    monkeypatch.setitem(notes._NOISE, "cellkey", said)
    page = Page(client.get("/datasets/people?rows=job&columns=origin&totals=no"))
    (first, *_) = page.texts("p")[page.texts("p").index(next(p for p in page.texts("p") if said in p)) :]
    assert first.startswith(f"{said} Each count is within")
    assert "Do not rely on small counts" not in first


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
    assert page.chosen() == ["age", "sex", ""]
    assert page.texts("h1") == ["Persons by age and sex"]
    assert page.texts("th", scope="row") == ["0-14 years", "15-64 years", "65+ years", "Total"]


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
    assert page.all("h1", id="result-title")
    assert not page.all("table")
    if query.startswith("rows=sex&"):
        assert page.chosen()[0] == "sex"


def test_a_table_beyond_the_page_is_counted_once_for_all_its_parts(watched, watched_client):
    """Wrong: to count the table anew for every part, or to offer its download only."""
    address = "/datasets/people?rows=district&columns=origin,age,region"
    first = watched_client.get(address)
    assert "Rows 1–16 of 49" in first.text
    assert "Rows 49–49 of 49" in watched_client.get(f"{address}&page=4").text
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
    current = [e["text"] for e in Page(response).all("a", **{"aria-current": "true"})]
    assert {"Row %", "Hide empty rows"} <= set(current)
    assert "percent=row&amp;rank=yes&amp;hide_empty=yes&amp;format=csv" in text, "downloads"
    assert "--percent row --rank --hide-empty" in text
    assert "percent=&#34;row&#34;, rank=True, hide_empty=True" in text
    sent = client.get(f"/datasets/people?{address}&columns=&percent=row&top=", follow_redirects=False)
    assert sent.headers["location"] == f"/datasets/people?{address}&percent=row#table"


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("percent=row&sort=-value&version=7&labels=codes", "percent=row&sort=-value&labels=codes&version=7"),
        ("percent=sex=1&sort=-sex=1&rank=yes", "rank=yes"),
        ("layer=sex=1&page=3&show=chart&chart=bars&range=beside&zoom=area=1", "show=chart&range=beside"),
    ],
)
def test_links_to_other_tables_drop_what_names_a_cell_of_this_one(query, kept):
    assert "&".join(map("=".join, link_parameters(QueryParams(query)))) == kept


def test_what_is_read_is_written_the_same_and_what_says_nothing_is_left_out():
    reading = DisplayOptions("both", "region=R1", 3, "chart", "bars", "beside", "region=R1")
    assert tuple(dict(reading.to_query())) == READING_PARAMETERS
    assert read_display_options(QueryParams(reading.to_query())) == reading
    assert read_display_options(QueryParams("")).to_query() == []


@pytest.mark.parametrize(
    "wrong",
    [
        "labels=code",
        "page=0",
        "page=-1",
        "page=two",
        "page=1&page=2",
        "page=99999999999",
        "show=pie",
        "range=below",
    ],
)
def test_what_means_nothing_is_refused(wrong):
    with pytest.raises(BadRequest):
        read_display_options(QueryParams(wrong))


def test_the_address_of_a_page_asks_for_the_same_table_elsewhere():
    """Wrong: to refuse a page's address on the command line because of how the page was read."""
    assert split_query("rows=sex&labels=codes&layer=age=a&page=2")[0] == "rows=sex"


def links(client, query):
    page = Page(client.get(f"/datasets/people?{query}"))
    return page, {e["text"].strip(): e for e in page.all("a") if "data-live" in e}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "offered"),
    [
        ("rows=age&columns=sex", ["counts", "Row %", "Column %", "Table %"]),
        ("rows=age", ["counts", "Column %"]),
        ("columns=age", ["counts", "Row %"]),
        ("rows=age&columns=sex&totals=no", []),
    ],
)
def test_only_percentages_that_the_table_has_are_offered_and_each_link_works(client, query, offered):
    """Wrong: a link that leads to a refusal, as a percentage of a total that is not there would."""
    _, found = links(client, query)
    assert [text for text in found if text in ("counts", "Row %", "Column %", "Table %")] == offered
    for link in found.values():
        assert client.get(link["href"]).status_code == 200


def test_the_base_of_percentages_is_named(client):
    page, found = links(client, "rows=age&columns=sex&percent=row")
    assert found["Row %"]["aria-current"] == "true"
    assert "aria-current" not in found["counts"]
    assert page.texts("p", class_="base small dim") == ["100 % is the total of each row: all of sex."]


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


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("sort=-value", {"Total": "descending"}),
        ("percent=row&sort=-sex=_T", {"Total": "descending"}),
        ("top=3", {"Total": "descending"}),
        ("sort=sex=2", {"Female": "ascending"}),
        ("sort=label", {"Age": "ascending"}),
        ("", {}),
    ],
)
def test_the_head_that_a_table_is_sorted_by_says_so(client, query, order):
    page, _ = links(client, f"rows=age&columns=sex&{query}")
    heads = [(head["text"], head.get("aria-sort")) for head in page.all("th") if "aria-sort" in head]
    assert dict(heads) == order


def test_swapping_turns_the_table_and_what_percentages_are_of(client):
    _, found = links(client, "rows=age&columns=sex&percent=row&sort=-sex=1&hide_empty=yes")
    assert (
        found["Swap rows and columns"]["href"]
        == "/datasets/people?rows=sex&columns=age&percent=column&hide_empty=yes"
    )


def test_a_layer_keeps_the_view_and_has_neighbours(client):
    page, found = links(client, "rows=age&columns=sex&layers=origin&layer=origin=2&percent=row&labels=both")
    assert "layer=origin=1" in found["Previous layer"]["href"]
    assert "layer=origin=3" in found["Next layer"]["href"]
    for name in ("Country 4", "All layers"):
        assert "percent=row&labels=both" in next(link["href"] for text, link in found.items() if name in text)
    assert page.texts("h2", class_="layer") == ["Country 2 (2)"]


def test_a_choice_is_foreseen_without_counting_a_record(watched):
    service = DatasetRegistry(watched).open("people")
    told = preview_table(service, TableRequest("people", ("district",), ("sex",)))
    assert (told.cells, told.areas, told.title) == ("147 cells", "all 48 areas are available", "")
    assert watched.engines["people"].calls == 0


def test_a_refusal_speaks_in_labels_and_its_repairs_are_allowed(small_workspace):
    service = DatasetRegistry(small_workspace).open("people")
    request = TableRequest("people", ("sex", "age"), ("job", "origin"))
    told = preview_table(service, request, [("version", "7")])
    assert "origin" not in told.message
    assert "Country of birth" in told.message
    assert [repair.label for repair in told.repairs] == [
        "Remove Country of birth",
        "Remove Age",
        "Remove Job",
    ]
    assert told.clash == {"origin", "age", "job"}
    assert told.repairs[0].href.endswith("rows=sex,age&columns=job&version=7")
    assert not [found for found in service.repairs(request, counting=True) if service.foresee(found).refusal]


def test_larger_areas_are_another_idea_than_one_variable_less(small_workspace):
    """Three times "remove" would hide the repair that most readers want."""
    service = DatasetRegistry(small_workspace).open("people")
    told = preview_table(service, TableRequest("people", ("district", "sex"), ("age", "job", "origin")))
    assert told.title
    told = preview_table(service, TableRequest("people", ("district", "region"), ("age", "job", "origin")))
    assert "5,000" in told.message
    assert "Remove District" in [repair.label for repair in told.repairs]


def test_what_no_declared_table_contains_is_told_in_labels(small_workspace):
    """A sentence that joins the names itself leaves the page nothing to say in labels."""
    dataset = DatasetRegistry(small_workspace).open("people").dataset
    universe = parse_universe({"variables": ["sex", "age", "origin"], "up_to": 1}, dataset, known_total=False)
    asked = canonical(TableRequest("people", ("sex",), ("origin",)), dataset)
    with pytest.raises(OutsideUniverse) as refused:
        choose_margins(table_shape(asked, dataset), universe, dataset, dict.fromkeys(universe.margins, 1.0))
    assert "contains origin x sex, so" in refused.value.message
    assert "contains Country of birth x Sex, so" in in_labels(dataset, refused.value.message)
    assert 'Take out "Sex" or "Country of birth", filters' in in_labels(dataset, refused.value.advice)


def test_why_there_is_no_table_may_be_known_already(small_workspace):
    service = DatasetRegistry(small_workspace).open("people")
    told = preview_table(service, TableRequest("people", ("sex",)), error=Refused("No.", "Wait."))
    assert (told.message, told.advice, told.cells) == ("No.", "Wait.", "3 cells")


@pytest.fixture(scope="module")
def page_of(client):
    return lambda query: client.get(f"/datasets/people?{query}")


def test_a_chart_stands_on_the_page_with_its_words_and_its_table(page_of):
    found = page_of("rows=age&columns=sex&show=chart").text
    assert 'data-chart="pyramid"' in found
    assert 'id="chart-told"' in found
    assert "The largest is" in found
    assert '<table class="grid' in found, "the numbers behind it"
    assert "style=" not in found.partition("<figure")[2].partition("</figure>")[0]
    assert "format=svg" in found
    assert "chart=pyramid&amp;format=svg&amp;download=1" in found


def test_a_chart_that_does_not_fit_says_why_and_names_those_that_do(page_of):
    answer = page_of("rows=job&columns=sex&show=chart&chart=pyramid")
    assert answer.status_code == 200
    assert "a pyramid needs a variable of numbers" in answer.text
    assert "chart=grouped" in answer.text
    assert "<figure" not in answer.text
    assert "There is no chart" in page_of("rows=sex&show=chart&chart=pie").text


def test_the_state_is_the_address(page_of):
    """A picture of a view, and the links from it, keep the view."""
    plain = page_of("rows=age&columns=sex").text
    assert "show=chart" in plain
    assert "<figure" not in plain
    assert "show=map" not in plain, "no boundaries, no map"
    found = page_of("rows=job&columns=sex&percent=row&show=chart").text
    assert "percent=row&amp;show=chart&amp;chart=stacked" in found
    assert 'percent=row" data-live' in found
    tags = {
        page_of(f"rows=sex{more}").headers["etag"] for more in ("", "&show=chart", "&show=chart&chart=dots")
    }
    assert len(tags) == 3


def test_without_the_extra_the_page_draws_and_has_no_png(page_of, monkeypatch):
    monkeypatch.setattr(type(PICTURES), "missing", ["vl_convert"])
    found = page_of("rows=job&columns=sex&show=chart").text
    assert 'data-chart="grouped"' in found
    assert "format=svg" in found
    assert "format=png" not in found


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


@pytest.mark.slow
def test_an_account_sees_the_price_and_who_else_gets_the_table_before_it_is_charged(private_town):
    """Wrong alternative: "nothing is charged", which holds of the declared tables only."""
    folder = private_town.folder
    key = with_key(key_with_budget(folder))
    outside, inside = "rows=sex&columns=job&layers=area", "rows=sex&columns=age"
    price, free = "charges epsilon 0.5 to your account, and then all who may see", "nothing is charged"
    with client_of(folder) as client:

        def preview(query):
            text = client.get(f"/datasets/town/verdict?{query}", headers=key).text
            return price in text, free in text

        assert (preview(outside), preview(inside)) == ((True, False), (False, True))
        assert "All who may see the dataset can then have it" in client.get(f"/datasets/town?{outside}").text
        assert client.get(f"/datasets/town?{outside}", headers=key).status_code == 200
        assert preview(outside) == (False, True)
