"""Two loaded versions: the same keys give a removed person away, a new lineage and dp do not."""

import numpy as np
import pytest

from discreet_studies.attacks.scoring import share
from discreet_studies.attacks.targets import works
from discreet_studies.attacks.versions_trial import PLACE, VersionsTrial, corrected

FALSE_ALARM = 1e-6


@pytest.fixture(scope="module")
def study():
    return VersionsTrial(people=3_000, targets=60, collected=(1, 4), epsilon=1.0, seed=3).run()


def result_of(study, choice):
    found = [study["baseline"], *study["results"]]
    return next(each for each in found if each["protection"] == choice)


def test_one_person_of_every_place_is_removed_and_everybody_else_keeps_the_id():
    population = works(400, 20, seed=1)[0]
    after, target = corrected(population, 20, 2, seed=1)
    assert after.people == 360
    assert np.bincount(after.records[PLACE]).tolist() == [18] * 20
    assert population.records[PLACE][target].tolist() == list(range(20))
    assert not set(target.tolist()) & set(after.persons.tolist())


@pytest.mark.slow
def test_the_baseline_and_the_same_keys_give_everything_away(study):
    assert result_of(study, "unprotected")["curve"][-1]["all_right"] == 1
    last = result_of(study, "keep-keys")["curve"][-1]
    assert last["certain"] == last["certain_true"] > 0.95 * 60 * 6
    assert last["all_right"] > 0.9


@pytest.mark.slow
def test_a_new_lineage_ends_the_proofs_and_lets_both_versions_be_averaged(study):
    """The wrong alternative is the same keys, for which the average of both versions is no nearer to the truth."""
    anew, kept = result_of(study, "new-lineage"), result_of(study, "keep-keys")
    assert anew["curve"][-1]["certain"] == 0
    assert anew["curve"][-1]["all_right"] < 0.2
    assert anew["error"]["both_versions"] < 0.85 * anew["error"]["one_version"]
    assert kept["error"]["both_versions"] == pytest.approx(kept["error"]["one_version"], rel=1e-9)


@pytest.mark.slow
def test_under_dp_nobody_is_right_more_often_than_epsilon_allows(study):
    result = result_of(study, "dp")
    last = result["curve"][-1]
    assert share(round(last["success"] * 360), 360, 1 - FALSE_ALARM).low <= result["bound"]
    assert last["certain"] == 0


@pytest.mark.slow
def test_collected_corrections_hide_in_one_another(study):
    one, four = study["collected"]
    assert (one["removed"], four["removed"]) == (1, 4)
    assert four["success"] < one["success"] - 0.2
