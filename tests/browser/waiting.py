"""Waiting for what a page does, as long as it takes, and what axe finds wrong on it.

A fixed pause is too short for a busy machine.
"""

from pathlib import Path

import axe_playwright_python
import pytest

SECONDS = 30
#: axe-core, as a package of the Python index brings it.
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")


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


def violations(page, rules="{}"):
    """What axe finds: the rule, and the elements that break it."""
    page.evaluate(AXE)
    found = page.evaluate(f"axe.run({rules}).then(result => result.violations)")
    return [(each["id"], [node["html"][:160] for node in each["nodes"][:3]]) for each in found]
