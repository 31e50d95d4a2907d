"""The note of a request: every question once, and a bounded number of them.

Addresses are kept as the office decides.
"""

import hashlib
import random

import pytest

from discreet.errors import BadOption
from discreet.model.request import TableRequest
from discreet.web.audit.entry import (
    LONGEST,
    MOST_ASKED,
    MOST_PACKED,
    AddressPolicy,
    record_query,
    unpack_request,
)
from discreet.web.context import RequestContext, use_context


@pytest.fixture
def queries():
    """What is recorded of the current request."""
    with use_context(RequestContext()) as context:
        yield context.queries


def test_a_query_is_recorded_once_and_their_number_is_bounded(queries):
    for cells in (1, 2):
        record_query(TableRequest("town", ("sex",)), "0123456789", cells=cells)
    assert list(queries.values()) == [
        {"dataset": "town", "version": "01234567", "request": "rows=sex", "cells": 1}
    ]
    for number in range(50):
        record_query(TableRequest("town", (f"v{number}",)), "d")
    assert len(queries) == MOST_ASKED


def test_of_a_long_request_its_beginning_and_its_hash_are_recorded(queries):
    """Two that begin alike are two; one that is just not too long is whole."""
    codes = tuple(f"A{number:04}" for number in range(500))
    long = [TableRequest("town", ("sex",), filters=(("area", codes[:end]),)) for end in (499, 500)]
    for request in long:
        record_query(request, "d")
    record_query(TableRequest("town", ("x" * (LONGEST - len("rows=")),)), "d")
    *cut, whole = queries.values()
    assert [note["request"] for note in cut] == [long[0].permalink[:LONGEST]] * 2
    assert [note["sha256"] for note in cut] == [
        hashlib.sha256(request.permalink.encode()).hexdigest() for request in long
    ]
    assert len(whole["request"]) == LONGEST
    assert "sha256" not in whole
    assert [unpack_request(note) for note in queries.values()] == [
        *(request.permalink for request in long),
        whole["request"],
    ]


def test_a_line_has_bounded_room(queries):
    """Random codes pack badly: some find room, the rest are told by their hash."""
    rng = random.Random(5)
    asked = [
        TableRequest("town", ("sex",), filters=(("area", tuple(rng.randbytes(6).hex() for _ in range(400))),))
        for _ in range(MOST_ASKED)
    ]
    for request in asked:
        record_query(request, "d")
    notes = list(queries.values())
    found = [unpack_request(note) for note in notes]
    fitted = [request.permalink for request in asked[: len(found) - found.count(None)]]
    assert found == [*fitted, *[None] * (MOST_ASKED - len(fitted))]
    assert 1 < len(fitted) < 10
    assert sum(len(note.get("packed", "")) for note in notes) <= MOST_PACKED


@pytest.mark.parametrize("packed", ["", "no base64", "eJw=", "eJxLBAAAYgBi"])
def test_what_was_packed_otherwise_is_not_read(packed):
    assert (
        unpack_request({"request": "b", "sha256": hashlib.sha256(b"b").hexdigest(), "packed": packed}) is None
    )


FOUR, SIX = "203.0.113.77", "2001:db8:1:2:3:4:5:6"


def test_what_is_kept_is_what_was_chosen():
    kept = {how: AddressPolicy(b"k", how).stored for how in ("full", "truncated", "none", "hashed")}
    assert (kept["full"](FOUR), kept["truncated"](FOUR), kept["none"](FOUR)) == (FOUR, "203.0.113.0/24", "")
    assert kept["truncated"](SIX) == "2001:db8:1::/48"
    assert kept["hashed"](FOUR) == kept["hashed"](f"::ffff:{FOUR}") != kept["hashed"]("203.0.113.78")
    assert FOUR not in kept["hashed"](FOUR)
    assert AddressPolicy(b"other").stored(FOUR) != kept["hashed"](FOUR), (
        "without the key nobody can try addresses"
    )


def test_another_word_is_refused():
    with pytest.raises(BadOption, match="log_addresses"):
        AddressPolicy(b"k", "some")
