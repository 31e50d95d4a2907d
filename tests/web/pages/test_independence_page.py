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


def test_a_copy_that_still_holds_costs_nothing(watched, watched_client):
    first = watched_client.get(f"{API}?{QUERY}")
    calls = watched.engines["people"].calls
    again = watched_client.get(f"{API}?{QUERY}", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304
    assert watched.engines["people"].calls == calls
    assert first.headers["etag"] != watched_client.get(f"{PAGE}?{QUERY}").headers["etag"]


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


def test_parameters_that_do_not_exist_are_refused(client):
    assert client.get(f"{API}?{QUERY}&format=csv").json()["code"] == "bad-request"


def test_a_two_way_table_has_a_link_to_its_test(client):
    text = client.get("/datasets/people?rows=sex&columns=origin&filter=age=65%2B").text
    assert (
        'href="/datasets/people/test/independence?rows=sex&amp;columns=origin&amp;filter=age=65%5C%2B"'
        in text
    )
    assert "Test independence" in text


@pytest.mark.parametrize("query", ["rows=sex", "rows=sex&columns=origin&layers=age"])
def test_other_tables_have_none(client, query):
    assert "Test independence" not in client.get(f"/datasets/people?{query}").text


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


def test_structural_zeros_have_a_test_and_no_v(client):
    text = client.get(f"{PAGE}?rows=age&columns=job").text
    assert "where both can occur" in text
    assert "Cramér’s V" not in text


def test_the_api_tells_v_and_null_where_it_has_no_meaning(client):
    told = client.get(f"{API}?{QUERY}").json()["cramers_v"]
    assert 0 <= told["corrected"] <= told["naive"] <= 1
    assert client.get(f"{API}?rows=age&columns=job").json()["cramers_v"] is None


def test_the_other_variables_of_the_permalink_count(client):
    everybody = client.get(f"{API}?{QUERY}").json()
    some = client.get(f"{API}?{QUERY}&filter=age=15-64").json()
    assert everybody["statistic"] != some["statistic"]


def test_hostile_labels_stay_text(client):
    text = client.get("/datasets/hostile/test/independence?rows=bad&columns=good").text
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
