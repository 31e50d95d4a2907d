"""Scores: a question counts once, and only for as long as the window lasts."""

from dataclasses import replace

from tests.server.watch.readers import census

from discreet.model.request import TableRequest, canonical
from discreet.server.watch import scores as module
from discreet.server.watch.detectors import Asked
from discreet.server.watch.scores import Scores


def grouped(number):
    codes = census().variable("age").codes
    request = TableRequest("census", ("age",), groups=(("age", (codes[: number + 2], codes[number + 2 :])),))
    return Asked(census(), canonical(request, census()))


def recodes(scores, who, number, at):
    return {each.detector: each.score for each in scores.see(who, grouped(number), at)}.get("recodes")


def test_the_same_question_is_new_once_and_people_are_apart():
    scores = Scores(60)
    assert [scores.is_new("a", "q"), scores.is_new("a", "q"), scores.is_new("b", "q")] == [True, False, True]
    assert [recodes(scores, "a", n, 0.0) for n in (0, 1, 1, 2)] == [1, 2, None, 3]
    assert recodes(scores, "b", 3, 0.0) == 1


def test_what_is_older_than_the_window_is_forgotten():
    """A window that begins anew at full hours is the wrong alternative: an attack across its border is two halves."""
    scores = Scores(60)
    assert [recodes(scores, "a", n, 10.0 * n) for n in range(7)] == [1, 2, 3, 4, 5, 6, 7]
    assert recodes(scores, "a", 7, 75.0) == 6


def test_not_more_is_remembered_than_is_affordable(monkeypatch):
    monkeypatch.setattr(module, "MOST_WATCHED", 2)
    scores = Scores(60)
    for who in ("a", "b", "c"):
        scores.is_new(who, "q")
    assert scores.is_new("a", "q"), "a was forgotten"
    many = Scores(60)
    monkeypatch.setattr(module, "MOST_QUESTIONS", 2)
    for question in ("q", "r", "s"):
        many.is_new("a", question)
    assert many.is_new("a", "q")
    many.is_new("a", "long" * 1_000)
    assert {len(question) for question in many._people["a"].seen} == {16}


def test_events_are_bounded_of_one_kind_and_of_all(monkeypatch):
    monkeypatch.setattr(module, "MOST_EVENTS", 3)
    scores = Scores(60)
    assert [recodes(scores, "a", n, 0.0) for n in range(5)] == [1, 2, 3, 3, 3]
    monkeypatch.setattr(module, "MOST_EVENTS_IN_ALL", 4)
    watched = module._Watched()
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
        scores = Scores(60)
        found = [
            each.detector
            for asked in order
            for each in scores.see("a", Asked(census(), canonical(asked, census())), 0)
        ]
        assert "near-equal" in found
