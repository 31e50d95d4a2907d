"""How sure each count of a page is: the interval of the number shown, and nothing else."""

import re

import numpy as np
import pytest

from discreet.inference.confidence_intervals.count_intervals import cell_interval
from discreet.inference.confidence_intervals.table_intervals import every_interval
from discreet.inference.table_view import apply_view, bonferroni_level, percent_limits
from discreet.model.request import request_from_text
from discreet.model.view import View
from discreet.noise import laplace, maxent, pram
from discreet.release.pipeline import release_table
from discreet.web.cache import cell_limits, share_limits
from discreet.web.pages.inference_pages import MOST_LINES, _split, noise_uncertainty

PAGE = "/datasets/people"


def released(workspace, **parts):
    return release_table(workspace.stored("people"), request_from_text("people", **parts))


def test_every_number_shown_has_the_interval_of_its_own_value(small_workspace):
    release = released(small_workspace, rows=["district"], columns=["sex"])
    sure, (low, high) = noise_uncertainty(release), cell_limits(release)
    reach = 0
    for place, value in np.ndenumerate(release.values):
        found = cell_interval(int(value), release.distribution.table)
        assert (low[place], high[place]) == (found.low, found.high)
        reach = max(reach, value - found.low, found.high - value)
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


def test_where_the_distribution_repeats_in_a_block_no_reach_is_said_of_all():
    noise = pram()
    lines = [(n, int(cell_interval(n, noise).low), int(cell_interval(n, noise).high)) for n in range(30)]
    small, below, above = _split(lines, noise)
    assert (below, above) == (None, None)
    assert small == tuple(lines[:MOST_LINES])


@pytest.mark.parametrize("additivity", ["interior", "fitted"])
def test_sums_and_fitted_numbers_have_no_noise_of_their_own_and_nothing_is_said(
    small_workspace, client, additivity
):
    assert (
        noise_uncertainty(released(small_workspace, rows=["sex"], columns=["age"], additivity=additivity))
        is None
    )
    assert cell_limits(released(small_workspace, rows=["sex"], additivity=additivity)) is None
    assert "Each count by itself" not in client.get(f"{PAGE}?rows=sex&additivity={additivity}").text


def test_the_page_says_it_once_lists_small_numbers_and_titles_every_count(client, small_workspace):
    text = client.get(f"{PAGE}?rows=sex&columns=job").text
    release = released(small_workspace, rows=["sex"], columns=["job"])
    sure = noise_uncertainty(release)
    assert f"within ±{sure.within} of the true one with a probability of at least 95\u00a0%" in text
    assert "Each count by itself" in text
    titles = re.findall(r'<td[^>]* title="(95 %: [\d,]+ to [\d,]+)">([\d,]+)</td>', text)
    assert len(titles) == release.cells
    for title, number in titles:
        found = cell_interval(int(number.replace(",", "")), release.distribution.table)
        assert title == f"95 %: {int(found.low):,} to {int(found.high):,}"


def test_cells_without_a_number_have_no_interval(client):
    text = client.get(f"{PAGE}?rows=age&columns=job").text
    assert "[z]" in text
    assert not re.search(r'title="95 %[^"]*">\[z\]', text)


def test_equal_numbers_have_equal_intervals_whatever_lies_behind_them(small_workspace):
    """An interval is a function of the number: it can tell nothing that the number does not."""
    seen = {}
    for columns in ([], ["origin"]):
        release = released(small_workspace, rows=["district"], columns=columns)
        low, high = cell_limits(release)
        for value, *limits in zip(release.values.ravel().tolist(), low.ravel(), high.ravel(), strict=True):
            assert seen.setdefault(value, limits) == limits
    assert len(seen) > 3


def test_a_percentage_has_limits_that_hold_those_of_the_api_and_end_in_one_decimal(small_workspace, client):
    """Wrong: to round a limit inwards, so that the interval holds less often than is said."""
    whole = released(small_workspace, rows=["age"], columns=["sex"])
    assert share_limits(whole) is None
    shown = apply_view(whole, View("row", sort="-value"))
    low, high = share_limits(shown)
    exact = percent_limits(shown, every_interval(shown, bonferroni_level(0.95)))
    assert (low <= exact[0]).all()
    assert (high >= exact[1]).all()
    assert (high - low <= exact[1] - exact[0] + 0.2).all()
    text = client.get(f"{PAGE}?rows=age&columns=sex&percent=row&sort=-value").text
    assert f"; share: {low[0, 0]:.1f} to {high[0, 0]:.1f} %" in text


API = "/api/datasets/people/interval"
PAGE_INTERVAL_PAGE = "/datasets/people/interval"
QUERY = "rows=sex&columns=origin"


def test_all_cells_are_answered_without_a_cell(client):
    document = client.get(f"{API}?{QUERY}").json()
    table = client.get(f"/api/datasets/people/table?{QUERY}&format=json").json()
    assert len(document["cells"]) == len(table["value"])
    assert all(cell["low"] <= cell["value"] <= cell["high"] for cell in document["cells"] if cell["value"])


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("&of=sex=1", "need a cell"),
        ("&cell=sex=9", "no code"),
        ("&cell=sox=1", "no variable"),
        ("&cell=1", "cannot be read"),
        ("&cell=sex=1&level=x", "level"),
        ("&cell=sex=1&level=2", "level"),
        ("&cell=sex=1&of=sex=1&minus=sex=2", "at once"),
        ("&cel=sex=1", "cel"),
    ],
)
@pytest.mark.parametrize("address", [API, PAGE_INTERVAL_PAGE])
def test_what_cannot_be_answered_is_refused_with_a_reason(client, address, more, told):
    response = client.get(f"{address}?{QUERY}{more}")
    assert response.status_code == 400
    assert told in response.text


def test_the_page_has_a_form_and_says_the_interval(client):
    assert "How sure" in client.get(f"{PAGE_INTERVAL_PAGE}?{QUERY}").text
    text = client.get(f"{PAGE_INTERVAL_PAGE}?{QUERY}&cell=sex=1&of=&minus=sex=2").text
    assert "Difference" in text
    assert "true number lies between" in text
    assert (
        "true share lies between"
        in client.get(f"{PAGE_INTERVAL_PAGE}?{QUERY}&cell=sex=1&of=sex=1&of=sex=2").text
    )
    assert PAGE_INTERVAL_PAGE in client.get(f"/datasets/people?{QUERY}").text


def test_the_form_proposes_the_cells_of_a_small_table_by_their_labels(client):
    text = client.get(f"{PAGE_INTERVAL_PAGE}?{QUERY}").text
    assert '<option value="sex=1,' in text
    assert text.count('list="cells"') == text.count('type="text"')
    assert "<datalist" not in client.get(f"{PAGE_INTERVAL_PAGE}?rows=district&columns=sex,age").text


def test_the_form_keeps_every_cell_that_was_given(client):
    text = client.get(f"{PAGE_INTERVAL_PAGE}?{QUERY}&cell=sex=1&of=sex=1&of=sex=2").text
    assert 'name="of" value="sex=2"' in text
    assert text.count('name="of"') == 3
    assert text.count('name="cell"') == 2
