"""Methodologies and noise tables are of their types: what OpenAPI says is what is sent."""

import jsonschema
import pytest

from discreet.workspace.kept_attacks import keep_attack


@pytest.mark.parametrize("tail", ["methodology", "noise"])
def test_answers_are_as_described_and_nothing_beside(client, small_folder, tail):
    keep_attack(small_folder, {"attack": "bob", "seed": 1}, ["found"], "discreet attack bob")
    described = client.get("/openapi.json").json()
    path = described["paths"][f"/api/datasets/{{dataset_id}}/{tail}"]["get"]
    schema = path["responses"]["200"]["content"]["application/json"]["schema"]
    schemas = described["components"]["schemas"]
    strict = {name: {**each, "additionalProperties": False} for name, each in schemas.items()}
    check = jsonschema.Draft202012Validator({**schema, "components": {"schemas": strict}})
    document = client.get(f"/api/datasets/people/{tail}").json()
    check.validate(document)
    assert not check.is_valid({**document, "records": 617})  # a key that no type names is found
