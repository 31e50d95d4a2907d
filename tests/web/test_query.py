"""Any query at all: it is answered or refused, and never breaks the server."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.model.view import VIEW_PARAMETERS
from discreet.web.query import TABLE_PARAMETERS

WORDS = st.one_of(
    st.sampled_from(
        [
            "sex",
            "age",
            "district",
            "sex,age",
            "age=0-14",
            "age=0-14+15-64,65+",
            "district=D01",
            "yes",
            "no",
            "csv",
        ]
    ),
    st.text(st.sampled_from("sexag=,+\\ 0-14\x00\u202e<%;&"), max_size=12),
    st.text(max_size=8),
)
NAMES = st.one_of(
    st.sampled_from([*TABLE_PARAMETERS, *VIEW_PARAMETERS, "format", "download", "filter.district"]),
    st.text(max_size=5),
)
QUERIES = st.lists(st.tuples(NAMES, WORDS), max_size=6)
ANY_QUERY = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.slow
@ANY_QUERY
@given(query=QUERIES)
def test_the_api_answers_or_refuses_any_query(client, query):
    response = client.get("/api/datasets/people/table", params=query)
    if response.status_code != 200:
        assert response.status_code in {400, 403, 404}
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["detail"]
        assert response.json()["advice"]


@pytest.mark.slow
@ANY_QUERY
@given(query=QUERIES)
def test_the_page_answers_or_refuses_any_query(client, query):
    response = client.get("/datasets/people", params=query)
    assert response.status_code in {200, 400, 403, 404}
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert '<form class="builder"' in response.text


@pytest.mark.slow
@ANY_QUERY
@given(query=QUERIES)
def test_what_the_form_sends_and_the_permalink_show_the_same_table(client, query):
    first = client.get("/datasets/people", params=query, follow_redirects=False)
    if first.status_code == 303:
        again = client.get(first.headers["location"], follow_redirects=False)
        assert again.status_code == 200, "a permalink is clean: it never redirects again"


@pytest.mark.slow
@ANY_QUERY
@given(raw=st.binary(max_size=40))
def test_bytes_that_are_no_text_are_refused_too(client, raw):
    address = "/api/datasets/people/table?rows=" + "".join(f"%{byte:02X}" for byte in raw)
    assert client.get(address).status_code in {200, 400}
