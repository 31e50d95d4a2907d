"""The outlying-weight attack finds out the errors of 0.2.0 and not those of released numbers; constants tell little."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from discreet.model.request import TableRequest
from discreet.records.keys import Secret
from discreet.records.storage import CLUSTER, WEIGHT
from discreet.release.dataset_registry import open_registry
from discreet.survey.gate import level_figures
from discreet.survey.published_constants import published_constants, secret_chances
from discreet_studies.attacks import constants_trial as constants
from discreet_studies.attacks.outlying_trial import (
    BASELINES,
    FALSE_ALARM,
    GROUP,
    OutlyingSurvey,
    opened,
    outlying_results,
)
from discreet_studies.attacks.targets import load_people
from discreet_studies.attacks.weights_trial import errors_of_new_loads

FORMS = ("average-weight+clusters", "public-strata+strata", "largest-weight+clusters")


def scores(forms, persons=30):
    return {
        each["protection"]: each["attacks"] for each in outlying_results(4, persons, (5.0,), forms, seed=2)
    }


@pytest.mark.slow
def test_errors_of_released_numbers_find_nobody():
    """120 persons; a sound form is called open with probability FALSE_ALARM at most, all attacks together."""
    assert FALSE_ALARM <= 0.01
    for form, attacks in scores(FORMS).items():
        assert set(attacks) == set(BASELINES)
        for name, score in attacks.items():
            assert score["within_bar"], (form, name, score)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS[:2])
def test_errors_of_0_2_0_are_found_out(form):
    """The wrong alternative: errors that come from the weights of the people in a cell."""
    with errors_of_new_loads("design-effects"):
        (attacks,) = scores((form,)).values()
    for name, score in attacks.items():
        assert not score["within_bar"], name
    assert attacks["two error"]["right"] > 0.9
    assert attacks["two tables"]["right"] > 0.9
    assert attacks["ten tables"]["right"] > 0.85
    assert attacks["exact"]["right"] > 0.9


@pytest.mark.slow
def test_the_attacked_survey_is_what_the_attack_says():
    survey = OutlyingSurvey(3, 5.0, 2, 20)
    with opened(survey, "average-weight+no-design") as service:
        release = service.release(TableRequest("survey", ("cell",), measure="count"))
    assert release.values[-1] == pytest.approx(survey.people, abs=5)
    weights = survey.weights("average-weight+no-design")
    assert np.flatnonzero(weights > 4 * weights.mean()).tolist() == survey.outlying.tolist()
    assert (survey.pairs // GROUP == np.arange(2)[:, None]).all()
    assert (survey.pairs[:, 0] != survey.pairs[:, 1]).all()
    assert (survey.outlying // survey.size == survey.pairs[:, 0]).all()


def test_the_distribution_of_constants_is_that_of_many_chances():
    rng = np.random.default_rng(4)
    for values in (rng.uniform(1, 3, size=(20, 3))).tolist():
        exact = constants.outcomes(values)
        assert sum(exact.values()) == pytest.approx(1)
        slow = {}
        for u in (np.arange(4000) + 0.5) / 4000:
            steps = constants.steps_of(values, u)
            slow[steps] = slow.get(steps, 0) + 1 / 4000
        assert constants.total_variation(exact, slow) < 0.002


def test_a_change_within_a_step_is_found_by_its_share_of_the_step():
    one, two = (constants.outcomes([1.25**power]) for power in (1.3, 1.4))
    assert constants.total_variation(one, two) == pytest.approx(0.1)


@pytest.mark.slow
def test_constants_measured_in_memory_are_those_of_a_load(tmp_path):
    kind = constants.Sampled(1_000, 100)
    columns = kind.columns(np.random.default_rng(5))

    names = {CLUSTER: "place", WEIGHT: "weight"}
    records = {
        names.get(name, name): column / 100
        if name == WEIGHT
        else column
        if name == CLUSTER
        else column.astype(str)
        for name, column in columns.items()
    }
    dataset = kind.dataset("largest-weight", columns[WEIGHT])
    text = kind.description("largest-weight", columns[WEIGHT])
    load_people(tmp_path / "w", text, pa.table({"person": np.arange(1_000), **records}), 1)
    secret = Secret((tmp_path / "w" / "secret").read_bytes())
    engine = constants.MemoryEngine(columns)
    registry = open_registry(tmp_path / "w")
    stored = registry.open("survey").dataset
    figures = list(level_figures(stored, engine))
    found = published_constants(stored, engine, figures, secret_chances(secret, stored))
    assert dict(found.effects) == dict(stored.survey.constants.effects)
    assert replace(found, effects=()) == replace(stored.survey.constants, effects=())
    assert dataset.survey == stored.survey


@pytest.mark.slow
def test_constants_tell_little_of_a_category_and_less_with_one_chance_than_with_many():
    kind = constants.SAMPLED[0]
    (found,) = constants.constant_gains(12, 3, (kind,))
    gains = {(each["secret"], each["constant"], each["of"]): each["mean"] for each in found["gains"]}
    for name in ("D v2", "D v5", "D v10"):
        one, same, new = (
            gains[constants.USUAL, name, which] for which in ("one", "versions", "versions_new_chances")
        )
        assert one < 0.06
        assert one <= same < new
