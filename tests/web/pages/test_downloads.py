"""The ways to keep a table: each asks the same question again, at the public address."""

import re
from html import unescape

import pytest

from discreet.formats import formats
from discreet.model.request import TableRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.context import RequestContext, use_context
from discreet.web.pages.downloads import download_panel
from discreet.web.urls import SiteUrl

from ..conftest import Page

VIEW = [("percent", "row")]


@pytest.fixture
def keep(small_workspace):
    """What is kept of a table, as a reader of https://x.org/tables sees it."""

    def kept(dataset, *names, version=()):
        door = DatasetRegistry(small_workspace).door(dataset)
        with use_context(RequestContext(site_url=SiteUrl("https://x.org", "/tables"))):
            return download_panel(door.check(TableRequest(dataset, *names)), VIEW, [], list(version))

    return kept


def test_every_format_of_the_registry_is_a_download_under_one_heading(keep):
    found = keep("people", ("sex",), ("age",)).downloads
    links = [link for _, group in found for link in group]
    assert sorted(link.label for link in links) == sorted(
        form.label for form in formats() if form.installed and not form.is_picture
    )
    by_heading = {heading: {link.label for link in group} for heading, group in found}
    assert "Excel" in by_heading["To read and calculate"]
    assert {"CSV", "Parquet", "JSON-stat"} <= by_heading["For programs"]
    assert all("percent=row" in link.href for link in links)


def test_code_names_the_public_address_and_never_the_readers_own_machine(keep):
    """Code that opens a folder, or 127.0.0.1, would not work for a reader of a hosted site."""
    codes = dict(keep("people", ("sex",), ("age",)).codes)
    assert set(codes) == {"Python", "R", "Excel (Power Query)", "JavaScript", "curl", "Command line"}
    for text in codes.values():
        assert "https://x.org/tables" in text
        assert "127.0.0.1" not in text
    assert 'discreet.open("https://x.org/tables")' in codes["Python"]
    assert codes["curl"].startswith(
        "curl 'https://x.org/tables/api/datasets/people/table?rows=sex&columns=age&percent=row"
    )


def test_one_link_names_the_version_and_the_other_follows_the_newest(keep, small_workspace):
    digest = DatasetRegistry(small_workspace).door("people").digest[:8]
    found = keep("people", ("sex",), version=[("version", digest)])
    assert found.pinned == f"https://x.org/tables/datasets/people?rows=sex&percent=row&version={digest}"
    assert found.newest == "https://x.org/tables/datasets/people?rows=sex&percent=row"
    assert f"version={digest}" in found.embed


def test_citations_for_programs_survive_labels_that_are_not_text(keep):
    found = dict(keep("hostile", ("bad",), ("good",)).citations)
    assert found["Text"].endswith(found["RIS"].split("UR  - ")[1].split("\n")[0])
    inner = found["BibTeX"].removeprefix("@misc{")
    assert inner.count("{") - inner.count("\\{") + 1 == inner.count("}") - inner.count("\\}")
    assert [line[:6] for line in found["RIS"].split("\n")] == [
        "TY  - ", "TI  - ", "AU  - ", "T2  - ", "ET  - ", "UR  - ", "ER  - ",
    ]  # fmt: skip


def test_the_frame_is_one_element_whose_title_is_escaped(keep):
    found = keep("hostile", ("bad",), ("good",)).frame
    assert found.count("<") == 2
    assert found.endswith("></iframe>")
    titles = re.findall(r' title="([^"]*)"', found)
    assert "<script>alert(2)</script>" in unescape(titles[0])


def test_the_page_shows_them(client):
    page = Page(client.get("/datasets/people?rows=sex&columns=age"))
    assert [e["name"] for e in page.all("details", class_="code")] == ["code"] * 6
    assert all("hidden" in button for button in page.all("button") if "data-copy" in button), (
        "they need scripts"
    )
    assert any(link.get("href", "").endswith("/datasets/people/feed.atom") for link in page.all("a"))
