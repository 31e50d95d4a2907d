"""Tables that were laid out: kept under what decides them, and never beyond a number of cells."""

import pytest

from discreet.answer.doors import Doors
from discreet.errors import BadRequest
from discreet.model.request import request_from_text
from discreet.model.view import NO_VIEW, View
from discreet.server.layouts import Layouts


def asked(watched, **parts):
    door = Doors(watched).door("people")
    return door, door.check(request_from_text("people", **parts))


def test_a_layout_is_made_once_for_each_view_and_the_table_is_counted_once(watched):
    """Wrong: one layout for all views, so that readers see each other's order."""
    layouts, question = Layouts(), asked(watched, rows=["district"], columns=["sex"])
    plain = layouts.layout(*question, NO_VIEW, "labels")
    assert layouts.layout(*question, NO_VIEW, "labels") is plain
    turned = layouts.layout(*question, View(sort="-value"), "labels")
    assert turned.release.dimensions != plain.release.dimensions
    assert layouts.layout(*question, NO_VIEW, "codes").naming == "codes"
    assert watched.engines["people"].calls == 1


def test_no_more_cells_are_kept_than_allowed_and_a_view_that_fails_is_not_kept(watched):
    layouts = Layouts(most_cells=200)
    for columns in (["sex"], ["age"], ["job"]):
        layouts.layout(*asked(watched, rows=["district"], columns=columns), NO_VIEW, "labels")
        assert layouts.cells <= 200
    with pytest.raises(BadRequest):
        layouts.layout(*asked(watched, columns=["sex"]), View(sort="label"), "labels")
    layouts.layout(*asked(watched, rows=["district"], columns=["age", "job"]), NO_VIEW, "labels")
    assert layouts.cells == 49 * 16, "a larger one is kept alone"
