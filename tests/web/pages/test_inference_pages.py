"""How sure each count of a page is: the interval of the number shown, and nothing else."""

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from fastapi.testclient import TestClient

from discreet.inference.confidence_intervals.count_intervals import cell_interval
from discreet.inference.confidence_intervals.table_intervals import every_interval
from discreet.inference.hypothesis_tests.independence import independence_test
from discreet.inference.table_view import apply_view, bonferroni_level, percent_limits
from discreet.model.request import request_from_text
from discreet.model.view import View
from discreet.noise import laplace, maxent, pram
from discreet.release.pipeline import release_table
from discreet.web.app import create_app
from discreet.web.cache import cell_limits, share_limits
from discreet.web.pages.inference_pages import MOST_LINES, _split, noise_uncertainty
from discreet.workspace.options import read_options

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
    assert "true one" not in client.get(f"{PAGE}?rows=sex&additivity={additivity}").text


def test_the_page_says_it_once_lists_small_numbers_and_titles_every_count(client, small_workspace):
    text = client.get(f"{PAGE}?rows=sex&columns=job").text
    release = released(small_workspace, rows=["sex"], columns=["job"])
    sure = noise_uncertainty(release)
    assert f"within ±{sure.within} of the true one with a probability of at least 95\u00a0%" in text
    titles = re.findall(
        r'<td[^>]* title="(True count: [\d,]+ to [\d,]+ \(95\u00a0% sure\))">([\d,]+)</td>', text
    )
    assert len(titles) == release.cells
    for title, number in titles:
        found = cell_interval(int(number.replace(",", "")), release.distribution.table)
        assert title == f"True count: {int(found.low):,} to {int(found.high):,} (95\u00a0% sure)"


def test_cells_without_a_number_have_no_interval(client):
    text = client.get(f"{PAGE}?rows=age&columns=job").text
    assert "[z]" in text
    assert not re.search(r'title="True count[^"]*">\[z\]', text)


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
    assert f"; true share: {low[0, 0]:.1f} to {high[0, 0]:.1f} %" in text


API = "/api/datasets/people/interval"
INTERVAL_PAGE = "/datasets/people/interval"
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
@pytest.mark.parametrize("address", [API, INTERVAL_PAGE])
def test_what_cannot_be_answered_is_refused_with_a_reason(client, address, more, told):
    response = client.get(f"{address}?{QUERY}{more}")
    assert response.status_code == 400
    assert told in response.text


def test_the_page_has_a_form_and_says_the_interval(client):
    assert "How sure" in client.get(f"{INTERVAL_PAGE}?{QUERY}").text
    text = client.get(f"{INTERVAL_PAGE}?{QUERY}&cell=sex=1&of=&minus=sex=2").text
    assert "Difference" in text
    assert "true number lies between" in text
    assert (
        "true share lies between" in client.get(f"{INTERVAL_PAGE}?{QUERY}&cell=sex=1&of=sex=1&of=sex=2").text
    )
    assert INTERVAL_PAGE in client.get(f"/datasets/people?{QUERY}").text


def test_the_form_proposes_the_cells_of_a_small_table_by_their_labels(client):
    text = client.get(f"{INTERVAL_PAGE}?{QUERY}").text
    assert '<option value="sex=1,' in text
    assert text.count('list="cells"') == text.count('type="text"')
    assert "<datalist" not in client.get(f"{INTERVAL_PAGE}?rows=district&columns=sex,age").text


def test_the_form_keeps_every_cell_that_was_given(client):
    text = client.get(f"{INTERVAL_PAGE}?{QUERY}&cell=sex=1&of=sex=1&of=sex=2").text
    assert 'name="of" value="sex=2"' in text
    assert text.count('name="of"') == 3
    assert text.count('name="cell"') == 2


TEST = "/api/datasets/people/test/independence"
TEST_PAGE = "/datasets/people/test/independence"


def test_the_api_answers_what_the_release_says(client, small_workspace):
    release = release_table(
        small_workspace.stored("people"), request_from_text("people", rows=["sex"], columns=["origin"])
    )
    response = client.get(f"{TEST}?{QUERY}")
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert response.json() == independence_test(release).document()


@pytest.mark.parametrize(
    "query", ["rows=sex", "rows=sex&columns=origin,age", "rows=sex&columns=origin&filter=sex=1"]
)
@pytest.mark.parametrize("address", [TEST, TEST_PAGE])
def test_what_is_no_two_way_table_is_refused_before_anything_is_counted(
    watched, watched_client, address, query
):
    response = watched_client.get(f"{address}?{query}")
    assert response.status_code == 400
    assert "two variables" in response.text
    assert watched.engines["people"].calls == 0


def test_a_two_way_table_alone_has_a_link_to_its_test(client):
    text = client.get("/datasets/people?rows=sex&columns=origin&filter=age=65%2B").text
    assert (
        'href="/datasets/people/test/independence?rows=sex&amp;columns=origin&amp;filter=age=65%5C%2B"'
        in text
    )
    assert "Are sex and country of birth related?" in text
    for other in ("rows=sex", "rows=sex&columns=origin&layers=age"):
        assert "related?" not in client.get(f"/datasets/people?{other}").text


def test_the_page_shows_both_tests_why_they_differ_and_the_way_back(client):
    text = client.get(f"{TEST_PAGE}?{QUERY}").text
    for words in (
        "Noise-aware",
        "Naive (G²)",
        "takes the released counts for exact",
        "Cramér’s V",
        'href="/datasets/people?rows=sex&amp;columns=origin"',
        'href="/api/datasets/people/test/independence?rows=sex&amp;columns=origin"',
        "table.test_independence()",
        "discreet test independence --dataset http://testserver/datasets/people --rows sex --columns origin",
    ):
        assert words in text


def test_the_api_tells_v_and_null_where_it_has_no_meaning(client):
    told = client.get(f"{TEST}?{QUERY}").json()["cramers_v"]
    assert 0 <= told["corrected"] <= told["naive"] <= 1
    assert client.get(f"{TEST}?rows=age&columns=job").json()["cramers_v"] is None
    text = client.get(f"{TEST_PAGE}?rows=age&columns=job").text
    assert "where both can occur" in text
    assert "Cramér’s V" not in text


COMPARE_PAGE, BY_AGE = "/datasets/town/compare", "rows=sex&columns=age"


def rows(text):
    """The texts of the table's lines."""
    body = text[text.index("<tbody>") : text.index("</tbody>")]
    cells = [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", line) for line in body.split("<tr>")[1:]]
    return [[unescape(re.sub("<[^>]*>", "", cell)) for cell in line] for line in cells]


def test_the_page_has_the_numbers_of_the_api(town_client):
    asked = f"?{BY_AGE}&version=2&with=1"
    document = town_client.get(f"/api{COMPARE_PAGE}{asked}").json()
    response = town_client.get(COMPARE_PAGE + asked)
    lines = rows(response.text)
    assert len(lines) == len(document["cells"])
    for line, cell in zip(lines, document["cells"], strict=True):
        assert [int(text.replace(",", "")) for text in line[2:4]] == [cell["value"], cell["with"]]
        assert line[4] == f"{cell['difference']['estimate']:,.0f}"
        assert line[5] == f"{cell['difference']['low']:,.0f} to {cell['difference']['high']:,.0f}"
    assert "it may be the same noise" in response.text
    assert (
        town_client.get(COMPARE_PAGE + asked, headers={"if-none-match": response.headers["etag"]}).status_code
        == 304
    )


def test_the_form_offers_the_versions_that_are_answered_and_keeps_the_table(town_client, town_registry):
    """Wrong alternative: to offer the closed version, which would answer 410."""
    text = town_client.get(f"{COMPARE_PAGE}?{BY_AGE}").text
    offered = set(re.findall(r'<option value="(\w{16})"', text))
    closed, *open_ = (facts.digest[:16] for facts in town_registry.versions("town"))
    assert offered == set(open_)
    assert closed not in text
    for name, value in (("rows", "sex"), ("columns", "age")):
        assert f'name="{name}" value="{value}"' in text


def test_a_closed_version_a_wrong_parameter_and_a_large_table_are_refused(
    town_client, town_registry, town_versions
):
    assert town_client.get(f"{COMPARE_PAGE}?{BY_AGE}&with=0").status_code == 410
    assert town_client.get(f"{COMPARE_PAGE}?{BY_AGE}&wiht=1").status_code == 400
    small = TestClient(create_app(town_registry, replace(read_options(town_versions), page_cells=3)))
    refused = small.get(f"{COMPARE_PAGE}?{BY_AGE}&with=1")
    assert refused.status_code == 403
    assert "/api/datasets/town/compare" in refused.text


def test_the_page_of_a_table_leads_to_its_comparison_and_keeps_its_version(town_client):
    text = town_client.get(f"/datasets/town?{BY_AGE}&version=1").text
    (address,) = {unescape(each) for each in re.findall(r'href="([^"]*/compare\?[^"]*)"', text)}
    assert town_client.get(address).status_code == 200
    assert "version=1" in address
    assert text.count("/datasets/town/methodology?version=1") == 3
    about = town_client.get("/datasets/town/methodology?version=1").text
    assert "/api/datasets/town/methodology?version=1" in about
    plain = town_client.get(f"/datasets/town?{BY_AGE}").text
    assert "/methodology?version" not in plain


def test_the_page_speaks_the_language_of_its_reader(town_client):
    response = town_client.get(f"{COMPARE_PAGE}?{BY_AGE}&version=2&with=1", headers={"accept-language": "de"})
    text = re.sub("<[^>]*>", " ", response.text)
    for words in ("Zwei Versionen", "Verglichen mit", "Differenz", "es kann dasselbe Rauschen sein"):
        assert words in text
    assert " to " not in text
    assert re.fullmatch(r"-?[\d.]+ bis -?[\d.]+", rows(response.text)[0][5])
