"""A static site in a browser: choosing leads to a table, in light and dark, and axe finds nothing."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from discreet.publish.file_store import FolderStorage
from discreet.publish.publisher import Limits
from discreet.release.dataset_registry import open_registry
from discreet.web.pages.static_site import write_site

from .waiting import violations

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def site(town, tmp_path_factory):
    home = tmp_path_factory.mktemp("site")
    text = town.description + '\n[publish]\nvariables = ["sex", "age"]\nup_to = 2\ntables = ["job"]\n'
    town.load(home / "workspace", text).close()
    registry = open_registry(home / "workspace")
    write_site(registry, "town", FolderStorage(home / "www"), Limits())
    registry.close()
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(home / "www"))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_choice_leads_to_a_table_and_axe_finds_nothing(chromium, site, scheme):
    context = chromium.new_context(
        color_scheme=scheme, viewport={"width": 390, "height": 844}, bypass_csp=True
    )
    page = context.new_page()
    page.goto(f"{site}/town/index.html")
    page.get_by_label("Sex", exact=True).check()
    assert page.get_by_label("Job", exact=True).is_disabled()  # no table has both
    page.get_by_label("Age", exact=True).check()
    assert page.locator("#list > li:visible").count() == 1
    assert violations(page) == []
    page.get_by_role("link", name="Open this table").click()
    assert page.get_by_role("heading", level=1).inner_text() == "Persons by age and sex"
    assert page.locator("img[alt^='Chart']").evaluate(
        "image => image.decode().then(() => image.naturalWidth > 0)"
    )
    assert violations(page) == []
    context.close()
