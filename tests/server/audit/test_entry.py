"""The note of a request: every question once, and a bounded number of them."""

import hashlib

from discreet.errors import BadKey
from discreet.model.request import TableRequest
from discreet.server.audit.entry import ENTRY, LONGEST, MOST_ASKED, Entry, note_refusal


def test_a_question_is_noted_once_and_the_first_refusal_holds():
    entry = Entry()
    for cells in (1, 2):
        entry.note(TableRequest("town", ("sex",)), "0123456789", cells=cells)
    assert list(entry.asked.values()) == [
        {"dataset": "town", "version": "01234567", "request": "rows=sex", "cells": 1}
    ]
    for number in range(50):
        entry.note(TableRequest("town", (f"v{number}",)), "d")
    assert len(entry.asked) == MOST_ASKED
    token = ENTRY.set(entry)
    note_refusal(BadKey("a"))
    entry_code = entry.code
    ENTRY.reset(token)
    note_refusal(BadKey("outside a request nothing is noted"))
    assert entry_code == "bad-key"


def test_of_a_long_request_its_beginning_and_its_hash_are_noted():
    """Two that begin alike are two; one that is just not too long is whole."""
    entry = Entry()
    codes = tuple(f"A{number:04}" for number in range(500))
    long = [TableRequest("town", ("sex",), filters=(("area", codes[:end]),)) for end in (499, 500)]
    for request in long:
        entry.note(request, "d")
    entry.note(TableRequest("town", ("x" * (LONGEST - len("rows=")),)), "d")
    *cut, whole = entry.asked.values()
    assert [note["request"] for note in cut] == [long[0].permalink[:LONGEST]] * 2
    assert [note["sha256"] for note in cut] == [
        hashlib.sha256(request.permalink.encode()).hexdigest() for request in long
    ]
    assert len(whole["request"]) == LONGEST
    assert "sha256" not in whole
