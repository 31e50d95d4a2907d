from __future__ import annotations

import copy
import json
import math
from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadNoiseTable
from discreet.noise.files.document import from_document, plain, to_document
from discreet.noise.table import ArrangedRow, NoiseRow, NoiseTable, content_hash, make_table

TABLE = NoiseTable(
    256,
    (NoiseRow((0,), (256,)), NoiseRow((-1, 0, 1), (64, 192, 256))),
    family="maxent",
    parameters={"D": 1, "V": 0.5},
)


def through_json(table):
    return from_document(json.loads(json.dumps(to_document(table), allow_nan=False)))


def test_a_document_has_the_keys_that_design_promises_and_gives_the_table_back():
    document = to_document(TABLE)
    assert list(document)[:7] == ["family", "parameters", "modulus", "rows", "repeats", "moments", "notes"]
    assert document["rows"][1] == {
        "count": 1,
        "values": [-1, 0, 1],
        "probabilities": [0.25, 0.5, 0.25],
        "thresholds": [64, 192, 256],
    }
    assert document["moments"] == {"bias": 0.0, "variance": 0.5, "entropy": pytest.approx(1.5 * math.log(2))}
    again = from_document(json.loads(json.dumps(document)))
    assert again == TABLE
    assert dict(again.parameters) == {"D": 1, "V": 0.5}


@given(st.integers(1, 2**64), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_any_modulus_up_to_two_to_the_64_is_kept_to_the_last_digit(modulus, rows):
    table = NoiseTable(modulus, (NoiseRow((0,), (modulus,)),) * rows, repeats=rows)
    assert through_json(table) == table


def test_the_order_of_the_keys_is_kept_and_hashed():
    rows = [ArrangedRow((1, -1), (2, 4)), ArrangedRow((0,), (4,))]
    table = make_table(4, rows, repeats=1, family="file", parameters={})
    plain_table = NoiseTable(4, table.rows, 1, "file")
    assert through_json(table) == table
    assert content_hash(table) != content_hash(plain_table)


def test_the_hash_covers_the_integers_and_nothing_else():
    renamed = NoiseTable(256, TABLE.rows, 1, "other", {"D": 2})
    longer = NoiseTable(256, TABLE.rows, 2, "maxent")
    assert content_hash(renamed) == content_hash(TABLE)
    assert content_hash(longer) != content_hash(TABLE)


def test_values_without_a_key_are_left_out():
    document = to_document(TABLE)
    del document["content_sha256"]
    document["rows"][1] = {"count": 1, "values": [-2, -1, 0, 1], "thresholds": [0, 64, 192, 256]}
    assert from_document(document) == TABLE


def changed(path, value):
    document = copy.deepcopy(to_document(TABLE))
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return document


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (changed(["rows", 1, "thresholds"], [63, 192, 256]), "hash"),
        (changed(["repeats"], 2), "hash"),
        (changed(["rows", 1, "thresholds"], [64, 192, 255]), "count 1 covers 255 keys of 256"),
        (changed(["rows", 1, "thresholds"], [192, 64, 256]), "count 1: The thresholds"),
        (changed(["rows", 1, "thresholds"], [64, 192]), "count 1 needs one threshold"),
        (changed(["rows", 1, "thresholds"], [64, 192.5, 256]), "count 1: values and thresholds are whole"),
        (changed(["rows", 1, "values"], [-1, -1, 1]), "count 1 lists a value twice"),
        (
            changed(["rows", 1, "probabilities"], [0.25, 0.5, 0.2]),
            "count 1: its probabilities add up to 0.95",
        ),
        (changed(["rows", 1, "count"], 2), "count 2 comes too early"),
        (changed(["rows", 1, "count"], 0), "count 0 is there twice"),
        (changed(["moments", "bias"], 0.5), "count 1 has mean 0; the document declares 0.5"),
        (changed(["modulus"], "256"), 'no usable "modulus"'),
        (changed(["repeats"], "one"), 'no usable "repeats"'),
        (changed(["rows"], []), "at least one row"),
        (changed(["arrangement"], [{"values": [1], "thresholds": [256]}] * 2), "law of the rows"),
    ],
)
def test_a_document_that_contradicts_itself_is_refused(document, said):
    with pytest.raises(BadNoiseTable, match=said):
        from_document(document)


def test_values_become_plain_json():
    given_values = {"a": Fraction(1, 2), "b": math.inf, "c": (1, 2), "d": None, 3: True}
    assert plain(given_values) == {"a": 0.5, "b": None, "c": [1, 2], "d": None, "3": True}


JUNK = [None, "x", 1, 1.5, [], [1], {}, {"a": 1}, True, 10**30, float("nan")]
PLACES = [
    ["rows"], ["rows", 1], ["rows", 1, "values"], ["rows", 1, "thresholds"], ["rows", 1, "probabilities"],
    ["rows", 1, "probabilities", 0], ["rows", 1, "count"], ["modulus"], ["repeats"], ["family"], ["parameters"],
    ["moments"], ["moments", "bias"], ["arrangement"], ["content_sha256"],
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES, ids=lambda place: "-".join(map(str, place)))
@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_whatever_stands_in_a_place_the_document_is_read_or_refused(place, junk):
    with suppress(BadNoiseTable):
        assert from_document(changed(place, junk)).rows == TABLE.rows
