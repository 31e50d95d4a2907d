"""The display of a notebook: the page's looks, the note in sight, and hostile labels that stay text."""

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import discreet
from discreet.api.notebook import SHOWN, STYLE, figure, listing
from discreet.model.shape import Output

STYLESHEET = Path(discreet.__file__).parent / "web/static/css/base.css"


class Elements(HTMLParser):
    """The elements of a fragment; it fails where one is not closed."""

    def __init__(self, html):
        super().__init__()
        self.open, self.found = [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def count(self, tag):
        return sum(found == tag for found, _ in self.found)


@pytest.fixture
def catalogue(town_workspace):
    with discreet.open(town_workspace.folder) as opened:
        yield opened


def test_the_note_stands_above_the_numbers_and_all_elements_are_closed(town_release):
    html = figure(town_release)
    Elements(html)
    assert html.index(town_release.notes[0][:40]) < html.index("<table")
    assert town_release.digest[:8] in html
    assert "[z] Not applicable" in html


def test_colours_are_those_of_the_page_in_light_and_dark():
    """Wrong: colours of one's own, which drift from the page's."""
    page = STYLESHEET.read_text("utf-8")
    for name in ("ink", "muted", "paper", "line", "total", "note", "note-line"):
        both = page.split(f"--{name}: light-dark(")[1].split(")")[0].split(", ")
        for ours, colour in zip(STYLE.split("@media (prefers-color-scheme:dark)"), both, strict=True):
            assert f"--{name}:{colour};" in ours + ";" or f"--{name}:{colour}}}" in ours, name


def test_the_style_touches_nothing_but_our_own_figure():
    rules = (
        STYLE.removeprefix("<style>")
        .removesuffix("</style>")
        .replace("@media (prefers-color-scheme:dark){", "")
    )
    selectors = [rule.rpartition("}")[2] for rule in rules.split("{")[:-1]]
    assert len(selectors) > 10
    assert all(selector.startswith("figure.discreet") for selector in selectors)


def test_every_number_stands_under_its_header(catalogue):
    table = catalogue.table("town", rows=["sex"], columns=["age", "job"])
    found = Elements(figure(table.release))
    spans = [int(attributes.get("colspan", 0)) for tag, attributes in found.found if tag == "th"]
    assert sum(span for span in spans if span == 5) == 20  # four ages over five jobs each
    assert found.count("td") == table.release.cells
    assert figure(table.release).count("1,") or "Total" in figure(table.release)


def test_a_large_table_is_cut_and_says_so(catalogue):
    release = catalogue.table("town", rows=["area", "age"], columns=["job", "sex", "region"]).release
    html = figure(release)
    assert "Shown in part" not in html  # 24 lines of 45 numbers
    assert Elements(html).count("td") == release.cells
    small = catalogue.table("town", rows=["area", "age", "job"])
    assert "Shown in part" in figure(small.release)
    assert Elements(figure(small.release)).count("td") == SHOWN
    assert "Shown in part" not in figure(catalogue.table("town", rows=["area"]).release)


def test_hostile_labels_stay_text(town_release):
    age = town_release.dimensions[0]
    bad = Output("x", "<script>alert(1)</script>\x1b[31m\u202e", (0,))
    hostile = replace(
        town_release,
        dimensions=(
            replace(age, label="</style><img src=x>", outputs=(bad, *age.outputs[1:])),
            *town_release.dimensions[1:],
        ),
        dataset=replace(town_release.dataset, source='"/><script>'),
    )
    html = figure(hostile)
    found = Elements(html)
    assert not {"script", "img"} & {tag for tag, _ in found.found}
    assert "\x1b" not in html
    assert not {"script"} & {
        tag for tag, _ in Elements(listing([("<script>", "b")], ("<i>", "y"), "<b>")).found
    }
