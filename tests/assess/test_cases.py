from __future__ import annotations

import math

import pytest

from discreet import privacy
from discreet.assess.cases import case_names, cases_of
from discreet.errors import BadRequest
from discreet.noise import maxent
from discreet.noise.files import write_noise_table

DELTA = 1e-4
EXACT = ("laplace", "normal", "abs", "gaussian")


def test_an_epsilon_means_the_same_for_every_family_that_has_one():
    found, left_out = cases_of(EXACT, (0.5, 2.0), DELTA)
    assert left_out == ()
    assert [s.label for s in found] == [f"{f} {e:g}" for f in EXACT for e in (0.5, 2.0)]
    for case in found:
        # Quantising to 2^32 keys may move delta by a few keys.
        assert privacy.delta(case.noise, epsilon=case.epsilon) <= DELTA * (1 + 1e-5)
        assert privacy.epsilon(case.noise, delta=DELTA) <= case.epsilon * (1 + 1e-6)
        assert case.zeros == "perturbed"


def test_maxent_keeps_epsilon_for_counts_above_d_with_the_least_variance():
    (case,), _ = cases_of(["maxent"], [1.0], DELTA)
    audited = privacy.audit(case.noise, delta=DELTA)
    assert audited.above_D.epsilon == pytest.approx(1.0, rel=1e-3)
    assert case.zeros == "kept"
    assert "ABS guide" in case.how
    less = maxent(D=case.noise.largest, V=0.95 * float(case.noise.rows[-1].variance()))
    assert privacy.audit(less, delta=DELTA).above_D.epsilon > 1.02


def test_families_without_epsilon_have_one_setting_each():
    found, _ = cases_of(["pram", "dropadd", "current"], [0.1, 1.0], DELTA, current=maxent(D=5, V=3, js=2))
    assert [(s.label, s.epsilon) for s in found] == [("pram", None), ("dropadd", None), ("current", None)]
    assert "D = 5" in found[2].how


@pytest.mark.parametrize("family", ["hellinger", "exponential"])
def test_bounded_laws_keep_pure_epsilon_for_counts_with_their_own_row(family):
    (case,), _ = cases_of([family], [2.0], DELTA)
    rows = case.noise.rows
    for small in (0, 1, 27, 48):
        law, other = (
            {count + v: p for v, p in rows[count].probabilities().items()} for count in (small, small + 1)
        )
        assert all(abs(math.log(law[y] / other[y])) <= 2.0 + 1e-6 for y in law if law[y] > 1e-6)


def test_what_does_not_exist_is_left_out_with_its_reason():
    found, left_out = cases_of(["hellinger", "pram"], [0.1], DELTA)
    assert [s.family for s in found] == ["pram"]
    assert len(left_out) == 1
    assert "hellinger at epsilon 0.1 is left out" in left_out[0]
    with pytest.raises(BadRequest, match="No case"):
        cases_of(["hellinger"], [0.1], DELTA)


def test_a_file_is_a_setting(tmp_path):
    write_noise_table(maxent(D=4, V=2, js=1), tmp_path / "office.json")
    (case,), _ = cases_of([str(tmp_path / "office.json")], [1.0], DELTA)
    assert case.label == "office"
    assert case.noise == maxent(D=4, V=2, js=1)


def test_zeros_are_kept_everywhere_when_asked_for():
    found, _ = cases_of(["laplace", "gaussian", "pram"], [1.0], DELTA, keep_zeros=True)
    assert {s.zeros for s in found} == {"kept"}


@pytest.mark.parametrize(
    ("families", "epsilons", "delta", "said"),
    [
        (["laplase"], [1.0], DELTA, 'Did you mean "laplace"'),
        ([], [1.0], DELTA, "nothing to compare"),
        (["laplace"], [], DELTA, "nothing to compare"),
        (["laplace"], [0.0], DELTA, "above 0"),
        (["laplace"], [math.nan], DELTA, "above 0"),
        (["laplace"], [1.0], 0.0, "between 0 and 1"),
        (["current"], [1.0], DELTA, "current is left out: The dataset has no single noise table"),
    ],
)
def test_wishes_that_mean_nothing_are_refused(families, epsilons, delta, said):
    with pytest.raises(BadRequest) as refused:
        cases_of(families, epsilons, delta)
    assert said in str(refused.value)


def test_every_known_family_can_be_assessed():
    found, left_out = cases_of(case_names(), [2.0], DELTA, current=maxent(D=5, V=3))
    assert {s.family for s in found} == set(case_names())
    assert left_out == ()
