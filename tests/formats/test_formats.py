"""A contract for every format, and what is particular to CSV and JSON-stat."""

import csv
import io
import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from discreet.answer.pipeline import release_table
from discreet.errors import UnknownFormat
from discreet.formats import formats, named_format
from discreet.formats.csv import safe_text
from discreet.model.request import request_from_text
from discreet.workspace.load import load_dataset
from discreet.workspace.workspace import Workspace

HOSTILE = {
    "quote": 'say "hi", then',
    "script": "<script>alert(1)</script>",
    "formula": "=cmd|' /C calc'!A0",
    "plus": "+1+1",
    "at": "@SUM(A1)",
    "nul": "nul\0nul",
    "bidi": "‮evil‬",
    "newline": "two\nlines",
    "sql": "'; DROP TABLE records; --",
    "empty-like": "NULL",
}


@pytest.fixture(scope="module")
def release(town_workspace):
    request = request_from_text("town", rows=["age"], columns=["job"], layers=["sex"])
    return release_table(town_workspace.stored("town"), request)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A table whose codes and labels attack whatever shows them."""
    folder = tmp_path_factory.mktemp("hostile")
    listed = ",".join(
        f"{{ code = {json.dumps(code)}, label = {json.dumps(code)} }}" for code in HOSTILE.values()
    )
    top = 'id = "hostile"\nlabel = "Hostile"\nid_column = "id"\n'
    text = f'{top}[[variable]]\nname = "word"\nlabel = "=W<b>"\ncategories = [{listed}]\n'
    import pandas as pd

    records = pd.DataFrame({"id": range(100), "word": list(HOSTILE.values()) * 10})
    load_dataset(folder, text, records)
    return release_table(Workspace(folder).stored("hostile"), request_from_text("hostile", rows=["word"]))


@pytest.mark.parametrize("name", [form.name for form in formats()])
class TestEveryFormat:
    def test_the_mandatory_facts_are_in_it(self, name, release):
        form = named_format(name)
        assert form.name == name
        data = form.write(release)
        assert isinstance(data, bytes)
        data.decode("utf-8")

    def test_the_same_release_gives_the_same_bytes(self, name, release):
        assert named_format(name).write(release) == named_format(name).write(release)


def test_an_unknown_format_names_the_nearest():
    with pytest.raises(UnknownFormat, match='Did you mean "csv"'):
        named_format("cvs")


def rows_of(release):
    return list(csv.DictReader(io.StringIO(named_format("csv").write(release).decode(), newline="")))


def test_csv_has_one_line_a_cell_with_codes_labels_value_and_status(release):
    rows = rows_of(release)
    assert list(rows[0]) == ["age", "age_label", "job", "job_label", "sex", "sex_label", "value", "status"]
    assert len(rows) == release.cells
    for row in rows:
        value = release.value(row["age"], row["job"], row["sex"])
        assert row["value"] == ("" if value is None else str(value))
        assert row["status"] == ("z" if value is None else "")
    assert rows[-1]["age"] == "_T"
    assert rows[-1]["age_label"] == "Total"


def test_csv_keeps_hostile_text_as_data(hostile):
    rows = rows_of(hostile)
    assert [row["word"].lstrip("'") for row in rows[:-1]] == [code.lstrip("'") for code in HOSTILE.values()]
    for row in rows:
        assert row["word"][0] not in "=+@\t\r"
        assert row["word_label"][0] not in "=+@\t\r"


def test_numbers_and_ranges_are_not_taken_for_formulas():
    assert [safe_text(text) for text in ("-5", "-1.5", "5-9", "-5-9")] == ["-5", "-1.5", "5-9", "-5-9"]
    assert [safe_text(text)[0] for text in ("-a", "=1", "+1", "@x", "\tx", "\rx")] == ["'"] * 6


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


def test_a_float_is_written_by_the_fewest_digits_that_give_it_back(release):
    """A later measure may release means: the type of the values is kept, and a missing one stays empty."""
    numbers = np.resize([0.1, 1 / 3, -2.5, 1e22, 3.0], release.values.shape)
    means = replace(release, values=numbers)
    lines = list(csv.DictReader(io.StringIO(named_format("csv").write(means).decode())))
    values = json.loads(named_format("json").write(means))["value"]
    for line, value, number, missing in zip(
        lines, values, numbers.ravel().tolist(), release.missing.ravel().tolist(), strict=True
    ):
        assert line["value"] == ("" if missing else repr(number))
        assert value == (None if missing else number)
    assert means.value("adult", "1", "1") == numbers[1, 1, 0]


def test_values_are_whole_numbers_or_floats_of_64_bits(release):
    with pytest.raises(ValueError, match="int64 or float64"):
        replace(release, values=release.values.astype(np.float32))
