import itertools
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlsplit

import pytest
from fastapi.testclient import TestClient

from discreet.answer.door import Doors
from discreet.errors import all_errors
from discreet.formats import formats
from discreet.server.app import create_app
from discreet.workspace.options import read_options


class Page(HTMLParser):
    """A page as a list of elements, with the text inside each, and a check that every tag is closed."""

    VOID = frozenset({"meta", "link", "img", "input", "br", "hr"})

    def __init__(self, response):
        super().__init__()
        self.elements = []
        self.open = []
        self.feed(response.text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        element = {"tag": tag, "text": "", **dict(attributes)}
        self.elements.append(element)
        if tag not in self.VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag, **attributes):
        names = {name.rstrip("_"): value for name, value in attributes.items()}
        return [e for e in self.elements if e["tag"] == tag and all(e.get(k) == v for k, v in names.items())]

    def texts(self, tag, **attributes):
        return [" ".join(element["text"].split()) for element in self.all(tag, **attributes)]


def chosen(page):
    """What each select shows, in order."""
    position = [i for i, e in enumerate(page.elements) if e["tag"] == "select"] + [len(page.elements)]
    return [
        next((e["value"] for e in page.elements[a:b] if e["tag"] == "option" and "selected" in e), "")
        for a, b in itertools.pairwise(position)
    ]


def test_the_landing_page_has_a_card_for_each_dataset(client):
    page = Page(client.get("/"))
    assert page.texts("h2") == ["<b>Hostile</b> & \u202elabels\u202c", "People of Smallville"]
    assert "/datasets/people" in [link["href"] for link in page.all("a")]
    text = client.get("/").text
    for words in ("persons", "All residents", "Smallville Statistics", "2026-01-01", "Country of birth"):
        assert words in text


def test_without_a_choice_the_first_two_variables_beside_geography_are_shown(client):
    page = Page(client.get("/datasets/people"))
    assert chosen(page) == ["age", "", "sex", "", "", ""]
    assert page.texts("h2")[-1] == "Persons by age and sex"
    assert page.texts("th", scope="row") == ["0-14 years", "15-64 years", "65+ years", "Total"]


def test_the_page_shows_what_the_api_releases(client):
    page = Page(client.get("/datasets/people?rows=origin&columns=sex"))
    values = client.get("/api/datasets/people/table?rows=origin&columns=sex").json()["value"]
    assert [int(text.replace(",", "")) for text in page.texts("td")] == values


def test_the_note_the_promise_and_what_is_counted_are_on_the_page(client):
    text = client.get("/datasets/people?rows=sex&filter=origin=2,3").text
    assert "Counts in this table have been randomly adjusted" in text
    for words in (
        "How this table is protected",
        "Nothing is promised",
        "All residents",
        "Source:",
        "Version",
    ):
        assert words in text
    assert "Country of birth: Country 2, Country 3" in text


def test_the_same_table_is_offered_as_downloads_and_code(client):
    page = Page(client.get("/datasets/people?rows=sex&columns=age&filter=origin=2"))
    links = [link for link in page.all("a", class_="button") if "download=1" in link["href"]]
    assert len(links) == len(formats())
    for link in links:
        response = client.get(link["href"])
        assert response.status_code == 200
        assert response.headers["content-disposition"].startswith("attachment")
    assert page.texts("a", class_="button") == ["CSV", "JSON-stat", "Test independence"]
    code = page.texts("pre")
    assert code[0].startswith("curl 'http://testserver/api/datasets/people/table?rows=sex&columns=age")
    assert (
        'discreet.open().table("people", rows=["sex"], columns=["age"], filters={"origin": ["2"]})' in code[1]
    )
    assert code[2] == "discreet table people --rows sex --columns age --filter origin=2 --format csv"
    assert (
        "Persons by sex and age. People of Smallville, version 7"
        in client.get("/datasets/people?rows=sex&columns=age").text
    )


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


def test_regions_that_scroll_can_be_reached_and_are_named(client):
    page = Page(client.get("/datasets/people?rows=sex&layers=region"))
    regions = page.all("div", role="region")
    assert [e["aria-label"] for e in regions] == [
        f"Persons by sex and region: {r}" for r in ("North", "South", "Total")
    ]
    assert {e["tabindex"] for e in regions} == {"0"}


def test_the_form_is_filled_in_from_the_address(client):
    query = "rows=age&columns=sex&layers=region&filter=origin=2,3&group=age=0-14%2B15-64&totals=no"
    page = Page(client.get(f"/datasets/people?{query}"))
    assert chosen(page) == ["age", "", "sex", "", "region", ""]
    ticked = [e["value"] for e in page.all("input", type="checkbox") if "checked" in e]
    assert ticked == ["origin=2", "origin=3", "age=0-14+15-64", "no"]


def test_what_the_form_sends_becomes_the_clean_permalink(client):
    sent = [
        ("rows", "sex"), ("rows", ""), ("columns", "age"), ("columns", ""), ("layers", ""),
        ("filter", "origin=3"), ("filter", "origin=2"), ("filter.district", "D01, district 2"),
    ]  # fmt: skip
    response = client.get("/datasets/people", params=sent, follow_redirects=False)
    assert (response.status_code, response.headers["cache-control"]) == (303, "no-store")
    target = urlsplit(response.headers["location"])
    assert (target.path, target.fragment) == ("/datasets/people", "table")
    assert parse_qsl(target.query) == [
        ("rows", "sex"), ("columns", "age"), ("filter", "district=D01,D02"), ("filter", "origin=2,3"),
    ]  # fmt: skip
    page = Page(client.get(response.headers["location"]))
    assert page.all("input", id="codes-district")[0]["value"] == "D01, D02"


def test_a_form_with_nothing_chosen_shows_the_default_table(client):
    response = client.get("/datasets/people?rows=&columns=&layers=", follow_redirects=False)
    assert response.headers["location"] == "/datasets/people?rows=age&columns=sex#table"


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
    assert page.all("div", role="alert")
    assert "See why there is no table" in response.text
    assert not page.all("table")
    if query.startswith("rows=sex&"):
        assert chosen(page)[0] == "sex"


def test_a_mistyped_line_of_codes_is_kept_to_be_mended(client):
    page = Page(client.get("/datasets/people?rows=sex&filter.district=D01,D99"))
    assert page.all("input", id="codes-district")[0]["value"] == "D01,D99"
    page = Page(client.get("/datasets/people?rows=sex&filter=district=D99,D01"))
    assert page.all("input", id="codes-district")[0]["value"] == "D01, D99"
    assert page.texts("span", class_="count") == ["1 of 48"]


def test_a_table_beyond_the_page_is_not_counted_and_offered_for_download(watched, watched_client):
    response = watched_client.get("/datasets/people?rows=district&columns=origin,age")
    assert response.status_code == 200
    assert "980 cells" not in response.text
    larger = watched_client.get("/datasets/people?rows=district&columns=origin,age,region")
    assert "2,940 cells; a page shows at most 1,000" in larger.text
    assert watched.engines["people"].calls == 1
    assert next(e["href"] for e in Page(larger).all("a", class_="button")).endswith("format=csv&download=1")


def test_the_codes_of_a_variable_have_a_page(client):
    page = Page(client.get("/datasets/people/variables/district"))
    assert len(page.all("tr")) == 49
    assert page.texts("th", scope="row")[0] == "D01"
    missing = client.get("/datasets/people/variables/distric")
    assert (missing.status_code, "Did you mean &#34;district&#34;?" in missing.text) == (404, True)


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.code)
def test_every_error_code_has_a_page_that_explains_it(client, kind):
    page = Page(client.get(f"/errors/{kind.code}"))
    assert page.texts("h1") == [kind.title]
    assert len(page.texts("p", class_="lead")[0]) > 20
    assert f"/errors/{kind.code}" in [e["href"] for e in Page(client.get("/errors")).all("a")]


@pytest.mark.parametrize(
    "address", ["/nothing", "/datasets/peple", "/errors/none", "/datasets/people/variables/x"]
)
def test_errors_of_pages_are_pages(client, address):
    response = client.get(address)
    assert (response.status_code, response.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert Page(response).all("h1")


def test_a_workspace_without_datasets_says_what_to_do(tmp_path):
    from discreet.workspace.workspace import Workspace

    (tmp_path / "datasets").mkdir()
    client = TestClient(create_app(Doors(Workspace(tmp_path)), read_options(tmp_path)))
    assert "discreet demo" in client.get("/").text
    assert client.get("/api/datasets").json() == {"datasets": []}


HOSTILE_ADDRESSES = [
    "/",
    "/datasets/hostile",
    "/datasets/hostile?rows=bad&columns=good",
    "/datasets/hostile?rows=good&layers=bad",
    "/datasets/hostile?rows=good&filter=bad%3D%3Cb%3E",
    "/datasets/hostile?rows=%3Cscript%3Ealert(3)%3C/script%3E",
    "/datasets/hostile?rows=good&group=%22%3E%3Cscript%3E%3D1",
    "/datasets/hostile?%3Cscript%3E=1",
    "/datasets/hostile/variables/bad",
    "/datasets/%3Cscript%3E",
    "/errors/%3Cscript%3E",
]


@pytest.mark.parametrize("address", HOSTILE_ADDRESSES)
def test_no_label_code_or_address_becomes_markup(client, address):
    response = client.get(address)
    page = Page(response)
    assert not [e for e in page.elements if e["tag"] in {"script", "b", "i"}]
    assert [e["src"] for e in page.all("img")] == ["/static/mark.svg"]
    assert not [name for e in page.elements for name in e if name.startswith("on") or name == "style"]
    assert not set(response.text) & set(map(chr, [*range(9), *range(11, 32), 127]))


def test_a_hostile_host_is_text_too(client):
    page = Page(client.get("/datasets/people?rows=sex", headers={"host": 'x"><script>alert(1)</script>'}))
    assert not page.all("script")


def test_a_link_with_a_tracking_parameter_still_leads_to_the_landing_page(client):
    assert client.get("/?utm_source=letter").status_code == 200


def test_labels_stand_in_a_direction_of_their_own_and_close_what_they_open(client):
    page = Page(client.get("/datasets/hostile?rows=bad"))
    labels = page.texts("th", scope="row")
    assert "nul \ufffd and bell \ufffd" in labels
    assert "\u202eright to left\u202c" in labels
    rows = [i for i, e in enumerate(page.elements) if e["tag"] == "th" and e.get("scope") == "row"]
    assert all(page.elements[i + 1]["tag"] == "bdi" for i in rows)


def test_a_hostile_category_can_be_filtered_by_its_box(client):
    page = Page(client.get("/datasets/hostile?rows=good"))
    box = next(e["value"] for e in page.all("input", type="checkbox") if e["value"].startswith("bad=a"))
    filtered = Page(client.get("/datasets/hostile", params={"rows": "good", "filter": box}))
    assert [e["value"] for e in filtered.all("input", type="checkbox") if "checked" in e] == [box]


def test_pages_load_nothing_from_elsewhere_and_run_no_script(client):
    for address in ("/", "/datasets/people", "/errors"):
        page = Page(client.get(address))
        assert not page.all("script")
        sources = [e.get("href", "") for e in page.all("link")] + [e["src"] for e in page.all("img")]
        assert all(source.startswith("/static/") for source in sources)
        assert all(client.get(source).status_code == 200 for source in sources)


def test_a_refused_table_offers_the_nearest_that_is_allowed(client):
    page = client.get("/datasets/people?rows=sex,age,job,origin")
    assert page.status_code == 403
    assert "Ask this instead" in page.text
