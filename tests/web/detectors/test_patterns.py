"""Detectors: each finds its attack, and ordinary readers are left alone; figures by `tests/web/detectors/readers.py`.

Scores: a question counts once, and only for as long as the window lasts.
"""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from tests.web.detectors.readers import (
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

from discreet.model.request import TableRequest, canonical
from discreet.rules.kinds.groups import close_groups
from discreet.web.detectors import patterns
from discreet.web.detectors.patterns import DETECTORS, LoggedRequest, RequestHistory, Scores, remember

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
    assert set().union(*FOUND.values()) == {each.name for each in DETECTORS}, "every detector has an attack"


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
    source = inspect.getsource(patterns)
    for word in ("answer(", "release", "Release", "stored", "engine", ".counts"):
        assert word not in source, word


def test_lists_that_differ_by_a_category_are_known_from_the_description_alone():
    dataset = sliver_dataset()
    ones = np.ones(12, dtype=np.int64)
    pairs = {(one, other) for one, _, other, _, _ in close_groups(dataset, "ward", ones, 2)}
    assert ("district", "zone") in pairs
    assert patterns._sliver_lists(dataset, "ward") == (("district", "zone"),)


def see_areas(memory, name, codes):
    """Remember and judge a question about some areas."""
    asked = LoggedRequest(census(), TableRequest("census", (name,), filters=(("area", codes),)))
    remember(asked, memory)
    for detector in DETECTORS:
        list(detector.events(asked, memory))


def test_a_question_is_compared_with_the_newest_groups_of_its_context_alone(monkeypatch):
    """Wrong alternative: with all that were ever asked for: a few hundred questions then keep a core busy."""
    monkeypatch.setattr(patterns, "MOST_GROUPS", 5)
    compared, near = [], patterns._near
    seen = lambda one, size, others: compared.append(len(others)) or near(one, size, others)  # noqa: E731
    monkeypatch.setattr(patterns, "_near", seen)
    memory, area = RequestHistory(), census().variable("area")
    for number in range(40):
        see_areas(memory, "sex", area.codes[number : number + 30])
    assert max(compared) == 5
    assert len(compared) == 40, "each question is compared once, by the detector of its variable"
    ((_, kept),) = memory.groups.items()
    assert next(reversed(kept)) == patterns._bits(area, area.codes[39:69])
    assert memory.in_all == len(kept) == 5


def test_what_is_kept_of_one_who_asks_is_bounded_and_small(monkeypatch):
    monkeypatch.setattr(patterns, "MOST_GROUPS_IN_ALL", 10)
    memory, codes = RequestHistory(), census().variable("area").codes
    for name in ("sex", "age", "birthplace"):
        for number in range(6):
            see_areas(memory, name, codes[number:])
    assert memory.in_all == sum(map(len, memory.groups.values())) == 6
    assert {len(question) for question in memory.asked} == {16}
    assert max(group.bit_length() for kept in memory.groups.values() for group in kept) <= len(codes)


def grouped(number):
    codes = census().variable("age").codes
    request = TableRequest("census", ("age",), groups=(("age", (codes[: number + 2], codes[number + 2 :])),))
    return LoggedRequest(census(), canonical(request, census()))


def recodes(scores, who, number, at):
    return {each.detector: each.score for each in scores.see(who, grouped(number), at)}.get("recodes")


def test_the_same_question_is_new_once_within_the_window_and_people_are_apart():
    """A window that begins anew at full hours is the wrong alternative: an attack across its border is two halves."""
    scores = Scores(60)
    assert [scores.is_new("a", "q"), scores.is_new("a", "q"), scores.is_new("b", "q")] == [True, False, True]
    assert [recodes(scores, "a", n, 0.0) for n in (0, 1, 1, 2)] == [1, 2, None, 3]
    assert recodes(scores, "b", 3, 0.0) == 1
    assert [recodes(scores, "c", n, 10.0 * n) for n in range(7)] == [1, 2, 3, 4, 5, 6, 7]
    assert recodes(scores, "c", 7, 75.0) == 6


def test_not_more_is_remembered_than_is_affordable(monkeypatch):
    monkeypatch.setattr(patterns, "MOST_WATCHED", 2)
    scores = Scores(60)
    for who in ("a", "b", "c"):
        scores.is_new(who, "q")
    assert scores.is_new("a", "q"), "a was forgotten"
    many = Scores(60)
    monkeypatch.setattr(patterns, "MOST_QUESTIONS", 2)
    for question in ("q", "r", "s"):
        many.is_new("a", question)
    assert many.is_new("a", "q")
    many.is_new("a", "long" * 1_000)
    assert {len(question) for question in many._people["a"].seen} == {16}


def test_events_are_bounded_of_one_kind_and_of_all(monkeypatch):
    monkeypatch.setattr(patterns, "MOST_EVENTS", 3)
    scores = Scores(60)
    assert [recodes(scores, "a", n, 0.0) for n in range(5)] == [1, 2, 3, 3, 3]
    monkeypatch.setattr(patterns, "MOST_EVENTS_IN_ALL", 4)
    watched = patterns._Watched()
    for kind in "abcd":
        for event in range(2):
            assert watched.add(("recodes", kind), event, 0.0, -60.0) == event + 1
    assert [kind for _, kind in watched.events] == ["c", "d"]
    assert watched.in_all == 4


def test_an_unfiltered_question_pairs_with_one_that_leaves_out_a_category_in_either_order():
    codes = census().variable("education").codes
    plain = TableRequest("census", ("sex",))
    less = replace(plain, filters=(("education", codes[1:]),))
    for order in ((plain, less), (less, plain)):
        scores, asked = Scores(60), [LoggedRequest(census(), canonical(each, census())) for each in order]
        assert "near-equal" in {score.detector for each in asked for score in scores.see("a", each, 0)}


def test_a_reload_that_changes_code_lists_is_judged_by_the_new_ones():
    """Wrong alternative: facts by id, version and number of lists, with which detectors used the lists of the old load."""
    old, new = sliver_dataset(), sliver_dataset()
    (first, *rest) = new.code_lists
    groups = tuple((code, label, members[:1]) for code, label, members in first.groups)
    new = replace(new, code_lists=(replace(first, groups=groups), *rest))
    assert (old.id, old.version, old.wording) == (new.id, new.version, new.wording)
    unions = [patterns._unions_of(dataset, "ward") for dataset in (old, new)]
    assert unions[0] != unions[1]
    assert patterns._unions_of(old, "ward") is unions[0], "computed once"
