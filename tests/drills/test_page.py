"""The page of the drills is made from their figures, and no fault ended otherwise than it may."""

import json
import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "drills"))
FIGURES = json.loads((ROOT / "docs" / "evidence" / "drills.json").read_text("utf-8"))


def drills():
    """The names of the tests that note figures."""
    for path in (ROOT / "tests").rglob("test_*.py"):
        for test in re.split(r"^def test_", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
            if re.search(r"^    drill\.note\(", test, re.MULTILINE):
                yield test.partition("(")[0]


def test_the_page_is_made_from_the_figures():
    """An edit of the page by hand, or of the figures alone, is the wrong alternative."""
    page = (ROOT / "docs" / "evidence" / "drills.md").read_text("utf-8")
    assert page == SCRIPT["page"](FIGURES)
    name = next(iter(FIGURES))
    assert page != SCRIPT["page"]({**FIGURES, name: {**FIGURES[name], "kills": -1}})


def test_all_figures_and_paragraphs_are_of_drills_that_there_are():
    known = set(drills())
    assert len(known) > 10
    assert {name.partition("[")[0] for name in FIGURES} | set(SCRIPT["DRILLS"]) <= known


def test_no_fault_of_the_page_ended_otherwise():
    """What a drill forbids is counted on the page, and is nought."""
    forbidden = (
        "uncharged",
        "lost",
        "other",
        "wrong",
        "half",
        "two_stories",
        "keys_outside",
        "charged_twice",
        "beyond",
        "failed",
    )
    every = [(name, what, count) for name, figures in FIGURES.items() for what, count in figures.items()]
    found = [each for each in every if each[1].startswith((*forbidden, "charges_lost"))]
    assert len(found) > 5
    assert not [each for each in found if each[2]]
