"""Whole tables that were made a moment ago: made once, bounded, and kept from nobody and for nobody.

Tables that were laid out: kept under what decides them, and never beyond a number of cells.
"""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import BadRequest, Refused, TableNotReleased
from discreet.model.request import request_from_text
from discreet.model.view import NO_VIEW, View
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.release_cache import GridCache, ReleaseCache


@pytest.fixture(scope="module")
def door(town_workspace):
    return DatasetRegistry(town_workspace).door("town")


class Counted:
    """A door that counts its answers, and may refuse or wait."""

    def __init__(self, door, refusal=None, pause=None):
        self.door = door
        self.answers = 0
        self.refusal = refusal
        self.pause = pause

    def answer(self, question):
        self.answers += 1
        if self.pause is not None:
            self.pause.wait(1)
        if self.refusal is not None:
            raise self.refusal
        return self.door.answer(question)


def question(door, *rows):
    return door.check(request_from_text("town", rows=list(rows)))


@pytest.mark.slow
def test_a_whole_is_made_once_even_if_all_ask_together(door):
    """Wrong alternative: look up, then make, then keep: everybody who comes meanwhile makes it again."""
    wholes, counted = ReleaseCache(), Counted(door, pause=threading.Event())
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: wholes.release(counted, question(door, "sex", "age")), range(8)))
    assert counted.answers == 1
    assert all((each.values == made[0].values).all() for each in made)
    assert not wholes._turns._making


def test_another_question_or_version_is_another_whole(door):
    wholes, counted = ReleaseCache(), Counted(door)
    for rows in (["sex"], ["age"], ["sex"]):
        wholes.release(counted, question(door, *rows))
    assert counted.answers == 2
    one = question(door, "sex")
    object.__setattr__(one, "digest", "another version")
    wholes.release(counted, one)
    assert counted.answers == 3


def test_as_much_is_kept_as_fits_the_last_ones(door):
    wholes, counted = ReleaseCache(most_cells=10), Counted(door)
    for name in ("sex", "age", "job"):  # 3, 4 and 5 cells
        wholes.release(counted, question(door, name))
        assert wholes.cells <= 10
    wholes.release(counted, question(door, "age"))
    assert counted.answers == 3
    wholes.release(counted, question(door, "sex"))
    assert counted.answers == 4
    large = ReleaseCache(most_cells=1)
    large.release(counted, question(door, "job"))
    assert large.cells == 5  # one larger table is kept alone: its slices are counted once, too


def test_a_refusal_is_kept_without_what_it_was_found_in(door):
    """Wrong alternative: the exception itself, whose traceback holds the exact counts for as long as it is kept."""
    wholes, counted = ReleaseCache(), Counted(door, TableNotReleased("Too sparse.", "Take one out."))
    for _ in range(3):
        with pytest.raises(TableNotReleased, match=r"Too sparse\. Take one out\."):
            wholes.release(counted, question(door, "sex"))
    assert counted.answers == 1
    assert all(kept.__traceback__ is None for kept in wholes._kept.values())


def test_what_may_be_another_answer_tomorrow_is_not_kept(door):
    wholes = ReleaseCache()
    counted = Counted(door, Refused("Not today.", cacheable=False))
    for _ in range(2):
        with pytest.raises(Refused):
            wholes.release(counted, question(door, "sex"))
    metered = question(door, "age")
    object.__setattr__(metered, "metered", True)
    allowed = Counted(door)
    for _ in range(2):
        wholes.release(allowed, metered)
    assert (counted.answers, allowed.answers, wholes.cells) == (2, 2, 0)


def asked(watched, **parts):
    door = DatasetRegistry(watched).door("people")
    return door, door.check(request_from_text("people", **parts))


def test_a_layout_is_made_once_for_each_view_and_the_table_is_counted_once(watched):
    """Wrong: one layout for all views, so that readers see each other's order."""
    layouts, question = GridCache(), asked(watched, rows=["district"], columns=["sex"])
    plain = layouts.layout(*question, NO_VIEW, "labels")
    assert layouts.layout(*question, NO_VIEW, "labels") is plain
    turned = layouts.layout(*question, View(sort="-value"), "labels")
    assert turned.release.dimensions != plain.release.dimensions
    assert layouts.layout(*question, NO_VIEW, "codes").naming == "codes"
    assert watched.engines["people"].calls == 1


def test_no_more_cells_are_kept_than_allowed_and_a_view_that_fails_is_not_kept(watched):
    layouts = GridCache(most_cells=200)
    for columns in (["sex"], ["age"], ["job"]):
        layouts.layout(*asked(watched, rows=["district"], columns=columns), NO_VIEW, "labels")
        assert layouts.cells <= 200
    with pytest.raises(BadRequest):
        layouts.layout(*asked(watched, columns=["sex"]), View(sort="label"), "labels")
    layouts.layout(*asked(watched, rows=["district"], columns=["age", "job"]), NO_VIEW, "labels")
    assert layouts.cells == 49 * 16, "a larger one is kept alone"
