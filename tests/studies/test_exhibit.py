"""What agrees is decided by a stated tolerance and a stated relation, never by hand."""

import json
from functools import cache
from math import hypot, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from discreet_studies.compute import Done, compute_all
from discreet_studies.exhibit import Effort, Exhibit, Finding, Reading
from discreet_studies.findings_page import document, markdown, reasons, write
from discreet_studies.measures import entropy_risk
from discreet_studies.monte_carlo import ERRORS, error_finding, mean_finding, share_finding
from discreet_studies.papers import PAPERS


@pytest.mark.parametrize(
    ("printed", "ours", "tolerance", "relation", "agrees"),
    [
        (0.46, 0.4621, 0.005, "=", True),
        (0.46, 0.4721, 0.005, "=", False),
        (120.0, 120.0, 0.0, "=", True),
        (0.005, 0.004, 0.0, "<=", True),
        (0.005, 0.005, 0.0, "<=", True),
        (0.005, 0.0056, 0.0, "<=", False),
        (2.0, 3.0, 0.0, ">=", True),
        (2.0, 1.999, 0.0, ">=", False),
        (None, 1.5, 0.0, "=", None),
    ],
)
def test_the_verdict_of_a_finding(printed, ours, tolerance, relation, agrees):
    assert Finding("x", printed, ours, tolerance, relation=relation).agrees is agrees


@pytest.mark.parametrize("relation", ["<=", ">="])
def test_a_bound_has_no_tolerance_that_lets_a_number_beyond_it_pass(relation):
    """The wrong alternative: 0.0056 with three of its errors, 0.002, taken for "less than 0.005"."""
    with pytest.raises(ValueError, match=r"a bound has no tolerance, 0\.002 was given"):
        Finding("interquartile range", 0.005, 0.0056, 0.002, relation=relation)


def test_another_reading_is_counted_apart():
    literal, other = (Finding("a", 1, 2), Finding("b", 1, 2)), (Finding("a", 1, 1), Finding("b", 1, 2))
    exhibit = Exhibit("table 1", "t", literal, readings=(Reading("b read otherwise", "why", other),))
    assert exhibit.verdict == (0, 2, 0)
    (reading,) = exhibit.document()["readings"]
    assert (reading["name"], reading["note"]) == ("b read otherwise", "why")
    assert (reading["agree"], reading["printed"]) == (1, 2)
    assert [f["agrees"] for f in reading["findings"]] == [True, False]


QUICK = Effort(quick=True)
JOBS = [("bailie2020", "table 2"), ("shlomo2019", "table 4"), ("bailie2020", "section 4")]


@pytest.mark.slow
def test_processes_give_what_one_process_gives_in_the_order_of_the_jobs():
    heard = []
    alone = compute_all(JOBS, QUICK, draw=False, processes=1, report=heard.append)
    apart = compute_all(JOBS, QUICK, draw=False, processes=2, report=heard.append)
    assert [(d.paper, d.exhibit) for d in alone] == [(d.paper, d.exhibit) for d in apart]
    assert [(d.paper, d.exhibit.name) for d in alone] == JOBS
    assert len(heard) == 2 * len(JOBS)


#: The chance that one comparison disagrees although both sides simulate the same thing.
CHANCE = 2 * norm.sf(ERRORS)
#: The chance that a count of disagreements fails a test here although nothing is wrong.
FALSE_ALARM = 1e-4
COMPARISONS = 2000


def most_disagreements():
    return binom.isf(FALSE_ALARM, COMPARISONS, CHANCE)


def disagreements(finding, shift=0.0):
    """How many of many pairs of simulations (1,000 runs printed, 400 of ours) disagree."""
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(COMPARISONS):
        printed, ours = rng.normal(5 + shift, 2, 1000), rng.normal(5, 2, 400)
        found += finding(printed, ours).agrees is False
    return found


def test_two_means_of_one_distribution_rarely_disagree_and_shifted_ones_mostly_do():
    def of(printed, ours):
        return mean_finding("m", float(printed.mean()), ours, rounding=0.0, printed_runs=1000)

    # The spread is estimated from 400 runs: allow a little more than the normal tail.
    assert disagreements(of) <= 1.5 * most_disagreements()
    assert disagreements(of, shift=0.6) > 0.95 * COMPARISONS


def test_two_standard_errors_of_one_distribution_rarely_disagree():
    def of(printed, ours):
        return error_finding("s", float(printed.std() / np.sqrt(1000)), ours, rounding=0.0, printed_runs=1000)

    assert disagreements(of) <= 1.5 * most_disagreements()
    rng = np.random.default_rng(1)
    assert of(rng.normal(0, 3, 1000), rng.normal(0, 2, 4000)).agrees is False


def test_a_share_of_one_hundred_percent_still_has_room_for_chance_and_no_more():
    always = np.ones(1000, dtype=bool)
    assert share_finding("p", 99.6, always, rounding=0.05, printed_runs=1000).agrees is True
    assert share_finding("p", 79.3, always, rounding=0.05, printed_runs=1000).agrees is False


@pytest.mark.parametrize("rounding", [0.0, 0.05, 0.5])
def test_a_size_of_eight_percent_is_not_five_of_a_thousand_tables_each(rounding):
    """The wrong alternative adds the rounding to three errors: it takes 8.4 % for 5.0 %."""
    hits = np.arange(1000) < 84
    found = share_finding("size", 5.0, hits, rounding=rounding, printed_runs=1000)
    assert found.agrees is False
    if rounding:
        errors = np.sqrt(found.tolerance**2 - rounding**2)
        assert rounding + errors >= found.ours - 5.0
    same = share_finding("size", 5.0, np.arange(1000) < 55, rounding=rounding, printed_runs=1000)
    assert same.agrees is True


def test_a_right_number_fails_by_chance_at_most_once_in_42():
    """A print that is rounded (uniform within h = 1) after its runs: over all sizes of the error beside h."""
    rounding = np.linspace(-1, 1, 4001)
    chances = {}
    for error in np.geomspace(0.002, 100, 200):
        limit = hypot(1, ERRORS * error)
        beyond = norm.sf((limit - rounding) / error) + norm.cdf((-limit - rounding) / error)
        chances[error] = float(beyond.mean())
    assert 1 / 43 < max(chances.values()) <= 1 / 42
    assert chances[max(chances)] == pytest.approx(CHANCE, rel=0.01)
    assert chances[min(chances)] < 1e-3


COUNTS = st.lists(st.integers(0, 40), min_size=6, max_size=6).filter(lambda c: sum(c) > 0 and max(c) < sum(c))


def slow_risk(a, b):
    """RM by the paper's three sums, with log 0 as 0."""

    def log0(x):
        return log(x) if x > 0 else 0.0

    n, m = sum(a), sum(b)
    a, b, n = [x * m for x in a], [x * n for x in b], n * m
    low = [min(x, y) for x, y in zip(a, b, strict=True)]
    missing = n - sum(low)
    kept = sum(k / n * log0(k / y) for k, y in zip(low, b, strict=True) if y)
    lost = sum((x - k) / n * log0((x - k) / missing) for x, k in zip(a, low, strict=True) if missing)
    added = sum((y - k) / n * log0((y - k) / y) for y, k in zip(b, low, strict=True) if y)
    entropy = -sum(x / n * log0(x / n) for x in a)
    return 1 + (kept + lost + added) / entropy


@given(COUNTS, COUNTS)
@settings(deadline=None, max_examples=100)
def test_the_risk_measure_is_the_papers_formula(a, b):
    assert entropy_risk([a], [b])[0] == pytest.approx(slow_risk(a, b), abs=1e-9)


PAPER = PAPERS["bailie2020"]
EXHIBIT = Exhibit(
    "table 9",
    "Nine",
    (
        Finding("E|b - a|", 0.5, 1.0, 0.01, why="A factor 2."),
        Finding("other", 0.25, 0.5, 0.01, why="A factor 2."),
        Finding("same", 1500.0, 1500.0),
        Finding("bound", 0.005, 0.003, relation="<="),
        Finding("ours only", None, 6.33e-7),
    ),
    note="Look here.",
    readings=(Reading("twice the noise", "The text says otherwise.", (Finding("other", 0.25, 0.25),)),),
)
DONE = [Done("bailie2020", EXHIBIT, {"svg": b"<svg/>", "png": b"png"}, 0.1)]


def test_a_page_has_the_picture_the_note_the_numbers_and_each_reason_once():
    text = markdown(PAPER, DONE, Effort(quick=True))
    assert "4 printed numbers, 2 agree and 2 do not" in text
    assert "(quick run, seed 20261115)" in text
    assert "![Nine](bailie2020-table-9.svg)" in text
    assert "Look here." in text
    assert "| E\\|b - a\\| | 0.5 | 1 | 0.01 | **no** |" in text
    assert "| bound | ≤ 0.005 | 0.003 |  | yes |" in text
    assert "| ours only |  | 6.33e-07 |  |  |" in text
    assert "### Read with twice the noise: 1 of 1 agree\n\nThe text says otherwise.\n\n| number" in text
    assert "| other | 0.25 | 0.25 |  | yes |" in text
    assert text.count("A factor 2.") == 1
    assert reasons(EXHIBIT) == ["- **2 numbers**: A factor 2."]


def test_writing_leaves_the_page_the_json_and_the_pictures(tmp_path):
    names = {path.name for path in write(PAPER, DONE, Effort(), tmp_path / "new")}
    assert names == {f"bailie2020{end}" for end in ("-table-9.png", "-table-9.svg", ".json", ".md")}
    read = json.loads((tmp_path / "new" / "bailie2020.json").read_text("utf-8"))
    assert read == document(PAPER, DONE, Effort())
    assert list(read) == ["paper", "title", "reference", "quick", "seed", "exhibits"]


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


def finding_of(paper, name, what):
    """The one finding of an exhibit with these words."""
    (found,) = [finding for finding in exhibit_of(paper, name).findings if finding.what == what]
    return found


def assert_as_the_oracle_says(found, entry, tolerance):
    """A printed number agrees, or is corrected with a reason, as the oracle says."""
    assert found.printed == pytest.approx(entry["printed"], rel=1e-15)
    assert found.agrees is (entry["status"] == "reproduces")
    assert found.ours == pytest.approx(entry["value"], **tolerance)
    assert found.agrees or found.why


@pytest.mark.parametrize("paper", PROMISED)
def test_every_promised_exhibit_is_there(paper):
    assert set(PROMISED[paper]) <= set(PAPERS[paper].exhibits())


@pytest.mark.slow
@pytest.mark.parametrize(("paper", "name"), EXHIBITS)
def test_an_exhibit_has_its_name_numbers_that_json_can_hold_and_says_why_a_number_differs(paper, name):
    exhibit = exhibit_of(paper, name)
    assert json.loads(json.dumps(exhibit.document(), allow_nan=False))["name"] == name
    printed = {finding.what: finding.printed for finding in exhibit.findings}
    assert len(printed) == len(exhibit.findings) > 0
    for finding in [*exhibit.findings, *(f for reading in exhibit.readings for f in reading.findings)]:
        assert finding.agrees is not False or finding.why, finding.what
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
