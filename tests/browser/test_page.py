"""The pages in a real browser: without scripts, by keyboard, on a phone, in the dark, on paper."""

import itertools
from pathlib import Path

import pytest

from .waiting import settled, until, violations

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
    "/api",
    "/?search=country",
    "/embed/datasets/people?rows=sex&columns=age",
]
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1366, "height": 768}
OPEN_ALL = "document.querySelectorAll('details:not([name])').forEach(details => (details.open = true))"


def test_a_table_is_built_filtered_and_downloaded_without_scripts(open_page):
    page = open_page("/")
    page.get_by_role("link", name="People of Smallville").click()
    page.locator("#add-job").click()
    page.locator("#menu-age summary").click()
    page.get_by_role("link", name="Remove Age").click()
    page.locator("#about-origin summary").click()
    page.get_by_role("link", name="Choose among 4 categories").click()
    page.get_by_label("Country 2").check()
    page.get_by_role("button", name="Count only these").click()
    page.locator("#about-district summary").click()
    page.get_by_role("link", name="Choose among 48 categories").click()
    page.get_by_label("Find by name or code, or as a range").fill("D01..D03")
    page.get_by_role("button", name="Find").click()
    page.get_by_role("button", name="Select all").click()
    page.get_by_role("button", name="Count only these").click()
    assert page.url.endswith("?rows=job&columns=sex&filter=district=D01,D02,D03&filter=origin=2#table")
    title = page.locator("#result-title").inner_text()
    assert title == (
        "Persons by job and sex (only District: District 1, District 2, District 3; Country of birth: Country 2)"
    )
    assert page.locator("table.grid tbody tr").count() == 4
    assert page.locator("#only-origin").inner_text() == "Country of birth: Country 2"
    page.locator("#download > summary").click()
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
    until(page, lambda: region.evaluate(shadow) == 0)
    page = open_page("/datasets/people?rows=sex")
    assert page.locator(".across").first.evaluate(shadow) == 0


def test_the_skip_link_shows_itself_when_it_has_the_focus(open_page):
    for address, words in (
        ("/datasets/people?rows=age", "Skip to the table"),
        ("/errors", "Skip to the content"),
    ):
        page = open_page(address)
        page.keyboard.press("Tab")
        assert page.locator(":focus").inner_text() == words
        box = page.locator(":focus").bounding_box()
        assert min(box["x"], box["y"]) >= 0


def test_the_first_number_is_25_tabs_away_and_6_by_the_skip_link(open_page):
    """Wrong: each variable, each tool and each cell a stop of its own: 63 of them."""
    page = open_page("/datasets/people?rows=region&columns=sex", scripts=True, viewport=DESK)
    page.locator("table[role=grid]").wait_for()
    for _ in range(25):
        page.keyboard.press("Tab")
        if page.locator("td:focus").count():
            break
    else:
        pytest.fail("25 tabs do not reach a number")
    page.keyboard.press("ArrowDown")
    assert page.locator("td:focus").count() == 1, "within the table arrows move"
    page.goto(page.url)
    settled(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    for _ in range(4):
        page.keyboard.press("Tab")
        if page.locator("td:focus").count():
            return
    pytest.fail("the skip link does not lead to the table")


@pytest.mark.parametrize("size", [(1440, 900), (1280, 800), (820, 1180), (390, 844)])
@pytest.mark.parametrize("scripts", [True, False])
def test_the_first_row_stands_high_on_the_page(open_page, size, scripts):
    """591 and 484 pixels before the pages were redrawn."""
    width, height = size
    page = open_page(
        "/datasets/people?rows=region&columns=sex",
        scripts=scripts,
        viewport={"width": width, "height": height},
    )
    assert page.locator("tbody tr").first.bounding_box()["y"] <= (340 if width < 640 else 330)
    assert page.locator("h1").all_inner_texts() == ["Persons by region and sex"]


def test_the_scrolling_region_takes_the_focus_and_scrolls_with_the_arrows(open_page):
    page = open_page("/datasets/people?rows=sex&columns=job,origin", scripts=True, viewport=PHONE)
    region = page.get_by_role("region", name="Persons by sex, job and country of birth")
    region.focus()
    page.keyboard.press("ArrowRight")
    until(page, lambda: region.evaluate("element => element.scrollLeft") > 0)
    label = page.locator("tbody th[scope=row]").first
    assert abs(label.bounding_box()["x"] - region.bounding_box()["x"]) < 3, "the row labels stay in sight"


def test_the_header_stays_in_sight_while_a_long_table_scrolls(open_page):
    page = open_page(
        "/datasets/people?rows=district&columns=sex", scripts=True, viewport={"width": 1000, "height": 500}
    )
    region = page.locator(".scroll")
    region.evaluate("element => element.scrollTop = 400")
    assert abs(page.locator("thead").bounding_box()["y"] - region.bounding_box()["y"]) < 3


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
def test_on_a_phone_the_header_is_one_line(open_page, locale):
    page = open_page("/datasets/people?rows=sex", scripts=True, viewport=PHONE, locale=locale)
    assert page.locator("#theme").is_visible()
    assert page.locator("header.bar").bounding_box()["height"] < 60


def heard_on(page):
    """What the browser will complain of, but for the status of a page that is an error on purpose."""
    complaints = []
    expected = "Failed to load resource: the server responded"
    page.on("console", lambda told: told.text.startswith(expected) or complaints.append(told.text))
    page.on("requestfailed", lambda request: complaints.append(request.url))
    return complaints


@pytest.mark.parametrize("address", PAGES)
def test_a_page_breaks_no_policy_fits_a_phone_and_is_read_by_everybody(chromium, base_url, address):
    """No script is blocked; headings go down one level at a time, every field has a name, axe finds nothing."""
    context = chromium.new_context(color_scheme="light", viewport=PHONE)
    page = context.new_page()
    complaints = heard_on(page)
    page.goto(base_url + address)
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => Number(h.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    unnamed = page.evaluate(
        "[...document.querySelectorAll('select,input:not([type=hidden])')]"
        ".filter(field => !field.labels.length || !field.labels[0].textContent.trim()).length"
    )
    assert unnamed == 0
    page.evaluate(OPEN_ALL)
    page.evaluate("new Promise(done => setTimeout(done))")  # the page has seen that they are open
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.set_viewport_size({"width": 1280, "height": 720})
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    until(page, lambda: ground(page) == "dark")
    assert violations(page, "{runOnly: ['color-contrast']}") == []  # nothing else depends on the scheme
    assert complaints == []
    context.close()


def test_on_paper_there_is_the_table_with_its_note_and_nothing_to_click(open_page):
    page = open_page("/datasets/people?rows=district&columns=sex")
    page.emulate_media(media="print")
    assert not page.locator(".side").is_visible()
    assert page.locator("a:visible:not(thead a), button:visible").all_inner_texts() == []
    assert page.get_by_text("Totals are adjusted separately").last.is_visible()
    region = page.locator(".scroll").bounding_box()
    table = page.locator("table.grid").bounding_box()
    assert table["height"] <= region["height"] + 2, "nothing is hidden by a scroll bar"


def test_the_datasets_of_the_first_page_show_all_that_they_hold(open_page):
    """Wrong: a line that lies over the title of its dataset."""
    page = open_page("/", scripts=True, viewport={"width": 1366, "height": 500})
    covered = page.locator(".ds > div").evaluate_all(
        """cards => cards.flatMap(card => {
          card.scrollIntoView();
          return [...card.querySelectorAll("h3, p, .tags")].filter((each, at, all) => all.some(other =>
            other !== each && other.getBoundingClientRect().top < each.getBoundingClientRect().bottom - 1
              && each.getBoundingClientRect().top < other.getBoundingClientRect().bottom - 1));
        }).length"""
    )
    assert covered == 0
    assert page.locator(".ds").count() > 1


def ground(page):
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return "dark" if sum(int(part) for part in colour[4:-1].split(",")) < 200 else "light"


def test_the_switch_changes_the_theme_keeps_it_and_gives_it_back_to_the_system(open_page):
    page = open_page("/", scripts=True, color_scheme="light")
    switch = page.get_by_role("button", name="Dark theme")
    assert (ground(page), switch.get_attribute("aria-pressed")) == ("light", "false")
    switch.click()
    assert (ground(page), switch.get_attribute("aria-pressed")) == ("dark", "true")
    page.goto(page.url + "errors")
    assert ground(page) == "dark"
    page.get_by_role("button", name="Dark theme").click()
    page.emulate_media(color_scheme="dark")
    page.locator("html[data-theme=dark]").wait_for(state="attached")
    assert ground(page) == "dark", "who went back to the theme of the system follows it"


def test_without_scripts_there_is_no_switch_and_the_system_decides(open_page):
    assert ground(open_page("/", color_scheme="light")) == "light"
    page = open_page("/", color_scheme="dark")
    assert ground(page) == "dark"
    assert not page.locator("#theme").is_visible()
    assert page.locator("html").get_attribute("data-theme") is None
