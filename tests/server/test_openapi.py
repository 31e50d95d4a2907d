import jsonschema
import pytest
from fastapi.testclient import TestClient

from discreet.formats import formats
from discreet.server.api_routes import API_PARAMETERS
from discreet.server.query import TABLE_PARAMETERS


@pytest.fixture
def described(client):
    return client.get("/openapi.json").json()


def resolved(document, schema):
    return {**schema, "components": document["components"]}


def test_it_describes_exactly_the_api(described, small_workspace, small_settings):
    assert described["openapi"].startswith("3.1")
    assert set(described["paths"]) == {
        "/api/datasets",
        "/api/datasets/{dataset_id}",
        "/api/datasets/{dataset_id}/table",
        "/api/datasets/{dataset_id}/interval",
        "/api/datasets/{dataset_id}/test/independence",
        "/api/datasets/{dataset_id}/versions",
        "/api/datasets/{dataset_id}/compare",
        "/api/datasets/{dataset_id}/budget",
        "/api/datasets/{dataset_id}/ledger",
    }
    assert all(set(operations) == {"get"} for operations in described["paths"].values())


def test_every_parameter_that_is_read_is_described_and_the_other_way_round(described):
    table = described["paths"]["/api/datasets/{dataset_id}/table"]["get"]
    in_query = [p["name"] for p in table["parameters"] if p["in"] == "query"]
    assert sorted(in_query) == sorted(API_PARAMETERS)
    assert [p["name"] for p in table["parameters"] if p["in"] == "path"] == ["dataset_id"]


def test_every_parameter_of_the_test_is_described_and_the_other_way_round(described):
    test = described["paths"]["/api/datasets/{dataset_id}/test/independence"]["get"]
    assert sorted(p["name"] for p in test["parameters"] if p["in"] == "query") == sorted(TABLE_PARAMETERS)


def test_where_a_key_may_or_must_be_sent_is_described(described):
    paths = described["paths"]
    table = paths["/api/datasets/{dataset_id}/table"]["get"]
    ledger = paths["/api/datasets/{dataset_id}/ledger"]["get"]
    assert table["security"] == [{}, {"key": []}]
    assert ledger["security"] == [{"key": []}]
    assert {"401", "403"} <= set(table["responses"])
    assert described["components"]["securitySchemes"]["key"]["scheme"] == "bearer"


def test_every_format_is_described(described):
    table = described["paths"]["/api/datasets/{dataset_id}/table"]["get"]
    assert set(table["responses"]["200"]["content"]) == {f.media_type.split(";")[0] for f in formats()}
    choices = next(p for p in table["parameters"] if p["name"] == "format")["schema"]
    assert (choices["enum"], choices["default"]) == ([form.name for form in formats()], "json")


def test_every_reference_leads_somewhere(described):
    def references(node):
        if isinstance(node, dict):
            for key, value in node.items():
                yield from [value] if key == "$ref" else references(value)
        elif isinstance(node, list):
            for value in node:
                yield from references(value)

    found = set(references(described))
    assert "#/components/schemas/Problem" in found
    for reference in found:
        node = described
        for part in reference.removeprefix("#/").split("/"):
            node = node[part]


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("/api/datasets", "/api/datasets"),
        ("/api/datasets/{dataset_id}", "/api/datasets/people"),
        ("/api/datasets/{dataset_id}", "/api/datasets/hostile"),
        ("/api/datasets/{dataset_id}/table", "/api/datasets/people/table?rows=sex"),
        (
            "/api/datasets/{dataset_id}/test/independence",
            "/api/datasets/people/test/independence?rows=sex&columns=age",
        ),
    ],
)
def test_answers_are_as_described(client, described, path, address):
    schema = described["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator(resolved(described, schema)).validate(client.get(address).json())


@pytest.mark.parametrize(
    ("path", "address", "status"),
    [
        ("/api/datasets", "/api/datasets?x=1", 400),
        ("/api/datasets/{dataset_id}", "/api/datasets/x", 404),
        ("/api/datasets/{dataset_id}/table", "/api/datasets/people/table?rows=x", 400),
        (
            "/api/datasets/{dataset_id}/test/independence",
            "/api/datasets/people/test/independence?rows=sex",
            400,
        ),
        ("/api/datasets/{dataset_id}/table", "/api/datasets/people/table?rows=sex,age,job,origin", 403),
        ("/api/datasets/{dataset_id}/table", "/api/datasets/people/table?" + "x" * 17_000, 414),
    ],
)
def test_problems_are_as_described(client, described, path, address, status):
    response = client.get(address)
    assert response.status_code == status
    described_as = described["paths"][path]["get"]["responses"][str(status)]["content"][
        "application/problem+json"
    ]
    jsonschema.Draft202012Validator(resolved(described, described_as["schema"])).validate(response.json())


def test_the_422_of_the_framework_is_not_described_since_it_is_never_sent(described):
    assert all("422" not in operation["get"]["responses"] for operation in described["paths"].values())
    assert "HTTPValidationError" not in described["components"]["schemas"]


def test_there_is_no_page_that_loads_scripts_from_elsewhere(client: TestClient):
    assert client.get("/docs").status_code == client.get("/redoc").status_code == 404
