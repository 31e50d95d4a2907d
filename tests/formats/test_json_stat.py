"""JSON-stat: the shape that clients need, with the distribution of the noise."""

import json

import numpy as np
import pytest
from jsonstat_validator import validate_jsonstat
from pyjstat import pyjstat

import discreet
from discreet.formats import format_by_name
from discreet.formats.writers.json_stat import Later, json_pieces, json_stat
from discreet.model.request import request_from_text
from discreet.release.pipeline import release_table

from .test_formats import decorated


def test_json_stat_says_that_counts_are_perturbed_and_how(release):
    document = json.loads(format_by_name("json").write(release))
    assert "randomly adjusted" in document["note"][0]
    confidentiality = document["extension"]["confidentiality"]
    assert confidentiality["perturbed"] is True
    assert confidentiality["largest_change"] == release.distribution.table.largest
    assert document["extension"]["query"] == "rows=age&columns=job&layers=sex"
    assert "perturbed" not in json.dumps(document["status"])


def test_json_stat_names_geography(town_workspace):
    released = release_table(
        town_workspace.stored("town"), request_from_text("town", rows=["area"], columns=["sex"])
    )
    assert json.loads(format_by_name("json").write(released))["role"] == {"geo": ["area"]}


@pytest.mark.parametrize("full", [False, True])
def test_other_programs_read_it(release, full):
    """By the validator of the standard, and by pyjstat, which drops the status and has NaN for what is missing."""
    each = decorated(release) if full else release
    text = format_by_name("json").write(each).decode()
    assert validate_jsonstat(json.loads(text))
    frame = pyjstat.Dataset.read(text).write("dataframe")
    assert frame["value"].isna().tolist() == each.missing.ravel().tolist()
    assert frame["value"].dropna().tolist() == each.values[~each.missing].tolist()
    assert frame["Job"].drop_duplicates().tolist() == list(each.dimensions[1].labels)


def test_it_is_compact_and_our_own_keys_are_in_the_extension(release):
    """Wrong alternative: a blank after every comma, a fifth of a large document."""
    text = format_by_name("json").write(decorated(release)).decode()
    document = json.loads(text)
    assert text == json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    standard = {"version", "class", "label", "source", "note", "id", "size", "dimension", "value", "status"}
    assert document.keys() == standard | {"extension"}


def test_a_text_like_a_mark_and_what_is_no_json_are_no_trouble(release):
    """Wrong alternative: a mark that a label could hold, and that would then be replaced."""
    document = json_stat(release) | {"label": "later 0 \x00 later"}
    assert json.loads(b"".join(json_pieces(document)))["label"] == "later 0 \x00 later"
    assert (
        b"".join(json_pieces({"a": Later("{}", lambda: iter([b"", b'"1":2,', b""])), "b": []}))
        == b'{"a":{"1":2},"b":[]}'
    )
    assert b"".join(json_pieces({"a": Later("[]", lambda: iter([b""]))})) == b'{"a":[]}'
    with pytest.raises(TypeError, match="set is not JSON"):
        list(json_pieces({"a": {1}}))


def test_the_distribution_of_every_cell_of_a_private_table_is_told_once(private_town):
    """Wrong alternative: the margin and the number of terms of every cell, which is longer than the table."""
    with discreet.open(private_town.folder) as catalogue:
        release = catalogue.table("town", rows=["sex"], columns=["job"]).release
    noise = json.loads(format_by_name("json").write(release))["extension"]["confidentiality"]["noise"]
    assert noise.keys() == {"tables", "laws", "classes", "law"}
    assert list(map(len, noise["classes"])) == list(release.values.shape)
    distribution = np.array(noise["law"]).reshape([max(each) + 1 for each in noise["classes"]])
    for place in np.ndindex(release.values.shape):
        told = noise["laws"][
            distribution[tuple(each[p] for each, p in zip(noise["classes"], place, strict=True))]
        ]
        assert told["terms"] == release.distribution.terms[place]
