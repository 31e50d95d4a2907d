"""The stylesheet and the scripts: joined in order, named by what they hold, kept for good under that name."""

import re

from discreet.web.assets import FINGERPRINT, FOR_GOOD, PARTS, STATIC, STYLESHEET

from .conftest import Page


def test_every_part_is_in_the_stylesheet_once():
    assert {path.stem for path in (STATIC / "css").iterdir()} == set(PARTS)
    assert STYLESHEET.count("--accent-ink:") == 1


def test_a_page_names_files_of_one_fingerprint_that_are_kept_for_good(client):
    page = Page(client.get("/"))
    named = [e["href"] for e in page.all("link") if e["rel"] in {"icon", "stylesheet"}]
    named += [e["src"] for e in page.all("script") if "src" in e]
    assert len(named) == 3
    for address in named:
        assert FINGERPRINT in address
        assert client.get(address).headers["cache-control"] == FOR_GOOD


def test_without_the_fingerprint_a_file_is_the_same_and_not_kept_for_good(client):
    for path in ("discreet.css", "js/main.js"):
        fresh, kept = client.get(f"/static/{path}"), client.get(f"/static/{FINGERPRINT}/{path}")
        assert fresh.content == kept.content
        assert "immutable" not in fresh.headers.get("cache-control", "")
    assert client.get("/static/000000000000/js/main.js").status_code == 404


def test_styles_have_no_left_or_right():
    """A page that is written from right to left turns around: every rule names start and end."""
    sided = re.compile(
        r"(?:^|[\s;{])(?:(?:margin|padding|border)-(?:left|right)|left|right)\s*:|(?:text-align|float):\s*(?:left|right)"
    )
    assert sided.search(".x { margin-left: 0 }")
    assert sided.search(".x{ left: 0 }")
    assert not sided.search(".x { margin-inline-start: 0; text-align: end }")
    found = [line for line in STYLESHEET.splitlines() if sided.search(line)]
    assert [
        line for line in found if "inset-inline-start: auto; left:" not in line
    ] == []  # it follows the pointer
