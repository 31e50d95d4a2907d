"""JSON-stat: the shape that clients need, with the law of the noise."""

import json

import jsonschema
import numpy as np

from discreet.answer.pipeline import release_table
from discreet.formats import named_format
from discreet.model.request import request_from_text

from .conftest import HOSTILE

JSON_STAT = {
    "type": "object",
    "required": ["version", "class", "id", "size", "dimension", "value", "note"],
    "properties": {
        "version": {"const": "2.0"},
        "class": {"const": "dataset"},
        "id": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "size": {"type": "array", "items": {"type": "integer", "minimum": 1}},
        "value": {"type": "array", "items": {"type": ["integer", "null"]}},
        "status": {"type": "object", "additionalProperties": {"enum": ["c", "z"]}},
        "note": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "role": {"type": "object"},
        "dimension": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["label", "category"],
                "properties": {
                    "category": {
                        "type": "object",
                        "required": ["index", "label"],
                        "properties": {"index": {"type": "object"}, "label": {"type": "object"}},
                    }
                },
            },
        },
    },
}


def test_json_stat_has_the_shape_that_clients_need(release):
    document = json.loads(named_format("json").write(release))
    jsonschema.validate(document, JSON_STAT)
    assert document["size"] == list(release.values.shape)
    assert len(document["value"]) == release.cells
    assert set(document["dimension"]) == set(document["id"])
    for place, value in enumerate(document["value"]):
        at = np.unravel_index(place, release.values.shape)
        codes = [d.codes[i] for d, i in zip(release.dimensions, at, strict=True)]
        assert value == release.value(*codes)
        assert document["status"].get(str(place)) == ("z" if value is None else None)


def test_json_stat_says_that_counts_are_perturbed_and_how(release):
    document = json.loads(named_format("json").write(release))
    assert "randomly adjusted" in document["note"][0]
    confidentiality = document["extension"]["confidentiality"]
    assert confidentiality["perturbed"] is True
    assert confidentiality["largest_change"] == release.law.table.largest
    assert document["extension"]["query"] == "rows=age&columns=job&layers=sex"
    assert "perturbed" not in json.dumps(document["status"])


def test_json_stat_names_geography(town_workspace):
    released = release_table(
        town_workspace.stored("town"), request_from_text("town", rows=["area"], columns=["sex"])
    )
    assert json.loads(named_format("json").write(released))["role"] == {"geo": ["area"]}


def test_json_stat_keeps_hostile_text_as_data(hostile):
    document = json.loads(named_format("json").write(hostile))
    assert list(document["dimension"]["word"]["category"]["label"].values())[:-1] == list(HOSTILE.values())
