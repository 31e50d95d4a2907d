"""Every picture of a reproduced paper renders, and shows what it should."""

import re

import pytest
from tests.studies.test_exhibit import exhibit_of

from discreet.pictures.save import render
from discreet_studies.exhibit import Effort
from discreet_studies.papers import PAPERS
from discreet_studies.pictures.rinott2018 import rejected_shares

pytestmark = pytest.mark.slow

QUICK = Effort(quick=True)
SHOWN = {
    ("rinott2018", "table 2"): "Laplace noise stays nearer",
    ("rinott2018", "figure 1"): "Cramér's V",
    ("rinott2018", "figure 2"): "p-value of Pearson's test",
    ("rinott2018", "figure 3"): "Loss l3",
    ("rinott2018", "figure 4"): "H0: p = 0.7 (false)",
    ("rinott2018", "section 7"): "Everything, each on its own",
    ("shlomo2019", "table 2"): "Residual by 15",
    ("shlomo2019", "figure 1"): "Drop/add-up-to-q",
    ("shlomo2019", "figure 2"): "A strong relation is seen",
    ("shlomo2019", "figure 3"): "PRAM Avg cell",
    ("shlomo2019", "figure 4"): "Naive p-values fall",
    ("bailie2020", "table 2"): "An invariant makes the estimate useful",
}


def words_of(chart):
    svg = render(chart, "svg").decode("utf-8")
    assert not re.search(r"\bNaN\b|Infinity", svg)
    return re.sub(r"<[^>]+>", " ", svg).replace("&#39;", "'").replace("&apos;", "'")


@pytest.mark.parametrize(("paper", "name"), SHOWN)
def test_a_picture_renders_with_its_words(paper, name):
    assert SHOWN[paper, name] in words_of(exhibit_of(paper, name).picture())


def test_shares_of_rejected_tables_stand_by_kind_and_setting():
    shares = [
        {"setting": f"ε = {e}, m = 7, {kind}", "test": test, "ours": 50.0, "printed": 40.0}
        for e in (0.1, 0.5)
        for kind in ("independent", "dependent")
        for test in ("Original", "Naive", "LR test")
    ]
    words = words_of(rejected_shares(shares))
    assert words.count("Noise-aware test") == words.count("Naive test") == 4
    assert words.count("ε = 0.5, m = 7") == 2


def test_every_figure_has_a_picture():
    for paper in ("rinott2018", "shlomo2019"):
        for name in PAPERS[paper].exhibits():
            assert not name.startswith("figure") or (paper, name) in SHOWN
