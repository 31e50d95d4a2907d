"""The note of a request: every question once, and a bounded number of them."""

from discreet.errors import BadKey
from discreet.model.request import TableRequest
from discreet.server.audit.entry import ENTRY, MOST_ASKED, Entry, note_refusal


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
