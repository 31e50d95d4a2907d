import jsonschema
import pytest
from fastapi.testclient import TestClient

from discreet.answer.door import open_doors
from discreet.formats import formats
from discreet.server.api_routes import API_PARAMETERS
from discreet.server.app import create_app
from discreet.server.query import TABLE_PARAMETERS
from discreet.workspace.load import load_dataset
from discreet.workspace.options import read_options

from .conftest import people_description, people_records
from .test_answer_documents import assert_as_described, resolved


@pytest.fixture
def described(client):
    return client.get("/openapi.json").json()


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
        "/api/datasets/{dataset_id}/methodology",
        "/api/datasets/{dataset_id}/noise",
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


def test_where_a_key_may_or_must_be_sent_is_described(described, client):
    """Each route is asked with a wrong key: those that look at it say 401, and they are the ones that are described."""
    assert described["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    for path, operations in described["paths"].items():
        address = path.replace("{dataset_id}", "people") + "?rows=sex&columns=age" * ("table" in path)
        status = client.get(address, headers={"authorization": "Bearer wrong"}).status_code
        security = operations["get"].get("security")
        assert (status == 401) == (security is not None) == ("401" in operations["get"]["responses"]), path
        assert security in (None, [{"key": []}] if path.endswith("ledger") else [{}, {"key": []}])


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
            "/api/datasets/{dataset_id}/table",
            "/api/datasets/people/table?rows=sex&columns=district&dry_run=1",
        ),
        ("/api/datasets/{dataset_id}/interval", "/api/datasets/people/interval?rows=sex&cell=sex=1"),
        (
            "/api/datasets/{dataset_id}/test/independence",
            "/api/datasets/people/test/independence?rows=sex&columns=age",
        ),
    ],
)
def test_answers_are_as_described(client, described, path, address):
    assert_as_described(described, path, client.get(address).json())


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


@pytest.fixture
def narrowed(private_town):
    """The description of a server with a ledger, narrowed to the names that its datasets have.

    That a variable belongs to a dataset, or that a table needs one variable at least, no OpenAPI can say: such requests
    fit the description and are refused with 400. Every other status that is not described is a failure.
    """
    import schemathesis

    folder = private_town.folder
    load_dataset(folder, people_description(), people_records())
    app = create_app(open_doors(folder), read_options(folder))
    document = TestClient(app).get("/openapi.json").json()
    for operations in document["paths"].values():
        for parameter in operations["get"].get("parameters", []):
            if parameter["name"] == "dataset_id":
                parameter["schema"]["enum"] = ["people", "town", "nobody"]
            if parameter["name"] in {"rows", "columns", "layers"}:
                parameter["schema"]["items"]["enum"] = ["sex", "age", "job", "region"]
    schema = schemathesis.openapi.from_dict(document)
    schema.app = app
    schema.config.seed = 20261117
    schema.config.generation.update(max_examples=12)
    accepted = schema.config.checks.positive_data_acceptance
    accepted.expected_statuses = [*accepted.expected_statuses, "400"]
    return schema


@pytest.mark.slow
def test_schemathesis_finds_no_failure(narrowed):
    """All phases and all checks: a schema that says too much or too little, a wrong status and any 5xx fail."""
    from schemathesis.engine import events, from_schema

    finished = [e for e in from_schema(narrowed).execute() if isinstance(e, events.ScenarioFinished)]
    asked = [i for e in finished for i in e.recorder.interactions.values() if i.response is not None]
    assert {i.response.status_code for i in asked} >= {200, 400, 401, 403, 404, 405}
    failures = {
        (check.name, e.recorder.cases[case].value.as_curl_command(), str(check.failure_info.failure))
        for e in finished
        for case, checks in e.recorder.checks.items()
        for check in checks
        if check.status.name != "SUCCESS"
    }
    assert not failures, "\n\n".join(" ".join(each) for each in failures)
