"""The registry of papers, and what every exhibit of every paper must be."""

import json
from functools import cache

import pytest

from discreet.errors import BadRequest
from discreet_studies.exhibit import Effort
from discreet_studies.papers import PAPERS, papers, wanted_exhibits

QUICK = Effort(quick=True)
#: What the command promises, by paper.
PROMISED = {
    "rinott2018": ["table 2", "table 3", "figure 1", "figure 2", "figure 3", "figure 4", "section 7"],
    "shlomo2019": [*(f"table {n}" for n in range(1, 6)), *(f"figure {n}" for n in range(1, 5))],
    "yang2012": ["table 7", "table 8", *(f"figure {n}" for n in range(1, 7))],
    "sadeghi2022": [*(f"example {n}" for n in range(1, 4)), *(f"figure {n}" for n in range(1, 6))],
    "bailie2020": ["table 2"],
}
EXHIBITS = [(paper, name) for paper in PROMISED for name in PAPERS[paper].exhibits()]


class Look(Effort):
    """Less than quick: two runs at each of five ε are enough to see that a figure is what its runs are."""

    def of(self, full: int, quick: int) -> int:
        return quick // 3


@cache
def exhibit_of(paper, name):
    """An exhibit, made once for the tests of all papers and of each."""
    return PAPERS[paper].exhibits()[name](Look(quick=True) if paper == "yang2012" else QUICK)


def test_the_five_papers_are_listed():
    assert list(PAPERS) == ["rinott2018", "shlomo2019", "yang2012", "sadeghi2022", "bailie2020"]
    assert [paper.name for paper in papers("all")] == list(PAPERS)


@pytest.mark.parametrize("paper", PROMISED)
def test_every_promised_exhibit_is_there(paper):
    assert set(PROMISED[paper]) <= set(PAPERS[paper].exhibits())


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "name"), EXHIBITS)
def test_an_exhibit_has_the_name_it_is_asked_for_and_numbers_that_json_can_hold(paper, name):
    exhibit = exhibit_of(paper, name)
    assert exhibit.name == name
    assert exhibit.findings
    assert json.loads(json.dumps(exhibit.document(), allow_nan=False))["name"] == name
    assert len({finding.what for finding in exhibit.findings}) == len(exhibit.findings)


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "name"), EXHIBITS)
def test_what_differs_says_why(paper, name):
    exhibit = exhibit_of(paper, name)
    for finding in [*exhibit.findings, *(f for reading in exhibit.readings for f in reading.findings)]:
        assert finding.agrees is not False or finding.why, finding.what


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "name"), EXHIBITS)
def test_a_reading_has_printed_numbers_of_its_exhibit_and_says_that_the_text_says_otherwise(paper, name):
    exhibit = exhibit_of(paper, name)
    printed = {finding.what: finding.printed for finding in exhibit.findings}
    for reading in exhibit.readings:
        assert reading.note.startswith("The text says otherwise")
        assert {f.what: f.printed for f in reading.findings}.items() <= printed.items()


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "name"), [("rinott2018", "figure 2"), ("shlomo2019", "figure 1")])
def test_a_seed_repeats_and_another_seed_does_not(paper, name):
    make = PAPERS[paper].exhibits()[name]
    first, again, other = (make(Effort(quick=True, seed=seed)).findings for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_an_unknown_paper_is_refused_with_the_nearest():
    with pytest.raises(BadRequest, match="rinott2018"):
        papers("rinot")


def test_an_unknown_exhibit_is_refused_with_the_list():
    with pytest.raises(BadRequest, match=r"bailie2020 has no figure 7 here\. It has: table 2, section 4"):
        wanted_exhibits(PAPERS["bailie2020"], ["figure 7"])
    assert wanted_exhibits(PAPERS["bailie2020"], []) == ["table 2", "section 4"]
