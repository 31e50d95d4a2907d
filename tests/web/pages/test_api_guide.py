"""The page for programmers: its examples are answers of this server, and every one of them is 200."""

import json

import pytest

from discreet.web.pages.api_guide import COLUMNS, LINES, first_lines

from ..conftest import Page


@pytest.fixture(scope="module")
def page(client):
    return Page(client.get("/api"))


def test_every_example_answers_200_but_the_one_that_shows_a_refusal(client, page):
    links = [e["href"] for e in page.all("a") if e["text"].startswith(("/api/", "/openapi"))]
    statuses = [client.get(link).status_code for link in links]
    assert len(links) >= 12
    assert statuses.count(400) == 1
    assert set(statuses) == {200, 400}
    assert page.texts("span", class_="status") == [str(status) for status in statuses]


def test_what_is_shown_is_the_beginning_of_the_answer(client, page):
    links = [e["href"] for e in page.all("a") if "format=csv" in e["href"] and "dry_run" not in e["href"]]
    shown = [e["text"] for e in page.all("pre")]
    first = client.get(links[0]).text.splitlines()[:LINES]
    assert "\n".join([line[:COLUMNS] for line in first]) in {text.removesuffix("\n…") for text in shown}


def test_a_reader_who_has_the_page_gets_304_and_nothing_is_asked(watched, watched_client):
    tag = watched_client.get("/api").headers["etag"]
    calls = sum(engine.calls for engine in watched.engines.values())
    assert watched_client.get("/api", headers={"if-none-match": tag}).status_code == 304
    assert sum(engine.calls for engine in watched.engines.values()) == calls


def test_the_beginning_is_short_whatever_the_document():
    long = json.dumps({"numbers": list(range(1000)), "text": "x" * 1000})
    assert len(first_lines(long).splitlines()) == LINES + 1
    assert first_lines("<a><b/></a>").splitlines() == ["<a>", "<b/>", "</a>"]
    assert len(first_lines("y" * 1000)) < COLUMNS + 5
    assert first_lines("") == ""
