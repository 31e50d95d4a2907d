"""Keeping a table in a real browser: files that open, code that is copied, a frame elsewhere, tables that are saved."""

import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import expect

pytestmark = pytest.mark.browser

TABLE = "/datasets/people?rows=sex&columns=age"


def opened(page, menu, what):
    """A menu above the table, and a part of it."""
    page.locator(f"#{menu} > summary").click()
    page.locator(f"#{menu} .more > summary", has_text=what).click()
    return page


def test_code_is_copied_and_the_module_is_fetched_when_its_panel_opens(open_page):
    page = open_page(TABLE, scripts=True, permissions=["clipboard-read", "clipboard-write"])
    fetched = []
    page.on("request", lambda request: fetched.append(request.url))
    assert not any(url.endswith("copy.js") for url in fetched)
    opened(page, "download", "Code for Python")
    button = page.get_by_role("button", name="Copy: Python")
    button.click()
    page.locator("#said", has_text="Copied").wait_for(state="attached")
    assert sum(url.endswith("copy.js") for url in fetched) == 1
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("import discreet\n\ncatalogue = discreet.open(")
    page.locator("summary", has_text=re.compile("^curl$")).click()
    assert not page.get_by_role("button", name="Copy: Python").is_visible(), "one language at a time"


def test_saved_tables_survive_a_reload_and_are_listed_exported_and_removed(open_page, tmp_path):
    page = open_page(TABLE, scripts=True)
    opened(page, "share", "Save in this browser")
    page.get_by_label("Save this table as").fill("My <b>table</b>")
    page.get_by_role("button", name="Save", exact=True).click()
    assert page.url.endswith(TABLE), "nothing was sent"
    page.reload()
    opened(page, "share", "Save in this browser")
    page.get_by_role("link", name="My <b>table</b>").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as a file").click()
    kept = tmp_path / "tables.json"
    download.value.save_as(kept)
    page.get_by_role("button", name="Remove").click()
    assert page.get_by_text("Nothing is saved yet.").is_visible()
    page.locator("input[type=file]").set_input_files(kept)
    page.get_by_role("link", name="My <b>table</b>").wait_for()
    page.goto(page.url.split("/datasets/")[0] + "/")
    page.get_by_role("link", name="My <b>table</b>").click()
    assert page.url.endswith(TABLE)


def test_an_imported_file_adds_no_address_of_another_site(open_page, tmp_path):
    """To take any address would make a list of ours a way to other sites, or to scripts."""
    page = open_page(TABLE, scripts=True)
    opened(page, "share", "Save in this browser")
    page.locator("[data-module=saved]").wait_for()  # its module is here
    for bad in (
        '"x"',
        '[{"name": "a", "address": "javascript:alert(1)"}]',
        '[{"name": "a", "address": "//evil.example/"}]',
    ):
        (tmp_path / "bad.json").write_text(bad)
        page.locator("input[type=file]").set_input_files(tmp_path / "bad.json")
        page.locator("#said", has_text="no saved tables").wait_for(state="attached")
        assert page.locator("[data-list] li").count() == 0


@pytest.fixture
def elsewhere(tmp_path):
    """Another origin, which serves a folder."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()


def test_the_frame_shows_the_table_on_another_site_and_other_pages_refuse_to_be_framed(
    open_page, base_url, elsewhere, tmp_path
):
    page = open_page(TABLE, scripts=True)
    opened(page, "share", "Embed in a page")
    frame = page.get_by_role("region", name="Embed in a page").inner_text()
    told = []
    page.on("console", lambda message: told.append(message.text))
    body = f"<!doctype html><p>News</p>{frame}<iframe src='{base_url}{TABLE}'></iframe>"
    (tmp_path / "news.html").write_text(body, "utf-8")
    page.goto(f"{elsewhere}/news.html")
    shown = page.frame_locator("iframe").first
    shown.locator("table.grid tbody td:not(.plot)").first.wait_for()
    assert shown.locator("h1").inner_text() == "Persons by sex and age"
    assert shown.locator("script").count() == 0
    assert "Smallville Statistics" in shown.locator("main").inner_text()
    assert page.locator("iframe").first.get_attribute("title") == "Persons by sex and age"
    assert any("frame-ancestors" in text for text in told), "the page itself is not to be framed"
    with page.context.expect_page() as other:
        shown.get_by_role("link", name="Open this table").click()
    assert other.value.url.endswith(TABLE)


def test_search_finds_datasets_while_typing(open_page):
    page = open_page("/", scripts=True)
    assert page.locator(".ds").count() > 2
    page.get_by_role("searchbox").press_sequentially("smallville birth")
    page.wait_for_url("**/?search=smallville+birth")
    expect(page.locator("#said")).to_contain_text("1 dataset has")
    assert page.locator(".ds h3").all_inner_texts() == ["People of Smallville"]
    assert page.evaluate("document.activeElement.id") == "search"


def test_the_live_table_changes_in_place(open_page):
    page = open_page("/?search=smallville", scripts=True)
    before = page.locator(".live table").inner_text()
    page.evaluate("window.here = true")
    page.locator(".choices a:not([aria-current])").first.click()
    page.locator(".choices a[aria-current]").first.wait_for()
    page.wait_for_url("**/?search=smallville&by=*")
    assert page.evaluate("window.here"), "the page was not left"
    assert page.locator(".live table").inner_text() != before
    assert page.locator(".ds").count() == 1


@pytest.mark.parametrize("address", ["/", TABLE])
def test_a_first_page_is_small_and_takes_few_requests(chromium, base_url, address):
    from discreet_studies.bench.page import loaded

    found = loaded(chromium, base_url + address)
    assert found["requests"] <= 10
    assert found["kilobytes"] <= 45
