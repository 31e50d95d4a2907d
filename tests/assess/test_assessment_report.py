"""Sentences say what a reader would conclude."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from discreet.assess import Subject, assess_subject, cases_of
from discreet.assess.assessment import CONFIDENTIAL, OUTSIDE_DP
from discreet.assess.assessment_report import conclusion_sentences, report, summary_sentences

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Balanced(HTMLParser):
    """Every tag is closed in its turn."""

    def __init__(self):
        super().__init__()
        self.open, self.ids = [], []

    def handle_starttag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.slow
def test_it_is_marked_confidential_at_the_top_and_at_the_foot(html):
    body = html[html.index("<main>") :]
    assert body.count(CONFIDENTIAL) == 2
    assert body.index(CONFIDENTIAL) < 80
    assert "<footer>" in body[body.rindex(CONFIDENTIAL) - 60 :]
    assert html.count(OUTSIDE_DP) >= 2


def test_it_needs_nothing_from_elsewhere_and_runs_no_script(html):
    assert "<script" not in html
    assert "<link" not in html
    assert not re.search(r"""(?:src|href)=["'](?!#)""", html)
    assert not re.search(r"url\((?!#)", html)
    assert "@import" not in html
    addresses = set(re.findall(r"https?://[^\s\"'<]+", html))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_it_is_well_formed_and_every_id_occurs_once(html):
    parser = Balanced()
    parser.feed(html)
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


def test_it_has_every_part_and_says_how_epsilon_was_understood(html, found):
    for heading in ("Risk", "Utility", "What a reader would conclude", "how epsilon became noise"):
        assert heading in html
    assert html.count("<figure>") == 5
    for outcome in found.outcomes:
        assert outcome.case.label in html
        assert outcome.case.how in html.replace("&#x27;", "'")
    assert f"seed {found.seed}" in html
    assert "secret and the real keys are not used" in html


@pytest.mark.slow
def test_the_same_assessment_gives_the_same_page(found, html):
    assert report(found) == html


@pytest.mark.slow
def test_what_is_written_about_people_is_escaped():
    counts = np.array([[[4, 9], [12, 7]]])
    subject = Subject(
        counts, np.ones(counts.shape, dtype=bool), title="<b>&", sides=("<i>", "x", ""), refusal="<u>"
    )
    cases, _ = cases_of(["pram"], [1.0], 1e-4)
    page = report(assess_subject(subject, cases, reps=3))
    for tag in ("<b>", "<i>", "<u>"):
        assert tag not in page
    assert "&lt;b&gt;&amp;" in page


def test_a_simulated_mean_has_the_digits_that_its_error_allows(found):
    from types import SimpleNamespace

    from discreet.assess.assessment_report import mean_with_error
    from discreet.assess.simulation import Summary

    def shown(mean, error):
        outcome = SimpleNamespace(simulated={"rm": Summary(mean, error, 0.0, 0.0, 0.0, 9)})
        return mean_with_error(outcome, "rm")

    assert shown(0.123456, 0.00023) == "0.12346 ± 0.00023"
    assert shown(12345.6, 48.2) == "12,346 ± 48"
    assert shown(0.5, 0.0) == "0.500 ± 0.000"
    assert mean_with_error(found.outcomes[0], "nothing") == "-"


def test_sentences_say_what_a_reader_would_conclude():
    counts = np.random.default_rng(3).poisson(10, (1, 10, 10))
    subject = Subject(counts, np.ones(counts.shape, dtype=bool))
    cases, left_out = cases_of(["laplace", "hellinger"], [0.3, 8.0], 1e-4)
    found = assess_subject(subject, cases, reps=12, left_out=left_out)
    said = " ".join(conclusion_sentences(found))
    assert "no association is seen" in said
    assert "misled in more than one release of ten under laplace 0.3" in said
    assert "Under every case" not in said
    assert "100 cells that can occur" in " ".join(summary_sentences(found))
