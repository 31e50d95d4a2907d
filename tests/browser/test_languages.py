"""Pages for everybody: two languages, right to left, colours of one's own, less motion, twice the size."""

import re

import pytest
from tests.web.pseudo import CODE, PSEUDO

from discreet.web.i18n.translation import languages

from .test_page import PHONE
from .waiting import violations

pytestmark = pytest.mark.browser

TABLE = "/datasets/people?rows=age&columns=sex"
STATES = [
    "/",
    TABLE,
    "/datasets/people?rows=district&columns=age,sex,job,origin",
    "/datasets/people/methodology",
]
#: A window of 1366 by 768 at a zoom of 200 %.
TWICE = {"width": 683, "height": 384}


@pytest.fixture
def right_to_left():
    """The invented language beside the others."""
    languages()[CODE] = PSEUDO
    yield
    del languages()[CODE]


def speak(page, language):
    """Choose a language of the menu."""
    page.locator(".languages > summary").click()
    page.get_by_role("link", name=language).click()


def _sideways(page):
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_reader_chooses_german_and_keeps_it_from_link_to_link_without_a_cookie(open_page, scripts):
    page = open_page(TABLE, scripts=scripts)
    assert page.locator("html").get_attribute("lang") == "en"
    speak(page, "Deutsch")
    page.wait_for_url(re.compile("lang=de"))
    assert page.locator("html").get_attribute("lang") == "de"
    assert (
        page.locator("#result-title").inner_text() == "Persons nach Age und Sex"
    )  # the dataset has English labels only
    assert "Insgesamt" in page.locator("table.grid").first.inner_text()
    page.locator("#show > summary").click()
    page.get_by_role("link", name="Spalten-%").click()
    page.wait_for_url(re.compile("percent=column"))
    assert "lang=de" in page.url
    assert page.locator(".languages a[lang=en]").get_attribute("href").count("percent=column") == 1
    page.get_by_role("link", name="Datenbestände", exact=True).first.click()
    page.wait_for_url(re.compile(r"/\?lang=de"))
    assert page.context.cookies() == []
    speak(page, "English")
    page.wait_for_url(re.compile("lang=en"))
    assert page.locator("html").get_attribute("lang") == "en"


def test_the_browsers_language_is_spoken_and_numbers_are_written_in_it(open_page):
    page = open_page("/datasets/census-dp?rows=sex", locale="de-DE")
    assert page.locator("html").get_attribute("lang") == "de"
    assert page.locator(".crumb summary").inner_text().startswith("Volkszählung von Halvern")
    assert page.locator("h1").inner_text() == "Personen nach Geschlecht"
    cells = page.locator("table.grid td:not(.plot)").all_inner_texts()
    assert any(re.match(r"\d\.\d{3}", text) for text in cells), cells
    assert not any("," in text.split("\n")[0] for text in cells)


@pytest.mark.parametrize("state", STATES)
def test_right_to_left_every_page_turns_around_and_axe_finds_nothing(open_page, right_to_left, state):
    for viewport in ({"width": 1366, "height": 768}, PHONE):
        page = open_page(state, scripts=True, locale=CODE, viewport=viewport)
        assert page.locator("html").get_attribute("dir") == "rtl"
        assert _sideways(page) == 0
        if state == TABLE:
            label, value = (
                page.locator("table.grid tbody th").first,
                page.locator("table.grid tbody td:not(.plot)").first,
            )
            assert label.bounding_box()["x"] > value.bounding_box()["x"]
    assert violations(page) == []


def test_colours_of_ones_own_keep_edges_and_focus(open_page):
    page = open_page(TABLE, scripts=True, forced_colors="active")
    page.locator("#show > summary").click()
    for button in page.locator("a.btn:visible, button:visible").all():
        assert button.evaluate("e => getComputedStyle(e).borderTopStyle") != "none"
    shown, other = page.locator("#show .pop a").nth(0), page.locator("#show .pop a").nth(1)
    looks = [each.evaluate("e => getComputedStyle(e).backgroundColor") for each in (shown, other)]
    assert looks[0] != looks[1]  # what is chosen was told by a colour of ours
    inks = page.locator("#show .pop a").evaluate_all("all => all.map(each => getComputedStyle(each).color)")
    assert len(set(inks)) == 2, "the ink of what is chosen belongs to its ground"
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    assert page.evaluate("matchMedia('(forced-colors: active)').matches")


def test_less_motion_means_none(open_page):
    page = open_page(TABLE, scripts=True, reduced_motion="reduce")
    slow = """[...document.querySelectorAll('*')].filter(e => {
      const style = getComputedStyle(e);
      return [...style.transitionDuration.split(','), ...style.animationDuration.split(',')].some(t => parseFloat(t) > 0.001)
        || style.scrollBehavior === 'smooth';
    }).map(e => e.outerHTML.slice(0, 80))"""
    assert page.evaluate(slow) == []


@pytest.mark.parametrize("state", STATES)
def test_at_twice_the_size_and_in_german_nothing_is_cut_off(open_page, state):
    page = open_page(state, scripts=True, locale="de", viewport=TWICE)
    assert _sideways(page) == 0
    assert violations(page) == []
