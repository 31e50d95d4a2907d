"""Every control of the builder is an address: without scripts, links alone lead from one table to another."""

from urllib.parse import parse_qs, urlsplit

from tests.server.conftest import Page


def test_links_alone_build_a_three_way_table_and_take_it_apart_again(client):
    address = "/datasets/people?rows=age"
    for control in ("add-sex", "add-job"):
        address = Page(client.get(address)).all("a", id=control)[0]["href"]
    assert parse_qs(urlsplit(address).query) == {"rows": ["age,job"], "columns": ["sex"]}
    page = Page(client.get(address))
    layered = next(e["href"] for e in page.all("a", **{"data-live": None}) if "layers=job" in e["href"])
    page = Page(client.get(layered))
    assert page.texts("h2", id="result-title") == ["Persons by age, sex and job"]
    removed = next(e["href"] for e in page.all("a", class_="remove") if e["aria-label"] == "Take out Job")
    assert parse_qs(urlsplit(removed).query) == {"rows": ["age"], "columns": ["sex"]}
