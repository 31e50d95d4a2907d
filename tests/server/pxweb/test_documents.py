"""Real answers of PxWebApi are of the types that OpenAPI tells."""

import re

import pytest
from tests.server.test_answer_documents import assert_as_described
from tests.server.test_openapi import EXAMPLES


@pytest.fixture
def described(client):
    return client.get("/openapi.json").json()


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/config", ""),
        ("/tables", ""),
        ("/tables/{table_id}", ""),
        ("/tables/{table_id}/metadata", ""),
        ("/tables/{table_id}/data", "?valueCodes[sex]=*"),
        ("/tables/{table_id}/defaultselection", ""),
        ("/codelists/{list_id}", ""),
        ("/savedqueries/{query_id}", ""),
        ("/savedqueries/{query_id}/data", ""),
        ("/savedqueries/{query_id}/selection", ""),
    ],
)
def test_answers_of_pxweb_are_as_described(client, described, path, query):
    answer = client.get("/api/pxweb/v2" + re.sub("{.*?}", lambda name: EXAMPLES[name[0]], path) + query)
    assert answer.status_code == 200
    assert_as_described(described, "/api/pxweb/v2" + path, answer.json())
