"""The documents of the API are what OpenAPI says."""

import shutil

import jsonschema
import pytest
from fastapi.testclient import TestClient

from discreet.errors import WorkspaceUnusable
from discreet.release.dataset_registry import DatasetRegistry, open_registry
from discreet.release.notes import mandatory_note
from discreet.web.api.dataset_documents import open_datasets
from discreet.web.app import create_app
from discreet.workspace.ledger_location import open_accounts
from discreet.workspace.measured_attacks import write_attack_result
from discreet.workspace.options import read_options
from discreet.workspace.workspace import Workspace

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


@pytest.fixture
def damaged(small_folder, tmp_path):
    """A copy of the workspace in which one dataset has lost its noise table."""
    folder = shutil.copytree(small_folder, tmp_path / "damaged")
    for noise in folder.glob("datasets/hostile/*/noise.json"):
        noise.unlink()
    return Workspace(folder, threads=1)


def test_a_damaged_dataset_is_left_out_of_the_lists_and_told_to_the_log(damaged, small_settings, caplog):
    client = TestClient(create_app(DatasetRegistry(damaged), small_settings))
    assert [d["id"] for d in client.get("/api/datasets").json()["datasets"]] == ["people"]
    assert "The dataset hostile is left out" in caplog.text


def test_a_damaged_dataset_gives_no_table_and_the_others_do(damaged, small_settings):
    client = TestClient(create_app(DatasetRegistry(damaged), small_settings))
    refused = client.get("/api/datasets/hostile/table?rows=good")
    assert (refused.status_code, refused.json()["code"]) == (503, "workspace-unusable")
    assert client.get("/api/datasets/people/table?rows=sex").status_code == 200


def test_when_none_can_be_opened_that_is_an_error(damaged):
    for noise in damaged.folder.glob("datasets/people/*/noise.json"):
        noise.unlink()
    with pytest.raises(WorkspaceUnusable):
        open_datasets(DatasetRegistry(damaged))


def test_a_secret_that_others_can_read_means_no_answer(small_folder, tmp_path, small_settings):
    folder = shutil.copytree(small_folder, tmp_path / "open")
    (folder / "secret").chmod(0o644)
    client = TestClient(create_app(DatasetRegistry(Workspace(folder, threads=1)), small_settings))
    for address in ("/api/datasets/people/table?rows=sex", "/datasets/people", "/api/datasets", "/"):
        response = client.get(address)
        assert response.status_code == 503, address
        assert "secret-unusable" in response.text


def test_the_list_names_every_dataset_and_where_it_is_described(client):
    datasets = client.get("/api/datasets").json()["datasets"]
    assert [dataset["id"] for dataset in datasets] == ["hostile", "people"]
    assert datasets[1]["href"] == "/api/datasets/people"
    assert datasets[1]["unit"] == "persons"


def test_a_description_has_variables_hierarchies_and_the_protection_in_words(client, small_workspace):
    described = client.get("/api/datasets/people").json()
    assert [v["name"] for v in described["variables"]] == [
        "region",
        "district",
        "sex",
        "age",
        "job",
        "origin",
    ]
    assert described["variables"][2]["categories"][1] == {"code": "2", "label": "Female", "parent": None}
    assert described["variables"][1]["categories"][0]["parent"] == "R2"
    assert described["variables"][1]["geography"]
    assert described["hierarchies"][0]["levels"] == ["region", "district"]
    assert described["note"].startswith(mandatory_note(small_workspace.stored("people").dataset))
    assert "at most" in described["protection"]["promise"][0]
    assert described["protection"]["additivity"] == "independent"
    assert described["code_lists"] == []  # tests/api/test_remote.py compares those of another dataset
    assert (described["version"], described["reference_date"]) == ("7", "2026-01-01")


def test_a_description_tells_no_number_of_records(client):
    described = client.get("/api/datasets/people")
    text = described.text.replace(described.json()["digest"], "") + client.get("/api/datasets").text
    assert "617" not in text
