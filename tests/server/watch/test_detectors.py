"""Detectors: each finds its attack, and ordinary readers are left alone; figures by `tests/server/watch/readers.py`."""

import inspect

import numpy as np
import pytest
from tests.server.watch.readers import (
    ATTACKS,
    alerts,
    census,
    feeling_for_the_edge,
    harvester,
    highest,
    leave_one_area_out,
    ordinary_day,
    sliver_dataset,
)

from discreet.model.request import TableRequest
from discreet.rules.close_groups import close_groups
from discreet.server.watch import detectors
from discreet.server.watch.detectors import DETECTORS, Asked, Memory, remember

#: Each attack, and what must find it; what finds none of them is said in KNOWN_LIMITS.md.
FOUND = {
    "averaging, other words, 30 ways": {"recodes", "near-equal"},
    "averaging, regroupings, 30 ways": {"recodes", "near-equal"},
    "Bob, 12 pairs": {"near-equal"},
    "leave one area out, 20 areas": {"areas"},
    "feeling for the edge, 40 areas": {"refusals"},
    "slivers, 6 tables": {"slivers"},
    "withheld areas, 20 ways": set(),
    "two versions": set(),
}


@pytest.mark.parametrize("name", FOUND)
def test_each_attack_raises_the_alerts_that_are_said_and_no_others(name):
    """A detector that finds everything is the wrong alternative: it would find ordinary readers as well."""
    dataset, asked = ATTACKS[name]()
    assert alerts(highest(dataset, asked)) == FOUND[name]


def test_every_detector_has_an_attack():
    assert set().union(*FOUND.values()) == {each.name for each in DETECTORS}


@pytest.mark.slow
def test_ordinary_readers_and_a_harvester_raise_nothing():
    """Of 2,000 days 3 raised an alert (readers.py); these 25 do not, and their seeds are fixed."""
    for reader in range(25):
        assert not alerts(highest(census(), ordinary_day(reader))), reader
    some = (asked for number, asked in enumerate(harvester()) if number % 11 == 0)
    assert not highest(census(), some)


def test_half_as_much_of_an_attack_is_not_enough_for_a_stop_by_chance():
    """Scores rise with what is asked: one area less is one point less."""
    scores = [highest(*leave_one_area_out(number))["areas"] for number in (2, 5, 9)]
    assert scores == [2, 5, 9]
    assert highest(*feeling_for_the_edge(10))["refusals"] == 8


def test_detectors_see_no_count_and_no_answer():
    """They take a request and a description; nothing in them could hold a count."""
    source = inspect.getsource(detectors)
    for word in ("answer(", "release", "Release", "stored", "engine", "values"):
        assert word not in source, word


def test_lists_that_differ_by_a_category_are_known_from_the_description_alone():
    dataset = sliver_dataset()
    ones = np.ones(12, dtype=np.int64)
    pairs = {(one, other) for one, _, other, _, _ in close_groups(dataset, "ward", ones, 2)}
    assert ("district", "zone") in pairs
    assert detectors._sliver_lists(dataset, "ward") == (("district", "zone"),)


class NotCompared(int):
    """A group that must not be compared with another one."""

    def __rxor__(self, other):
        raise AssertionError("compared")


def test_groups_of_sizes_that_are_far_apart_are_not_compared():
    near, far = 0b1111110, NotCompared(0b11)
    assert list(detectors._near(0b1111111, 7, {far: 2, near: 6})) == [(near, 0b1111111)]
    with pytest.raises(AssertionError):
        list(detectors._near(0b111, 3, {far: 2}))


def test_a_question_is_compared_with_the_newest_groups_of_its_context_alone(monkeypatch):
    """Wrong alternative: with all that were ever asked for: a few hundred questions then keep a core busy."""
    monkeypatch.setattr(detectors, "MOST_GROUPS", 5)
    compared, near = [], detectors._near
    monkeypatch.setattr(
        detectors, "_near", lambda one, size, others: compared.append(len(others)) or near(one, size, others)
    )
    memory, dataset = Memory(), census()
    codes = dataset.variable("area").codes
    for number in range(40):
        request = TableRequest("census", ("sex",), filters=(("area", codes[number : number + 30]),))
        asked = Asked(dataset, request)
        remember(asked, memory)
        for detector in DETECTORS:
            list(detector.events(asked, memory))
    assert max(compared) == 5
    assert len(compared) == 40, "each question is compared once, by the detector of its variable"
    ((_, kept),) = memory.groups.items()
    assert next(reversed(kept)) == detectors._bits(dataset.variable("area"), codes[39:69])
    assert memory.in_all == len(kept) == 5


def test_what_is_kept_of_one_who_asks_is_bounded_and_small(monkeypatch):
    monkeypatch.setattr(detectors, "MOST_GROUPS_IN_ALL", 10)
    memory, dataset = Memory(), census()
    codes = dataset.variable("area").codes
    for name in ("sex", "age", "birthplace"):
        for number in range(6):
            request = TableRequest("census", (name,), filters=(("area", codes[number:]),))
            remember(Asked(dataset, request), memory)
    assert memory.in_all == sum(map(len, memory.groups.values())) == 6
    assert {len(question) for question in memory.asked} == {16}
    assert max(group.bit_length() for kept in memory.groups.values() for group in kept) <= len(codes)
