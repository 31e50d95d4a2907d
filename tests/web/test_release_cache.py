"""Recent releases and grids: computed once, bounded in bytes, and never metered ones."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import BadRequest, Refused, TableNotReleased
from discreet.model.request import request_from_text
from discreet.model.view import NO_VIEW, View
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.cache import OVERHEAD, RELEASE_CELL, GridCache, ReleaseCache, release_key


@pytest.fixture(scope="module")
def service(town_workspace):
    return DatasetRegistry(town_workspace).open("town")


class Counted:
    """A service that counts its answers, and may refuse or wait."""

    def __init__(self, service, refusal=None, pause=0):
        self.service, self.refusal, self.pause = service, refusal, pause
        self.answers = 0

    def answer(self, question):
        self.answers += 1
        threading.Event().wait(self.pause)
        if self.refusal is not None:
            raise self.refusal
        return self.service.answer(question)


def question(service, *rows):
    return service.check(request_from_text("town", rows=list(rows)))


@pytest.mark.slow
def test_a_release_is_computed_once_even_if_all_ask_together(service):
    """Wrong alternative: look up, compute, store: everybody who comes meanwhile computes it again."""
    releases, counted = ReleaseCache(), Counted(service, pause=0.3)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: releases.release(counted, question(service, "sex", "age")), range(8)))
    assert counted.answers == 1
    assert all((each.values == made[0].values).all() for each in made)


def test_another_request_version_or_wording_is_another_release(service):
    releases, counted = ReleaseCache(), Counted(service)
    for rows in ("sex", "age", "sex"):
        releases.release(counted, question(service, rows))
    one = question(service, "sex")
    object.__setattr__(one, "digest", "another version")
    releases.release(counted, one)
    assert counted.answers == 3


def test_the_cache_is_bounded_by_the_cells_of_its_releases(service):
    releases, counted = ReleaseCache(max_bytes=2 * (OVERHEAD + 5 * RELEASE_CELL)), Counted(service)
    for name, answers in (("sex", 1), ("age", 2), ("job", 3), ("age", 3), ("sex", 4)):  # 3, 4 and 5 cells
        releases.release(counted, question(service, name))
        assert counted.answers == answers


def test_a_refusal_is_cached_without_its_traceback(service):
    """Wrong alternative: the exception itself, whose traceback keeps the exact counts in memory."""
    releases, counted = ReleaseCache(), Counted(service, TableNotReleased("Too sparse.", "Take one out."))
    for _ in range(3):
        with pytest.raises(TableNotReleased, match=r"Too sparse\. Take one out\."):
            releases.release(counted, question(service, "sex"))
    assert counted.answers == 1
    assert releases.cache.get(release_key(question(service, "sex"))).__traceback__ is None


def test_what_is_metered_or_may_change_is_not_cached(service):
    releases, metered = ReleaseCache(), question(service, "age")
    object.__setattr__(metered, "metered", True)
    refusing, allowed = Counted(service, Refused("Not today.", cacheable=False)), Counted(service)
    for _ in range(2):
        with pytest.raises(Refused):
            releases.release(refusing, question(service, "sex"))
        releases.release(allowed, metered)
    assert (refusing.answers, allowed.answers, releases.cache.size) == (2, 2, 0)


def asked(watched, **parts):
    service = DatasetRegistry(watched).open("people")
    return service, service.check(request_from_text("people", **parts))


def test_a_grid_is_computed_once_per_view_and_its_table_counted_once(watched):
    """Wrong: one grid for all views, so that readers see each other's order."""
    grids, question = GridCache(ReleaseCache()), asked(watched, rows=["district"], columns=["sex"])
    plain = grids.layout(*question, NO_VIEW, "labels")
    assert grids.layout(*question, NO_VIEW, "labels") is plain
    turned = grids.layout(*question, View(sort="-value"), "labels")
    assert turned.release.dimensions != plain.release.dimensions
    assert grids.layout(*question, NO_VIEW, "codes").naming == "codes"
    assert watched.engines["people"].calls == 1


def test_grids_are_bounded_and_a_view_that_fails_is_not_cached(watched):
    grids = GridCache(ReleaseCache(), max_bytes=20_000)
    for columns in (["sex"], ["age"], ["job"]):
        grids.layout(*asked(watched, rows=["district"], columns=columns), NO_VIEW, "labels")
        assert grids.cache.size <= 20_000
    before = grids.cache.size
    with pytest.raises(BadRequest):
        grids.layout(*asked(watched, columns=["sex"]), View(sort="label"), "labels")
    assert grids.cache.size == before
