"""Two versions of a table on a page: the numbers of the API, a form with the versions that are answered."""

import re
from dataclasses import replace
from html import unescape

import pytest
from fastapi.testclient import TestClient

from discreet.release.dataset_registry import open_registry
from discreet.web.app import create_app
from discreet.workspace.options import read_options

PAGE, QUERY = "/datasets/town/compare", "rows=sex&columns=age"


@pytest.fixture(scope="module")
def registry(town_versions):
    opened = open_registry(town_versions)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def client(registry, town_versions):
    return TestClient(create_app(registry, read_options(town_versions)))


def rows(text):
    """The texts of the table's lines."""
    body = text[text.index("<tbody>") : text.index("</tbody>")]
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line) for line in body.split("<tr>")[1:]]
    return [[unescape(re.sub("<[^>]*>", "", cell)) for cell in line] for line in cells]


def test_the_page_has_the_numbers_of_the_api(client):
    asked = f"?{QUERY}&version=2&with=1"
    document = client.get(f"/api{PAGE}{asked}").json()
    response = client.get(PAGE + asked)
    lines = rows(response.text)
    assert len(lines) == len(document["cells"])
    for line, cell in zip(lines, document["cells"], strict=True):
        assert [int(text.replace(",", "")) for text in line[2:4]] == [cell["value"], cell["with"]]
        assert line[4] == f"{cell['difference']['estimate']:,.0f}"
        assert line[5] == f"{cell['difference']['low']:,.0f} to {cell['difference']['high']:,.0f}"
    assert "it may be the same noise" in response.text
    assert client.get(PAGE + asked, headers={"if-none-match": response.headers["etag"]}).status_code == 304


def test_the_form_offers_the_versions_that_are_answered_and_keeps_the_table(client, registry):
    """Wrong alternative: to offer the closed version, which would answer 410."""
    text = client.get(f"{PAGE}?{QUERY}").text
    offered = set(re.findall(r'<option value="(\w{16})"', text))
    closed, *open_ = (facts.digest[:16] for facts in registry.versions("town"))
    assert offered == set(open_)
    assert closed not in text
    for name, value in (("rows", "sex"), ("columns", "age")):
        assert f'name="{name}" value="{value}"' in text


def test_a_closed_version_a_wrong_parameter_and_a_large_table_are_refused(client, registry, town_versions):
    assert client.get(f"{PAGE}?{QUERY}&with=0").status_code == 410
    assert client.get(f"{PAGE}?{QUERY}&wiht=1").status_code == 400
    small = TestClient(create_app(registry, replace(read_options(town_versions), page_cells=3)))
    refused = small.get(f"{PAGE}?{QUERY}&with=1")
    assert refused.status_code == 403
    assert "/api/datasets/town/compare" in refused.text


def test_the_page_of_a_table_leads_to_its_comparison_and_keeps_its_version(client):
    text = client.get(f"/datasets/town?{QUERY}&version=1").text
    (address,) = {unescape(each) for each in re.findall(r'href="([^"]*/compare\?[^"]*)"', text)}
    assert client.get(address).status_code == 200
    assert "version=1" in address
    assert text.count("/datasets/town/methodology?version=1") == 2
    about = client.get("/datasets/town/methodology?version=1").text
    assert "/api/datasets/town/methodology?version=1" in about
    plain = client.get(f"/datasets/town?{QUERY}").text
    assert "/methodology?version" not in plain


def test_the_page_speaks_the_language_of_its_reader(client):
    response = client.get(f"{PAGE}?{QUERY}&version=2&with=1", headers={"accept-language": "de"})
    text = re.sub("<[^>]*>", " ", response.text)
    for words in ("Zwei Versionen", "Verglichen mit", "Differenz", "es kann dasselbe Rauschen sein"):
        assert words in text
    assert " to " not in text
    assert re.fullmatch(r"-?[\d.]+ bis -?[\d.]+", rows(response.text)[0][5])
