"""Sentences say what a reader would conclude."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from discreet.assess import Subject, assess_subject, cases_of
from discreet.assess.assessment import CONFIDENTIAL, OUTSIDE_DP
from discreet.assess.report_pages import (
    MARKER,
    conclusion_sentences,
    inline_svg,
    read_statement,
    report,
    statement_html,
    summary_sentences,
    write_page,
)
from discreet.errors import BadRequest, SignatureUnusable
from discreet.ledger.hash_chain import verify_statement
from discreet.records.signing import signing_key
from discreet.workspace.operate.statement import make_statement

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

    from discreet.assess.report_pages import mean_with_error
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
    cases, _ = cases_of(["laplace", "hellinger"], [0.3, 8.0], 1e-4)
    found = assess_subject(subject, cases, reps=12)
    said = " ".join(conclusion_sentences(found))
    assert "no association is seen" in said
    assert "misled in more than one release of ten under laplace 0.3" in said
    assert "Under every case" not in said
    assert "100 cells that can occur" in " ".join(summary_sentences(found))


@pytest.mark.slow
def test_a_page_is_written_whole_for_its_owner_and_over_nothing_else(tmp_path, html):
    path = tmp_path / "report.html"
    write_page(html, path)
    assert path.stat().st_mode & 0o777 == 0o600
    write_page(html + " ", path)
    assert path.read_text("utf-8") == html + " "
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]
    other = tmp_path / "thesis.html"
    other.write_text("years of work")
    with pytest.raises(BadRequest, match="there already"):
        write_page(html, other)
    assert other.read_text() == "years of work"
    assert MARKER in html[:60]


def test_pictures_of_one_page_do_not_share_ids():
    svg = b'<svg width="9"><clipPath id="a"></clipPath><g clip-path="url(#a)"></g><use href="#a"/></svg>'
    text = inline_svg(svg, 'A "map"', 3)
    assert 'id="p3-a"' in text
    assert "url(#p3-a)" in text
    assert 'href="#p3-a"' in text
    assert 'aria-label="A &quot;map&quot;"' in text


@pytest.fixture
def document(private_town):
    return make_statement(private_town.folder)


def test_a_page_and_a_json_file_hold_the_same_statement(document, private_town, tmp_path):
    page, plain = tmp_path / "s.html", tmp_path / "s.json"
    page.write_text(statement_html(document), "utf-8")
    plain.write_text(json.dumps(document), "utf-8")
    assert read_statement(plain) == (document, "")
    found, told = read_statement(page)
    assert found == document
    assert told == "The page shows what was signed, word for word."
    assert verify_statement(found, signing_key(private_town.folder).public)


def test_a_page_whose_words_were_changed_is_refused(document, tmp_path):
    """Wrong alternative: the signature of the JSON within, which a changed page still holds."""
    page = tmp_path / "s.html"
    text = statement_html(document)
    page.write_text(text.replace("<td>4</td>", "<td>1</td>", 1), "utf-8")
    assert page.read_text("utf-8") != text
    with pytest.raises(SignatureUnusable, match="does not show what was signed"):
        read_statement(page)


@pytest.mark.slow
def test_a_page_of_another_program_says_that_its_words_were_not_compared(document, tmp_path):
    page = tmp_path / "s.html"
    page.write_text(statement_html({**document, "program": "discreet 99"}), "utf-8")
    assert read_statement(page)[1] == "The words of the page were not compared: it was made by discreet 99."


@pytest.mark.slow
def test_names_cannot_break_out_of_the_page(document):
    name = "</script><script>alert(1)</script>"
    document["budgets"][0]["name"] = name
    text = statement_html(document)
    assert name not in text
    assert text.count("<script") == 1


@pytest.mark.parametrize(
    "content", ["", "no JSON", '<script type="application/json" id="statement">{</script>', None]
)
def test_a_file_that_is_no_statement_is_named(tmp_path, content):
    path = tmp_path / "s.html"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(SignatureUnusable, match=r"'s\.html' is no statement"):
        read_statement(path)
