"""The description of every address in OpenAPI: complete, true, and good enough for checkers and generated clients."""

import importlib
import json
import re
import subprocess
import sys

import httpx
import jsonschema
import pytest

from discreet.formats import formats
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.api.routes import API_PARAMETERS
from discreet.web.cache import ReleaseCache
from discreet.web.pages.inference_pages import COMPARE_PARAMETERS
from discreet.web.pxweb.routes import pxweb_router
from discreet.web.pxweb.selection_syntax import PxQuery, saved_query_id
from discreet.web.sdmx.routes import sdmx_router
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.measured_attacks import write_attack_result
from discreet.workspace.versions.load_version import load_dataset

from ..conftest import client_of, people_description, people_records, with_key

#: What stands in the addresses of the description.
EXAMPLES = {
    "{dataset_id}": "people",
    "{table_id}": "people",
    "{list_id}": "vs_people_district",
    "{query_id}": saved_query_id(PxQuery("people")),
    "{flow}": "people-sex",
    "{key}": "all",
    "{provider}": "all",
    "{kind}": "dataflow",
    "{agency}": "all",
    "{id}": "people",
    "{version}": "latest",
    "{variable}": "region",
}
DATASET = "/api/datasets/{dataset_id}"
PX = "/api/pxweb/v2"


@pytest.fixture
def described(client):
    return client.get("/openapi.json").json()


def operations(described):
    """Every path with every method of it."""
    return [(path, method, each) for path, by in described["paths"].items() for method, each in by.items()]


def address_of(path):
    return re.sub("{.*?}", lambda name: EXAMPLES[name[0]], path)


def test_it_describes_exactly_the_api(described, small_workspace, small_settings):
    assert described["openapi"].startswith("3.1")
    own = {path for path in described["paths"] if not path.startswith(("/api/pxweb", "/api/sdmx"))}
    below = ["", "/table", "/boundaries/{variable}", "/interval", "/test/independence", "/versions", "/compare", "/budget",
             "/ledger", "/methodology", "/noise"]  # fmt: skip
    assert own == {"/api/alerts", "/api/datasets", *(DATASET + each for each in below)}
    registry = DatasetRegistry(small_workspace)
    for router in (
        sdmx_router(registry),
        pxweb_router(registry, small_settings, lambda _address: None, ReleaseCache()),
    ):
        served = {route.path.replace(":path", "") for route in router.routes}
        assert served == {path for path in described["paths"] if path.startswith(router.prefix)}
        assert len(served) >= 7
    posts = {path.removeprefix(PX) for path, method, _ in operations(described) if method != "get"}
    assert posts == {"/tables/{table_id}/data", "/savedqueries"}


@pytest.mark.parametrize(("tail", "known"), [("table", API_PARAMETERS), ("compare", COMPARE_PARAMETERS)])
def test_every_parameter_that_is_read_is_described(described, tail, known):
    described_here = described["paths"][f"{DATASET}/{tail}"]["get"]
    in_query = [p["name"] for p in described_here["parameters"] if p["in"] == "query"]
    assert sorted(in_query) == sorted(known)
    assert [p["name"] for p in described_here["parameters"] if p["in"] == "path"] == ["dataset_id"]
    assert "410" in described_here["responses"]


def test_every_parameter_of_pxweb_that_is_described_is_read(client, described):
    """Wrong alternative: a name in the description that the server refuses as unknown."""
    for path, method, operation in operations(described):
        for name in (p for p in operation.get("parameters", []) if p["in"] == "query"):
            if path.startswith(f"{PX}/tables") and method == "get":
                word = f"{name['name']}[sex]" if name.get("style") == "deepObject" else name["name"]
                assert "There is no parameter" not in client.get(f"{address_of(path)}?{word}=").text, (
                    path,
                    word,
                )


def test_where_a_key_may_or_must_be_sent_is_described(described):
    """That each route answers a wrong key with 401: tests/web/auth/test_identity.py."""
    assert described["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    for path, _, operation in operations(described):
        assert {"401", "429"} <= set(operation["responses"]), path
        custodian = path.endswith(("ledger", "alerts"))
        assert operation["security"] == ([{"key": []}] if custodian else [{}, {"key": []}])


def test_every_format_is_described(described):
    table = described["paths"][f"{DATASET}/table"]["get"]
    assert set(table["responses"]["200"]["content"]) == {f.media_type.split(";")[0] for f in formats()}
    choices = next(p for p in table["parameters"] if p["name"] == "format")["schema"]
    assert (choices["enum"], choices["default"]) == ([form.name for form in formats()], "json")


def test_every_reference_leads_somewhere_and_nothing_of_the_framework_is_described(described):
    found = set(re.findall(r'"\$ref": "#/components/schemas/(.*?)"', json.dumps(described)))
    assert "Problem" in found <= set(described["components"]["schemas"])
    assert "HTTPValidationError" not in described["components"]["schemas"]
    assert all("422" not in operation["responses"] for _, _, operation in operations(described))


def test_there_is_no_page_that_loads_scripts_from_elsewhere(client):
    assert client.get("/docs").status_code == client.get("/redoc").status_code == 404


def _alternatives(described, schema):
    if "$ref" in schema:
        return [described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]]
    return [found for part in schema["anyOf"] for found in _alternatives(described, part)]


def test_every_json_answer_is_an_object_with_named_properties(described):
    """A bare {"type": "object"}, of which a generated client makes a dict or a string, is rejected here."""
    for path, _, operation in operations(described):
        if "boundaries" in path:  # GeoJSON, which has a standard of its own
            continue
        content = (operation["responses"].get("200") or operation["responses"]["201"])["content"]
        kinds = [kind for kind in ("application/json", "application/vnd.sdmx.data+json") if kind in content]
        if not kinds:  # a structure, which is XML
            assert list(content) == ["application/vnd.sdmx.structure+xml"], path
        for schema in (
            each for kind in kinds[:1] for each in _alternatives(described, content[kind]["schema"])
        ):
            assert schema["properties"], path
            assert schema["required"], path


#: Parts of JSON-stat to which a method or PxWeb adds what is its own.
OPEN = {
    "JsonStatCategory",
    "JsonStatDimension",
    "JsonStatConfidentiality",
    "JsonStatExtension",
    "PxExtension",
    "PxKeywords",
}


def assert_as_described(described, path, answer):
    """The document fits its schema, and has no key that the schema does not name."""
    assert answer.status_code == 200, answer.text
    content = described["paths"][path]["get"]["responses"]["200"]["content"]
    schemas = described["components"]["schemas"]
    strict = {
        name: each if name in OPEN else {"additionalProperties": False} | each
        for name, each in schemas.items()
    }
    schema = content[answer.headers["content-type"].partition(";")[0]]["schema"]
    check = jsonschema.Draft202012Validator(schema | {"components": {"schemas": strict}})
    check.validate(answer.json())
    assert not check.is_valid({**answer.json(), "records": 617})  # a key that no type names is found


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/api/datasets", ""),
        (DATASET, ""),
        (f"{DATASET}/table", "?rows=sex"),
        (f"{DATASET}/table", "?rows=sex&columns=district&dry_run=1"),
        (f"{DATASET}/interval", "?rows=sex&cell=sex=1"),
        (f"{DATASET}/test/independence", "?rows=sex&columns=age"),
        (f"{DATASET}/methodology", ""),
        (f"{DATASET}/noise", ""),
        ("/api/sdmx/data/{flow}", ""),
        (f"{PX}/config", ""),
        (f"{PX}/tables", ""),
        (f"{PX}/tables/{{table_id}}", ""),
        (f"{PX}/tables/{{table_id}}/metadata", ""),
        (f"{PX}/tables/{{table_id}}/data", "?valueCodes[sex]=*"),
        (f"{PX}/tables/{{table_id}}/defaultselection", ""),
        (f"{PX}/codelists/{{list_id}}", ""),
        (f"{PX}/savedqueries/{{query_id}}", ""),
        (f"{PX}/savedqueries/{{query_id}}/data", ""),
        (f"{PX}/savedqueries/{{query_id}}/selection", ""),
    ],
)
def test_answers_are_as_described(client, described, small_folder, path, query):
    write_attack_result(small_folder, {"attack": "bob", "seed": 1}, ["found"], "discreet attack bob")
    assert_as_described(described, path, client.get(address_of(path) + query))


@pytest.mark.slow
def test_answers_under_dp_are_as_described(private_town, described):
    key = open_accounts(private_town.folder).create("cora", "custodian")
    with client_of(private_town.folder) as client:
        for tail in ("/budget", "/methodology", "/noise", "/ledger", "/table?rows=sex", "/table?rows=sex&dry_run=1",
                     "/interval?rows=sex"):  # fmt: skip
            answer = client.get(f"/api/datasets/town{tail}", headers=with_key(key))
            assert_as_described(described, DATASET + tail.partition("?")[0], answer)


@pytest.fixture
def narrowed(private_town):
    """The description of a server with a ledger, narrowed to the names that its datasets have.

    That a variable belongs to a dataset, or that a table needs one variable at least, no OpenAPI can say: such requests
    fit the description and are refused with 400. Every other status that is not described is a failure.
    """
    import schemathesis

    folder = private_town.folder
    load_dataset(folder, people_description(), people_records())
    client = client_of(folder, pxweb_calls=10**6)
    document = client.get("/openapi.json").json()
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
    schema.app = client.app
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
    run = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", *where]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
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
