"""The theme: the system's, until the reader chooses another; the choice is kept, and nothing flashes."""

import pytest

pytestmark = pytest.mark.browser


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
