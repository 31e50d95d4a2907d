"""The note of a request: every question once, and a bounded number of them.

Addresses are kept as the office decides.
"""

import hashlib
import random

import pytest

from discreet.model.request import TableRequest
from discreet.web.audit import log
from discreet.web.context import RequestContext, use_context


@pytest.fixture
def queries():
    """What is recorded of the current request."""
    with use_context(RequestContext()) as context:
        yield context.queries


def test_a_query_is_recorded_once_and_their_number_is_bounded(queries):
    for cells in (1, 2):
        log.record_query(TableRequest("town", ("sex",)), "0123456789", cells=cells)
    note = {"dataset": "town", "version": "01234567", "request": "rows=sex", "cells": 1}
    assert list(queries.values()) == [note]
    for number in range(50):
        log.record_query(TableRequest("town", (f"v{number}",)), "d")
    assert len(queries) == log.MOST_ASKED


def test_of_a_long_request_its_beginning_and_its_hash_are_recorded(queries):
    """Two that begin alike are two; one that is just not too long is whole."""
    codes = tuple(f"A{number:04}" for number in range(500))
    long = [TableRequest("town", ("sex",), filters=(("area", codes[:end]),)) for end in (499, 500)]
    for request in long:
        log.record_query(request, "d")
    log.record_query(TableRequest("town", ("x" * (log.LONGEST - len("rows=")),)), "d")
    *cut, whole = queries.values()
    assert [note["request"] for note in cut] == [long[0].permalink[: log.LONGEST]] * 2
    hashes = [hashlib.sha256(request.permalink.encode()).hexdigest() for request in long]
    assert [note["sha256"] for note in cut] == hashes
    assert len(whole["request"]) == log.LONGEST
    assert "sha256" not in whole
    links = [*(request.permalink for request in long), whole["request"]]
    assert [log.unpack_request(note) for note in queries.values()] == links


def test_a_line_has_bounded_room(queries):
    """Random codes pack badly: some find room, the rest are told by their hash."""
    rng, asked = random.Random(5), []
    for _ in range(log.MOST_ASKED):
        codes = tuple(rng.randbytes(6).hex() for _ in range(400))
        asked.append(TableRequest("town", ("sex",), filters=(("area", codes),)))
    for request in asked:
        log.record_query(request, "d")
    notes = list(queries.values())
    found = [log.unpack_request(note) for note in notes]
    fitted = [request.permalink for request in asked[: len(found) - found.count(None)]]
    assert found == [*fitted, *[None] * (log.MOST_ASKED - len(fitted))]
    assert 1 < len(fitted) < 10
    assert sum(len(note.get("packed", "")) for note in notes) <= log.MOST_PACKED


@pytest.mark.parametrize("packed", ["", "no base64", "eJw=", "eJxLBAAAYgBi"])
def test_what_was_packed_otherwise_is_not_read(packed):
    note = {"request": "b", "sha256": hashlib.sha256(b"b").hexdigest(), "packed": packed}
    assert log.unpack_request(note) is None


FOUR, SIX = "203.0.113.77", "2001:db8:1:2:3:4:5:6"


def test_what_is_kept_is_what_was_chosen():
    kept = {how: log.AddressPolicy(b"k", how).stored for how in ("full", "truncated", "none", "hashed")}
    assert (kept["full"](FOUR), kept["truncated"](FOUR), kept["none"](FOUR)) == (FOUR, "203.0.113.0/24", "")
    assert kept["truncated"](SIX) == "2001:db8:1::/48"
    assert kept["hashed"](FOUR) == kept["hashed"](f"::ffff:{FOUR}") != kept["hashed"]("203.0.113.78")
    assert FOUR not in kept["hashed"](FOUR)
    other = log.AddressPolicy(b"other").stored(FOUR)
    assert other != kept["hashed"](FOUR), "without the key nobody can try addresses"
