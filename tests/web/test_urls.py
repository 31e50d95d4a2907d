"""Any query at all: it is answered or refused, and never breaks the server."""

import json
import re

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import BadOption
from discreet.model.view import VIEW_PARAMETERS
from discreet.web.urls import TABLE_PARAMETERS, SiteUrl, link, parse_public_url, site_url

from .conftest import Page, client_of

PUBLIC = "https://x.example/tables"
ADDRESSES = [
    "/",
    "/datasets/people?rows=sex&columns=age",
    "/datasets/people?rows=sexx",
    "/datasets/people/test/independence?rows=sex&columns=age",
    "/datasets/people/interval?rows=sex",
    "/datasets/people/variables/district",
    "/errors",
    "/errors/refused",
    "/nothing",
]


@pytest.fixture(scope="module")
def below(small_workspace):
    """A server that readers find below a path."""
    client = client_of(small_workspace, public_url=PUBLIC + "/", page_cells=1000)
    return TestClient(client.app, follow_redirects=False)


def links_of(page):
    found = [e[name] for e in page.elements for name in ("href", "src", "action") if e.get(name)]
    return [text for text in found if not text.startswith("#")]


@pytest.mark.slow
@pytest.mark.parametrize("address", ADDRESSES)
def test_below_a_path_every_link_stays_below_it_and_leads_somewhere(below, address):
    """Whether a proxy keeps or strips the path. A link from the host's root, as href="/errors", would leave it."""
    kept, stripped = below.get("/tables" + address), below.get(address)
    assert kept.text == stripped.text
    links = links_of(Page(kept))
    assert links
    assert all(text.startswith(("/tables/", PUBLIC)) for text in links), links
    answers = {200, 400} | ({404} if "nothing" in address else set())
    for text in {text.removeprefix("https://x.example").partition("#")[0] for text in links}:
        assert below.get(text).status_code in answers, text


def test_below_a_path_redirects_documents_and_problems_link_below_it(below, client):
    sent = below.get("/tables/datasets/people?rows=sex&columns=&filter=")
    assert (sent.status_code, sent.headers["location"]) == (303, "/tables/datasets/people?rows=sex#table")
    listed = below.get("/api/datasets").json()["datasets"]
    assert [each["href"] for each in listed] == [f"/tables/api/datasets/{each['id']}" for each in listed]
    assert below.get(listed[0]["href"]).json()["table_href"].startswith("/tables/api/")
    problem = below.get("/tables/api/datasets/people/table?rows=x").json()
    assert problem["type"] == "/tables/errors/unknown-variable"
    assert problem["instance"] == "/tables/api/datasets/people/table"
    assert below.get("/tables/openapi.json").json()["servers"] == [{"url": "/tables"}]
    for root in ("/tables", "/tables/"):
        assert "Build your own table" in below.get(root).text
    assert below.get("/tablesx/").status_code == 404
    tags = {each.get("/api/datasets").headers["etag"] for each in (below, client)}
    assert len(tags) == 2, "another root is another document"


def test_what_people_copy_has_the_public_address_whatever_the_host(below):
    answer = below.get("/datasets/people?rows=sex", headers={"host": "127.0.0.1:8000"})
    page = Page(answer)
    assert f"curl '{PUBLIC}/api/datasets/people/table?rows=sex" in " ".join(page.texts("code"))
    (address,) = page.texts("p", class_="address")
    assert address.partition("&version=")[0] == f"{PUBLIC}/datasets/people?rows=sex"
    (data,) = page.all("script", type="application/ld+json")
    assert json.loads(data["text"])["url"] == f"{PUBLIC}/datasets/people"
    assert not re.search(r"127\.0\.0\.1|testserver", answer.text)


@pytest.mark.parametrize(
    "url",
    [
        "x.org",
        "ftp://x.org",
        "https://",
        "https://x.org/?a=1",
        "https://u@x.org",
        "https://x.org:0x",
        "https://x.org//a",
    ],
)
def test_an_address_that_no_reader_can_type_is_refused_at_the_start(url, small_workspace):
    with pytest.raises(BadOption, match="public_url") as caught:
        client_of(small_workspace, public_url=url)
    assert "https://example.org/tables" in caught.value.advice


def test_a_public_address_has_an_origin_and_a_root():
    assert parse_public_url(None) is parse_public_url("") is None
    assert parse_public_url("HTTP://X.org:8080/a/b/") == SiteUrl("http://x.org:8080", "/a/b")
    assert (site_url(), link("/x")) == (SiteUrl(), "/x")


KNOWN = [
    "sex",
    "age",
    "district",
    "sex,age",
    "age=0-14",
    "age=0-14+15-64,65+",
    "district=D01",
    "yes",
    "no",
    "csv",
]
WORDS = st.one_of(
    st.sampled_from(KNOWN),
    st.text(st.sampled_from("sexag=,+\\ 0-14\x00\u202e<%;&"), max_size=12),
    st.text(max_size=8),
)
NAMES = st.one_of(
    st.sampled_from([*TABLE_PARAMETERS, *VIEW_PARAMETERS, "format", "download", "filter.district"]),
    st.text(max_size=5),
)
QUERIES = st.lists(st.tuples(NAMES, WORDS), max_size=6)
ANY_QUERY = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.slow
@ANY_QUERY
@given(query=QUERIES)
def test_the_api_answers_or_refuses_any_query(client, query):
    response = client.get("/api/datasets/people/table", params=query)
    if response.status_code != 200:
        assert response.status_code in {400, 403, 404}
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["detail"]
        assert response.json()["advice"]


@pytest.mark.slow
@ANY_QUERY
@given(query=QUERIES)
def test_the_page_answers_or_refuses_any_query_or_leads_to_its_permalink_at_once(client, query):
    response = client.get("/datasets/people", params=query, follow_redirects=False)
    if response.status_code == 303:
        response = client.get(response.headers["location"], follow_redirects=False)
        assert response.status_code == 200, "a permalink is clean: it never redirects again"
    assert response.status_code in {200, 400, 403, 404}
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert 'id="build"' in response.text


@pytest.mark.slow
@ANY_QUERY
@given(raw=st.binary(max_size=40))
def test_bytes_that_are_no_text_are_refused_too(client, raw):
    address = "/api/datasets/people/table?rows=" + "".join(f"%{byte:02X}" for byte in raw)
    assert client.get(address).status_code in {200, 400}
