"""Every JSON answer has a type, and real answers are of it.

Methodologies and noise tables are of their types: what OpenAPI says is what is sent.
"""

import jsonschema
import pytest
from fastapi.testclient import TestClient

from discreet.release.dataset_registry import open_registry
from discreet.web.app import create_app
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.measured_attacks import write_attack_result
from discreet.workspace.options import read_options

SDMX_JSON = "application/vnd.sdmx.data+json"


@pytest.fixture
def described(client):
    return client.get("/openapi.json").json()


def resolved(document, schema):
    return {**schema, "components": document["components"]}


def assert_as_described(described, path, document):
    """The document fits its schema, and has no key that the schema does not name."""
    schema = described["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator(resolved(described, schema)).validate(document)
    (found,) = [each for each in _alternatives(described, schema) if set(each["required"]) <= set(document)]
    assert set(document) <= set(found["properties"]), path


def test_every_json_answer_is_an_object_with_named_properties(described):
    """A bare {"type": "object"}, of which a generated client makes a dict or a string, is rejected here."""
    for path, operation in (
        (path, each) for path, by_method in described["paths"].items() for each in by_method.values()
    ):
        if "boundaries" in path:  # GeoJSON, which has a standard of its own
            continue
        answers = operation["responses"].get("200") or operation["responses"]["201"]
        kinds = [kind for kind in answers["content"] if kind.endswith("json")]
        assert kinds or path.startswith("/api/sdmx"), path
        content = answers["content"].get("application/json") or answers["content"].get(SDMX_JSON)
        if content is None:  # a structure, which is XML
            assert list(answers["content"]) == ["application/vnd.sdmx.structure+xml"], path
            continue
        for schema in _alternatives(described, content["schema"]):
            assert schema["properties"], path
            assert schema["required"], path


def _alternatives(described, schema):
    if "$ref" in schema:
        return [described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]]
    return [found for part in schema["anyOf"] for found in _alternatives(described, part)]


@pytest.mark.slow
def test_answers_under_dp_are_as_described(private_town, described):
    folder = private_town.folder
    key = open_accounts(folder).create("cora", "custodian")
    path = "/api/datasets/{dataset_id}"
    with TestClient(create_app(open_registry(folder), read_options(folder))) as client:
        for tail in (
            "/budget",
            "/methodology",
            "/noise",
            "/ledger",
            "/table?rows=sex",
            "/table?rows=sex&dry_run=1",
            "/interval?rows=sex",
        ):
            answer = client.get(f"/api/datasets/town{tail}", headers={"authorization": f"Bearer {key}"})
            assert answer.status_code == 200, answer.text
            assert_as_described(described, path + tail.partition("?")[0], answer.json())


@pytest.mark.parametrize("tail", ["methodology", "noise"])
def test_answers_are_as_described_and_nothing_beside(client, small_folder, tail):
    write_attack_result(small_folder, {"attack": "bob", "seed": 1}, ["found"], "discreet attack bob")
    described = client.get("/openapi.json").json()
    path = described["paths"][f"/api/datasets/{{dataset_id}}/{tail}"]["get"]
    schema = path["responses"]["200"]["content"]["application/json"]["schema"]
    schemas = described["components"]["schemas"]
    strict = {name: {**each, "additionalProperties": False} for name, each in schemas.items()}
    check = jsonschema.Draft202012Validator({**schema, "components": {"schemas": strict}})
    document = client.get(f"/api/datasets/people/{tail}").json()
    check.validate(document)
    assert not check.is_valid({**document, "records": 617})  # a key that no type names is found
