"""Every picture of a reproduced paper renders, and shows what it should."""

import re

import pytest
from tests.studies.test_exhibit import exhibit_of

from discreet.pictures.drawing import render

pytestmark = pytest.mark.slow

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
