"""Real answers of PxWebApi are of the types that OpenAPI tells.

PxWebApi in OpenAPI: every address, and every parameter that it reads.
"""

import re

import pytest
from tests.web.api.test_openapi import EXAMPLES
from tests.web.api.test_schemas import assert_as_described

from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.pxweb.routes import pxweb_router
from discreet.web.release_cache import ReleaseCache


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


def test_every_address_is_described(described, small_workspace, small_settings):
    router = pxweb_router(
        DatasetRegistry(small_workspace), small_settings, lambda _address: None, ReleaseCache()
    )
    served = {route.path.replace(":path", "") for route in router.routes}
    assert served == {path for path in described["paths"] if path.startswith(router.prefix)}
    assert len(served) >= 7


def test_every_parameter_that_is_described_is_read(client, described):
    """Wrong alternative: a name in the description that the server refuses as unknown."""
    for path, operations in described["paths"].items():
        for name in (p for p in operations.get("get", {}).get("parameters", []) if p["in"] == "query"):
            if path.startswith("/api/pxweb/v2/tables"):
                word = f"{name['name']}[sex]" if name.get("style") == "deepObject" else name["name"]
                answer = client.get(f"{path.replace('{table_id}', 'people')}?{word}=")
                assert "There is no parameter" not in answer.text, (path, word)
