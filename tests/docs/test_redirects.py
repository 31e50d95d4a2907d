"""Links to the documentation keep working: every page of 0.2.0 is still there, or redirects to one that is."""

import re
import tomllib

import pytest

from .pages import DOCS, ROOT

FORMER = (ROOT / "tests/docs/pages-0.2.0.txt").read_text("utf-8").split()
REDIRECTS = tomllib.loads((DOCS / "site/redirects.toml").read_text("utf-8"))


def source(page):
    """The file of a page, or None."""
    return next((p for p in (DOCS / f"{page}.md", DOCS / f"{page}.ipynb") if p.is_file()), None)


def anchors(text):
    """The anchors of the headings of a page, as GitHub and the site make them."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", FORMER)
def test_a_former_page_is_there_or_redirects(page):
    assert (source(page) is None) == (page in REDIRECTS)


@pytest.mark.parametrize(("former", "target"), REDIRECTS.items(), ids=REDIRECTS)
def test_a_redirect_leads_to_a_page_and_a_section_that_exist(former, target):
    page, _, section = target.partition("#")
    assert former in FORMER
    assert source(page) is not None
    assert not section or section in anchors(source(page).read_text("utf-8"))
