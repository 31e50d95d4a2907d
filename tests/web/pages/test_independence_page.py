import pytest

from discreet.inference.hypothesis_tests.independence import independence_test
from discreet.model.request import request_from_text
from discreet.release.pipeline import release_table

API = "/api/datasets/people/test/independence"
PAGE = "/datasets/people/test/independence"
QUERY = "rows=sex&columns=origin"


def test_the_api_answers_what_the_release_says(client, small_workspace):
    release = release_table(
        small_workspace.stored("people"), request_from_text("people", rows=["sex"], columns=["origin"])
    )
    response = client.get(f"{API}?{QUERY}")
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert response.json() == independence_test(release).document()


@pytest.mark.parametrize(
    "query", ["rows=sex", "rows=sex&columns=origin,age", "rows=sex&columns=origin&filter=sex=1"]
)
@pytest.mark.parametrize("address", [API, PAGE])
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
    assert "Test independence" in text
    for other in ("rows=sex", "rows=sex&columns=origin&layers=age"):
        assert "Test independence" not in client.get(f"/datasets/people?{other}").text


def test_the_page_shows_both_tests_why_they_differ_and_the_way_back(client):
    text = client.get(f"{PAGE}?{QUERY}").text
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
    told = client.get(f"{API}?{QUERY}").json()["cramers_v"]
    assert 0 <= told["corrected"] <= told["naive"] <= 1
    assert client.get(f"{API}?rows=age&columns=job").json()["cramers_v"] is None
    text = client.get(f"{PAGE}?rows=age&columns=job").text
    assert "where both can occur" in text
    assert "Cramér’s V" not in text
