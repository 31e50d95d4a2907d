"""How sure each count of a page is: the interval of the number shown, and nothing else."""

import re

import numpy as np
import pytest

from discreet.answer.pipeline import release_table
from discreet.inference.intervals import cell_interval
from discreet.model.request import request_from_text
from discreet.noise import laplace, maxent, pram
from discreet.server.certainty import MOST_LINES, _split, certainty

PAGE = "/datasets/people"


def released(workspace, **parts):
    return release_table(workspace.stored("people"), request_from_text("people", **parts))


def test_every_number_shown_has_the_interval_of_its_own_value(small_workspace):
    release = released(small_workspace, rows=["district"], columns=["sex"])
    sure = certainty(release)
    shown = set(release.values[release.status == 0].tolist())
    assert set(sure.titles) == shown
    reach = 0
    for number in shown:
        found = cell_interval(number, release.law.table)
        assert sure.titles[number] == f"95 %: {int(found.low):,} to {int(found.high):,}"
        reach = max(reach, number - found.low, found.high - number)
    assert sure.within == reach


@pytest.mark.parametrize("noise", [maxent(D=5, V=3, js=2), laplace(epsilon=1.0, m=8)])
def test_what_is_not_listed_reaches_as_far_as_is_said_of_all_others(noise):
    numbers = [n for n in range(60) if not 0 < n <= 2]
    lines = [(n, int(cell_interval(n, noise).low), int(cell_interval(n, noise).high)) for n in numbers]
    small, below, above = _split(lines, noise)
    listed = {n for n, _, _ in small}
    assert 0 in listed
    assert len(small) <= MOST_LINES
    assert all((n - low, high - n) == (below, above) for n, low, high in lines if n not in listed)


def test_where_the_law_repeats_in_a_block_no_reach_is_said_of_all():
    noise = pram()
    lines = [(n, int(cell_interval(n, noise).low), int(cell_interval(n, noise).high)) for n in range(30)]
    small, below, above = _split(lines, noise)
    assert (below, above) == (None, None)
    assert small == tuple(lines[:MOST_LINES])


@pytest.mark.parametrize("additivity", ["interior", "fitted"])
def test_sums_and_fitted_numbers_have_no_noise_of_their_own_and_nothing_is_said(
    small_workspace, client, additivity
):
    assert certainty(released(small_workspace, rows=["sex"], columns=["age"], additivity=additivity)) is None
    assert "How sure each count is" not in client.get(f"{PAGE}?rows=sex&additivity={additivity}").text


def test_the_page_says_it_once_lists_small_numbers_and_titles_every_count(client, small_workspace):
    text = client.get(f"{PAGE}?rows=sex&columns=job").text
    release = released(small_workspace, rows=["sex"], columns=["job"])
    sure = certainty(release)
    assert f"within ±{sure.within} of the true one with a probability of at least 95 %" in text
    assert "How sure each count is" in text
    titles = re.findall(r'<td[^>]* title="(95 %: [\d,]+ to [\d,]+)">([\d,]+)</td>', text)
    assert len(titles) == release.cells
    assert all(sure.titles[int(number.replace(",", ""))] == title for title, number in titles)


def test_cells_without_a_number_have_no_interval(client):
    text = client.get(f"{PAGE}?rows=age&columns=job").text
    assert "[z]" in text
    assert not re.search(r'title="95 %[^"]*">\[z\]', text)


def test_equal_numbers_have_equal_intervals_whatever_lies_behind_them(small_workspace):
    """A title is a function of the number: it can tell nothing that the number does not."""
    one = certainty(released(small_workspace, rows=["district"]))
    two = certainty(released(small_workspace, rows=["district"], columns=["origin"]))
    common = set(one.titles) & set(two.titles)
    assert len(common) > 3
    assert all(one.titles[number] == two.titles[number] for number in common)


def test_a_large_table_has_the_sentence_and_no_titles(small_workspace):
    release = released(small_workspace, rows=["district"], columns=["origin", "job"], layers=["age"])
    assert release.cells > 2000
    sure = certainty(release)
    assert sure.titles == {}
    assert sure.within >= 1
    assert np.isfinite(sure.within)
