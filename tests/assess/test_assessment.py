from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from discreet import privacy
from discreet.assess import assess, assess_subject, cases_of
from discreet.assess.assessment import CONFIDENTIAL, privacy_of
from discreet.assess.subject import Subject
from discreet.errors import BadRequest
from discreet.model.request import TableRequest
from discreet.noise import laplace, maxent, pram
from discreet.protect import cell_keys as cell_key_noise
from discreet.release.dataset_registry import DatasetService
from discreet.workspace.workspace import Workspace

REQUEST = TableRequest("town", rows=("sex",), columns=("job",), filters=(("age", ("adult", "old")),))
SMALL = {"families": ("laplace", "maxent", "pram", "current"), "epsilons": (0.5, 2.0), "reps": 30}


@pytest.fixture(scope="module")
def stored(town_workspace):
    return town_workspace.stored("town")


@pytest.fixture(scope="module")
def found(stored):
    return assess(DatasetService(stored), REQUEST, **SMALL)


def test_every_setting_is_assessed_in_order(found):
    labels = [o.case.label for o in found.outcomes]
    assert labels == ["laplace 0.5", "laplace 2", "maxent 0.5", "maxent 2", "pram", "current"]
    assert found.truth.df == 3


def test_the_document_is_plain_marked_and_has_every_measure(found):
    document = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert document["confidential"] == CONFIDENTIAL
    assert "differential privacy" in document["caution"]
    for case in document["settings"]:
        assert {"delta", "delta_above", "epsilon_at", "epsilon_above"} <= set(case["privacy"])
        assert {
            "l1", "l2", "l3", "perturbed", "p_exact", "confirmation", "false_zeros", "false_people",
        } <= set(case["expected"])  # fmt: skip
        assert {
            "rm", "hellinger", "cramers_v", "corrected_v", "chi_square", "p_value", "likelihood_ratio",
            "aware_ratio", "aware_p_value", "total_variation",
        } <= set(case["simulated"])  # fmt: skip
        assert case["simulated"]["rm"]["error"] > 0
        assert case["same_conclusion"]["releases_tested"] == 30
    assert document["averaging"]["factor"] > 1
    assert document["settings"][4]["privacy"]["epsilon_at"] is None  # PRAM has no epsilon at 1e-4


def test_the_privacy_is_that_of_the_exact_audit():
    found = privacy_of(laplace(epsilon=1.0, m=9), 1.0, 1e-4)
    assert found.delta == float(privacy.delta(laplace(epsilon=1.0, m=9), epsilon=1.0))
    assert found.delta_above == found.delta
    assert found.epsilon_at == privacy.epsilon(laplace(epsilon=1.0, m=9), delta=1e-4)
    small = privacy_of(maxent(D=5, V=3, js=2), None, 0.05)
    assert small.epsilon == 1
    assert small.delta > small.delta_above
    assert small.epsilon_at > small.epsilon_above


def test_the_current_setting_is_the_stored_noise_and_neither_keys_nor_secret_are_used(stored, monkeypatch):
    def forbidden(*_):
        raise AssertionError("an assessment looked at real keys")

    monkeypatch.setattr(cell_key_noise, "add_noise", forbidden)
    keyless = replace(stored, protector=replace(stored.protector, keys=forbidden, dice=forbidden))
    found = assess(DatasetService(keyless), REQUEST, families=["current"], reps=3)
    assert found.outcomes[0].case.noise == stored.protector.noise


def test_under_dp_the_current_setting_is_the_noise_of_the_margin_that_answers(private_town):
    stored = Workspace(private_town.folder).stored("town")
    request = TableRequest("town", ("sex",), ("age",))
    found = assess(DatasetService(stored), request, families=["current"], reps=3)
    assert found.outcomes[0].case.noise == stored.dp.plan.noise()["age", "sex"]
    sums = TableRequest("town", ("region",), ("sex",))
    assert assess(DatasetService(stored), sums, families=["current", "laplace"], reps=3).left_out


def test_unbeaten_settings_are_those_that_no_other_beats(found):
    places = {o.case.label: (o.simulated["rm"].mean, o.simulated["hellinger"].mean) for o in found.outcomes}
    kept = {o.case.label for o in found.unbeaten()}
    assert kept
    for label, (risk, loss) in places.items():
        beaten = any(r <= risk and h <= loss for other, (r, h) in places.items() if other != label)
        assert (label in kept) != beaten


def test_on_an_independent_table_noise_misleads_the_naive_reader_and_not_the_other():
    """Rinott et al., figure 3: a large independent table of small counts."""
    counts = np.random.default_rng(3).poisson(10, (1, 10, 10))
    subject = Subject(counts, np.ones(counts.shape, dtype=bool))
    cases, _ = cases_of(["laplace"], [0.5, 4.0], 1e-4)
    found = assess_subject(subject, cases, reps=40)
    heavy, light = found.outcomes
    assert found.truth.associated is False
    assert heavy.same_naive < 0.3
    assert heavy.same_aware > 0.8
    assert light.same_naive > 0.8
    assert heavy.simulated["cramers_v"].mean > found.truth.cramers_v + 0.02


@pytest.mark.parametrize(
    ("wish", "said"), [({"reps": 1}, "--reps"), ({"reps": 10**6}, "--reps"), ({"seed": -1}, "--seed")]
)
def test_wishes_that_mean_nothing_are_refused(stored, wish, said):
    with pytest.raises(BadRequest) as refused:
        assess(DatasetService(stored), REQUEST, **({"families": ["pram"]} | wish))
    assert said in refused.value.message


def test_an_empty_table_is_refused():
    subject = Subject(np.zeros((1, 2, 2), dtype=np.int64), np.ones((1, 2, 2), dtype=bool))
    cases, _ = cases_of(["pram"], [1.0], 1e-4)
    assert cases[0].noise == pram()
    with pytest.raises(BadRequest, match="Nobody"):
        assess_subject(subject, cases)
