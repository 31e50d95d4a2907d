import importlib
import json
import re
import subprocess
import sys

import httpx
import jsonschema
import pytest
from fastapi.testclient import TestClient

from discreet.formats import formats
from discreet.release.dataset_registry import open_registry
from discreet.web.api.routes import API_PARAMETERS
from discreet.web.app import create_app
from discreet.web.pxweb.selection_syntax import RawSelection, SavedQuery
from discreet.web.urls import TABLE_PARAMETERS
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import load_dataset

from ..conftest import people_description, people_records
from .test_schemas import assert_as_described, resolved

#: What stands in the addresses of the description.
EXAMPLES = {
    "{dataset_id}": "people",
    "{table_id}": "people",
    "{list_id}": "vs_people_district",
    "{query_id}": SavedQuery("people", RawSelection()).id,
    "{flow}": "people-sex",
    "{key}": "all",
    "{provider}": "all",
    "{kind}": "dataflow",
    "{agency}": "all",
    "{id}": "people",
    "{version}": "latest",
    "{variable}": "region",
}
BODIES = {"/api/pxweb/v2/savedqueries": {"tableId": "people"}, "/api/pxweb/v2/tables/{table_id}/data": {}}


@pytest.fixture
def described(client):
    return client.get("/openapi.json").json()


def test_it_describes_exactly_the_api(described, small_workspace, small_settings):
    assert described["openapi"].startswith("3.1")
    own = {path for path in described["paths"] if not path.startswith(("/api/pxweb", "/api/sdmx"))}
    assert own == {
        "/api/alerts",
        "/api/datasets",
        "/api/datasets/{dataset_id}",
        "/api/datasets/{dataset_id}/table",
        "/api/datasets/{dataset_id}/boundaries/{variable}",
        "/api/datasets/{dataset_id}/interval",
        "/api/datasets/{dataset_id}/test/independence",
        "/api/datasets/{dataset_id}/versions",
        "/api/datasets/{dataset_id}/compare",
        "/api/datasets/{dataset_id}/budget",
        "/api/datasets/{dataset_id}/ledger",
        "/api/datasets/{dataset_id}/methodology",
        "/api/datasets/{dataset_id}/noise",
    }
    assert {
        path.removeprefix("/api/pxweb/v2"): set(operations)
        for path, operations in described["paths"].items()
        if set(operations) != {"get"}
    } == {"/tables/{table_id}/data": {"get", "post"}, "/savedqueries": {"post"}}


def test_every_parameter_that_is_read_is_described_and_the_other_way_round(described):
    table = described["paths"]["/api/datasets/{dataset_id}/table"]["get"]
    in_query = [p["name"] for p in table["parameters"] if p["in"] == "query"]
    assert sorted(in_query) == sorted(API_PARAMETERS)
    assert [p["name"] for p in table["parameters"] if p["in"] == "path"] == ["dataset_id"]


def test_every_parameter_of_the_test_is_described_and_the_other_way_round(described):
    test = described["paths"]["/api/datasets/{dataset_id}/test/independence"]["get"]
    assert sorted(p["name"] for p in test["parameters"] if p["in"] == "query") == sorted(TABLE_PARAMETERS)


def test_where_a_key_may_or_must_be_sent_is_described(described, client):
    """Each route is asked with a wrong key: every one says 401, and is described so."""
    assert described["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    for path, operations in described["paths"].items():
        address = re.sub("{.*?}", lambda name: EXAMPLES[name[0]], path)
        address += "?rows=sex&columns=age" * path.endswith(("table", "interval", "independence", "compare"))
        for method, operation in operations.items():
            wrong = {"authorization": "Bearer wrong"}
            status = client.request(method, address, headers=wrong, json=BODIES.get(path)).status_code
            assert (status, {"401", "429"} <= set(operation["responses"])) == (401, True), path
            custodian = path.endswith(("ledger", "alerts"))
            assert operation["security"] == ([{"key": []}] if custodian else [{}, {"key": []}])


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
    operations = [each for by_method in described["paths"].values() for each in by_method.values()]
    assert all("422" not in operation["responses"] for operation in operations)
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
    app = create_app(open_registry(folder), read_options(folder, pxweb_calls=10**6))
    document = TestClient(app).get("/openapi.json").json()
    for shorter in ("data/{flow}", "data/{flow}/{key}", "{kind}", "{kind}/{agency}", "{kind}/{agency}/{id}"):
        del document["paths"][f"/api/sdmx/{shorter}"]  # one route in all lengths: the longest stands for them
    narrow = {"dataset_id": ["people", "town", "nobody"], "flow": ["people-sex", "town", "nobody"]}
    narrow |= {"table_id": narrow["dataset_id"], "query_id": [EXAMPLES["{query_id}"], "none"]}
    for operation in (each for by_method in document["paths"].values() for each in by_method.values()):
        for parameter in operation.get("parameters", []):
            if parameter["name"] in narrow:
                parameter["schema"]["enum"] = narrow[parameter["name"]]
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


@pytest.mark.slow
def test_a_generated_client_gets_objects(described, small_workspace, served, tmp_path, monkeypatch):
    """Wrong alternative: a table as a text, which is what came while CSV stood first in the description."""
    pytest.importorskip("openapi_python_client")
    (tmp_path / "openapi.json").write_text(json.dumps(described), "utf-8")
    (tmp_path / "plain.yaml").write_text("post_hooks: []", "utf-8")
    where = ["--path", "openapi.json", "--output-path", "made_client", "--config", "plain.yaml"]
    done = subprocess.run(
        [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", *where],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    lost = [line for line in done.stdout.splitlines() if line.startswith(("WARNING", "Unable"))]
    assert all("/api/sdmx/{kind}" in line for line in lost), lost  # SDMX-ML: it makes nothing of XML
    monkeypatch.syspath_prepend(tmp_path)
    made = {
        name: importlib.import_module(f"made_client.{name}") for name in ("client", "models", "api.tables")
    }
    paths = (tmp_path / "made_client" / "api").glob("*/*.py")
    calls = {path.stem: f"made_client.api.{path.parent.name}.{path.stem}" for path in paths}

    def call(start, *given, **options):
        (name,) = [name for stem, name in calls.items() if stem.startswith(start)]
        return importlib.import_module(name).sync(*given, client=client, **options)

    with served(small_workspace.folder) as base:
        client = made["client"].Client(base_url=base)
        table = call("protected_table_", "people", rows=["sex"])
        assert isinstance(table, made["models"].JsonStatDocument)
        assert table.value == httpx.get(f"{base}/api/datasets/people/table?rows=sex").json()["value"]
        assert isinstance(call("describe_dataset_", "people"), made["models"].DatasetDocument)
        assert isinstance(call("methodology_", "people"), made["models"].MethodologyDocument)
        assert call("config_").max_data_cells > 0
        assert call("data_api_sdmx_data_flow_get", "people-sex").data_sets[0].observations
        assert call("protected_table_", "people", rows=["sexx"]).advice == 'Did you mean "sex"?'
