"""The pages in a real browser: without scripts, by keyboard, on a phone, in the dark, on paper."""

import itertools
import os
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

PAGES = [
    "/",
    "/datasets/people",
    "/datasets/people?rows=region,sex&columns=age,job",
    "/datasets/people?rows=sex&columns=age&layers=region&filter=origin=2",
    "/datasets/people?rows=sexx",
    "/datasets/people?rows=district&columns=origin,age,region",
    "/datasets/people/test/independence?rows=sex&columns=origin",
    "/datasets/people/variables/district",
    "/datasets/hostile?rows=bad&columns=good",
    "/datasets/census-dp?rows=region&columns=sex",
    "/datasets/census-dp?rows=area&columns=sex",
    "/datasets/census-dp/budget",
    "/errors",
    "/errors/refused",
    "/nothing",
]
PHONE = {"width": 360, "height": 740}
WCAG_AA = 4.5
#: Where axe-core is, if it is there: it is no part of the repository.
AXE = os.environ.get("DISCREET_AXE")


def test_a_table_is_built_filtered_and_downloaded_without_scripts(open_page):
    page = open_page("/")
    page.get_by_role("link", name="People of Smallville").click()
    page.get_by_label("Rows: first variable").select_option("job")
    page.get_by_label("Columns: first variable").select_option("sex")
    page.locator("summary", has_text="Country of birth").click()
    page.get_by_label("Country 2").check()
    page.locator("summary", has_text="District").click()
    page.get_by_label("Codes, names or ranges, separated by commas").fill("D01, D02, District 3")
    page.get_by_role("button", name="Show table").click()
    assert page.url.endswith("?rows=job&columns=sex&filter=district=D01,D02,D03&filter=origin=2#table")
    title = page.locator("#result-title").inner_text()
    assert title == (
        "Persons by job and sex (only District: District 1, District 2, District 3; Country of birth: Country 2)"
    )
    assert page.locator("table.grid tbody tr").count() == 4
    assert page.get_by_role("checkbox", name="Country 2").is_checked()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV", exact=True).click()
    assert download.value.suggested_filename == "people-job-by-sex-selection.csv"
    assert (
        Path(download.value.path())
        .read_text("utf-8")
        .startswith("job,job_label,sex,sex_label,value,status\n")
    )


def test_a_table_that_goes_on_beyond_the_edge_shows_a_shadow_there_until_its_end(open_page):
    page = open_page("/datasets/people?rows=sex&columns=origin,job")
    region = page.locator(".across").first
    shadow = "element => Number(getComputedStyle(element, '::after').opacity)"
    assert region.evaluate("element => element.scrollWidth > element.clientWidth")
    assert region.evaluate(shadow) == 1
    region.evaluate("element => { element.scrollLeft = element.scrollWidth; }")
    page.wait_for_timeout(200)
    assert region.evaluate(shadow) == 0
    page = open_page("/datasets/people?rows=sex")
    assert page.locator(".across").first.evaluate(shadow) == 0


def test_independence_is_tested_from_the_table_without_scripts(open_page):
    page = open_page("/datasets/people?rows=sex&columns=origin")
    page.get_by_role("link", name="Test independence").click()
    assert page.get_by_role("heading", level=1).inner_text() == "Test of independence"
    assert page.locator("table.numbers tbody tr").count() == 2
    page.get_by_role("link", name="Back to the table").click()
    assert page.url.endswith("/datasets/people?rows=sex&columns=origin")


def test_back_and_reload_show_the_same_table(open_page):
    page = open_page("/datasets/people?rows=job&columns=sex")
    first = page.locator("table.grid").inner_text()
    page.get_by_label("Rows: first variable").select_option("origin")
    page.get_by_role("button", name="Show table").click()
    assert page.locator("table.grid").inner_text() != first
    page.go_back()
    assert page.locator("table.grid").inner_text() == first
    page.reload()
    assert page.locator("table.grid").inner_text() == first


def focused(page):
    return page.locator(":focus")


def test_a_table_is_built_with_the_keyboard_alone(open_page):
    page = open_page("/datasets/people?rows=age")
    page.keyboard.press("Tab")
    assert focused(page).inner_text() == "Skip to the content"
    assert focused(page).bounding_box()["x"] >= 0, "the skip link shows itself when it has the focus"
    page.keyboard.press("Enter")
    for _ in range(10):
        page.keyboard.press("Tab")
        if focused(page).get_attribute("id") == "columns-1":
            break
    page.keyboard.type("Sex")
    for _ in range(30):
        page.keyboard.press("Tab")
        if focused(page).inner_text() == "Show table":
            break
    page.keyboard.press("Enter")
    page.wait_for_url("**/datasets/people?rows=age&columns=sex*")
    assert page.locator("#result-title").inner_text() == "Persons by age and sex"


def test_the_scrolling_region_takes_the_focus_and_scrolls_with_the_arrows(open_page):
    page = open_page("/datasets/people?rows=sex&columns=job,origin", scripts=True, viewport=PHONE)
    region = page.get_by_role("region", name="Persons by sex, job and country of birth")
    region.focus()
    page.keyboard.press("ArrowRight")
    for _ in range(100):  # the policy forbids the script that `wait_for_function` would run
        if region.evaluate("element => element.scrollLeft"):
            break
        page.wait_for_timeout(50)
    assert region.evaluate("element => element.scrollLeft") > 0
    label = page.locator("tbody th[scope=row]").first
    assert abs(label.bounding_box()["x"] - region.bounding_box()["x"]) < 3, "the row labels stay in sight"


def test_the_header_stays_in_sight_while_a_long_table_scrolls(open_page):
    page = open_page(
        "/datasets/people?rows=district&columns=sex", scripts=True, viewport={"width": 1000, "height": 500}
    )
    region = page.locator(".scroll")
    region.evaluate("element => element.scrollTop = 400")
    assert abs(page.locator("thead").bounding_box()["y"] - region.bounding_box()["y"]) < 3


@pytest.mark.parametrize("address", PAGES)
def test_a_phone_never_scrolls_the_page_sideways(open_page, address):
    page = open_page(address, scripts=True, viewport=PHONE)
    widths = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert widths[0] <= widths[1]


def test_a_phone_can_go_straight_to_the_table(open_page):
    page = open_page("/datasets/people?rows=sex", viewport=PHONE)
    page.get_by_role("link", name="Go to the table").click()
    assert 0 <= page.locator("#result-title").bounding_box()["y"] < 200


CONTRAST = """
() => {
  const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const behind = element => {
    for (let e = element; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
    const a = light(parse(getComputedStyle(element).color)), b = light(behind(element));
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), walker.currentNode.textContent.trim()]);
  }
  return found;
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", PAGES)
def test_all_text_has_the_contrast_of_wcag_aa(open_page, address, scheme):
    page = open_page(address, scripts=True, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    found = page.evaluate(CONTRAST)
    assert len(found) > 5
    assert [(ratio, text) for ratio, text in found if ratio < WCAG_AA] == []


def test_the_dark_theme_is_dark_and_the_light_one_light(open_page):
    def brightness(scheme):
        page = open_page("/", scripts=True, color_scheme=scheme)
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)))

    assert brightness("dark") < 150
    assert brightness("light") > 600


@pytest.mark.parametrize("address", PAGES)
def test_headings_go_down_one_level_at_a_time_and_every_field_has_a_name(open_page, address):
    page = open_page(address, scripts=True)
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    unnamed = page.evaluate(
        "[...document.querySelectorAll('select,input')]"
        ".filter(field => !field.labels.length || !field.labels[0].textContent.trim()).length"
    )
    assert unnamed == 0


def test_on_paper_there_is_the_table_with_its_note_and_nothing_to_click(open_page):
    page = open_page("/datasets/people?rows=district&columns=sex")
    page.emulate_media(media="print")
    assert not page.locator(".side").is_visible()
    assert page.locator(".note").is_visible()
    region = page.locator(".scroll").bounding_box()
    table = page.locator("table.grid").bounding_box()
    assert table["height"] <= region["height"] + 2, "nothing is hidden by a scroll bar"


@pytest.mark.parametrize("address", PAGES)
def test_nothing_is_blocked_by_the_content_security_policy(chromium, base_url, address):
    context = chromium.new_context()
    page = context.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("requestfailed", lambda request: complaints.append(request.url))
    page.goto(base_url + address)
    context.close()
    # The browser itself reports the status of a page that is an error on purpose.
    assert [
        text for text in complaints if not text.startswith("Failed to load resource: the server responded")
    ] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", PAGES)
def test_axe_finds_nothing(open_page, address, scheme):
    if not AXE:
        pytest.skip("no axe-core: set DISCREET_AXE to the path of axe.min.js (npm pack axe-core)")
    page = open_page(address, scripts=True, color_scheme=scheme)
    page.evaluate(Path(AXE).read_text("utf-8"))
    violations = page.evaluate("axe.run().then(result => result.violations)")
    assert [(v["id"], [node["html"][:120] for node in v["nodes"][:3]]) for v in violations] == []


def test_the_data_block_of_a_page_is_read_by_machines_and_breaks_no_policy(open_page):
    """A script that runs, or a label that ends the block early, would be reported or be markup."""
    page = open_page("/datasets/hostile?rows=bad&columns=good", scripts=True)
    told = []
    page.on("console", lambda message: told.append(message.text))
    page.reload()
    block = page.locator('script[type="application/ld+json"]')
    assert block.evaluate("e => JSON.parse(e.textContent)['@type']") == "Dataset"
    assert page.locator("script").count() == 1
    assert told == []
