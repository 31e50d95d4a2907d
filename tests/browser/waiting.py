"""Waiting for what a page does, as long as it takes: a fixed pause is too short for a busy machine."""

import pytest

SECONDS = 30


def until(page, happened):
    """Ask until it is so, and give what was answered. The policy of our pages forbids `wait_for_function`."""
    for _ in range(SECONDS * 50):
        if answer := happened():
            return answer
        page.wait_for_timeout(20)  # what the browser tells is heard meanwhile
    pytest.fail(f"after {SECONDS} seconds it has not happened")


def settled(page):
    """The page once no answer and no module is on its way. A frame for other sites has no script to wait for."""
    if page.locator("script[src*='js/main']").count():
        page.locator("html[data-ready]:not([data-busy])").wait_for()
    return page
