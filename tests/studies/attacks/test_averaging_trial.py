"""Averaging against loaded datasets: which way of asking pays under which way of keying."""

import pytest

from discreet.attacks.knowledge import CELLKEY, DESCRIBED, DP, UNPROTECTED
from discreet.attacks.query_averaging import PARTS, WORDS
from discreet_studies.attacks.averaging_trial import AveragingTrial

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def study():
    return AveragingTrial(people=6_000, targets=100, ways=16, epsilon=2.0, seed=2).run()


def curve_of(study, protection, kind):
    found = [study["baseline"], *study["results"]]
    return next(each["curves"][kind] for each in found if each["protection"] == protection)


def test_unprotected_counts_are_exact_at_once(study):
    for kind in (WORDS, PARTS):
        assert {point["error"] for point in curve_of(study, UNPROTECTED, kind)} == {0.0}
        assert curve_of(study, UNPROTECTED, kind)[0]["exact"]["share"] == 1


def test_other_words_give_nothing_where_the_same_people_have_one_number(study):
    errors = {point["error"] for point in curve_of(study, CELLKEY, WORDS)}
    assert len(errors) == 1
    assert errors.pop() > 1.2


def test_other_words_average_the_noise_away_where_the_description_is_in_the_key(study):
    first, *_, last = curve_of(study, DESCRIBED, WORDS)
    assert last["ways"] == 16
    assert last["high"] < first["low"] / 2.5  # a quarter is expected; half would be 4 ways
    assert last["low"] < last["expected"] < last["high"]
    assert last["exact"]["low"] > first["exact"]["high"]


@pytest.mark.parametrize("protection", [CELLKEY, DESCRIBED])
def test_regrouped_parts_average_the_noise_away_in_both(study, protection):
    first, *_, last = curve_of(study, protection, PARTS)
    assert last["error"] < first["error"] / 2
    assert last["exact"]["share"] > 0.4


@pytest.mark.parametrize("kind", [WORDS, PARTS])
def test_under_dp_a_second_margin_helps_once_and_the_bound_holds(study, kind):
    first, *rest = curve_of(study, DP, kind)
    rest = rest if kind == WORDS else rest[1:]  # the complement says nothing new
    assert len({point["error"] for point in rest}) == 1
    assert rest[0]["error"] != first["error"]
    bound = study["results"][-1]["bound"]
    assert bound["exact"] == pytest.approx(0.7616, abs=1e-4)  # tanh(1)
    for point in (first, *rest):
        assert point["within_bound"]
        assert point["low"] > bound["error"]
        assert point["exact"]["high"] < bound["exact"]
        assert point["low"] * 0.7 < point["expected"] < point["high"] * 1.3
