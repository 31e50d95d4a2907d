from __future__ import annotations

import math

import numpy as np
import pytest

from discreet import privacy
from discreet.assess import subject as module
from discreet.assess.risk_utility import averaging_factor
from discreet.assess.subject import Subject, case_names, cases_of, sides_of, subject_of
from discreet.errors import BadRequest
from discreet.model.request import TableRequest
from discreet.noise import maxent
from discreet.noise.files import write_noise_table
from discreet.release.dataset_service import DatasetService

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


@pytest.fixture(scope="module")
def stored(town_workspace):
    return town_workspace.stored("town")


def counted(town, **codes):
    frame = town.records.to_pandas().fillna({"job": "9"})
    for name, code in codes.items():
        frame = frame[frame[name] == code]
    return len(frame)


def test_true_counts_are_laid_out_as_layers_rows_columns(stored, town):
    found = subject_of(
        DatasetService(stored), TableRequest("town", rows=("sex",), columns=("job",), layers=("region",))
    )
    assert found.counts.shape == (2, 2, 4)
    assert found.counts[1, 0, 2] == counted(town, region="S", sex="1", job="2")
    assert found.counts.sum() == 3000
    assert found.sides == ("Sex", "Job", "Region")


def test_several_variables_of_a_side_are_one(stored, town):
    found = subject_of(DatasetService(stored), TableRequest("town", rows=("sex", "age"), columns=("region",)))
    assert found.counts.shape == (1, 6, 2)
    assert found.counts[0, 4, 1] == counted(town, sex="2", age="adult", region="S")
    assert found.sides[0] == "Sex x Age"


def test_structural_zeros_are_no_part_of_it(stored):
    found = subject_of(DatasetService(stored), TableRequest("town", rows=("age",), columns=("job",)))
    assert found.possible.sum() == 12 - 3
    assert found.flat.size == 9


def test_coarser_levels_and_totals_are_left_out(stored):
    request = TableRequest("town", rows=("age",), levels=(("age", ("grown", "age")),))
    assert subject_of(DatasetService(stored), request).counts.shape == (1, 3, 1)


def test_filters_are_obeyed(stored, town):
    found = subject_of(
        DatasetService(stored), TableRequest("town", rows=("age",), filters=(("sex", ("1",)),))
    )
    assert found.counts.sum() == counted(town, sex="1")
    assert not found.two_way


def test_a_table_that_the_rules_refuse_is_assessed_and_said_to_be(stored):
    request = TableRequest("town", rows=("sex", "age"), columns=("job",), layers=("region",), filters=())
    assert subject_of(DatasetService(stored), request).refusal is None
    grouped = TableRequest("town", rows=("region",), groups=(("region", (("N", "S"),)),), columns=("sex",))
    assert "group" in subject_of(DatasetService(stored), grouped).refusal.lower()


@pytest.mark.parametrize(
    ("request_", "sides"),
    [
        (TableRequest("t", columns=("a", "b")), (["a"], ["b"], [])),
        (TableRequest("t", rows=("a",), layers=("b",)), (["a"], ["b"], [])),
        (TableRequest("t", layers=("a",)), (["a"], [], [])),
        (TableRequest("t", rows=("a",)), (["a"], [], [])),
    ],
)
def test_two_sides_are_found_where_there_are_two(request_, sides):
    assert sides_of(request_) == sides


def test_it_cannot_be_printed():
    found = Subject(np.array([[[738251]]]), np.ones((1, 1, 1), dtype=bool))
    assert "738251" not in repr(found) + str(found) + f"{found}"


def test_what_cannot_be_assessed_is_refused(stored, monkeypatch):
    with pytest.raises(BadRequest, match="Weighted"):
        subject_of(DatasetService(stored), TableRequest("town", rows=("sex",), measure="weighted"))
    with pytest.raises(BadRequest, match="can occur"):
        Subject(np.zeros((1, 1, 1), dtype=np.int64), np.zeros((1, 1, 1), dtype=bool))
    monkeypatch.setattr(module, "MOST_CELLS", 5)
    with pytest.raises(BadRequest, match="more than 5 cells"):
        subject_of(DatasetService(stored), TableRequest("town", rows=("sex",), columns=("age",)))
    with pytest.raises(BadRequest, match="at most 5"):
        Subject(np.ones((1, 2, 3), dtype=np.int64), np.ones((1, 2, 3), dtype=bool))


#: Of the comparison of a variance with the variance that the factor promises.
FALSE_ALARM = 1e-4


def test_the_factor_is_worked_by_hand(stored):
    """Sex in tables of up to three variables beside geography: age 3, job 4, and region 2 or area 5."""
    found = averaging_factor(stored, TableRequest("town", rows=("sex",)))
    beside = 1 + 1 / 3 + 1 / 4 + 1 / 12
    assert found.factor == pytest.approx(beside * (1 + 1 / 2 + 1 / 5))
    assert found.tables == 4 * 3


def test_a_finer_level_counts_per_area_and_a_coarser_one_adds_nothing(stored):
    region = averaging_factor(stored, TableRequest("town", rows=("region", "sex", "age", "job")))
    assert region.factor == pytest.approx(1 + 2 / 5)
    area = averaging_factor(stored, TableRequest("town", rows=("area", "sex", "age", "job")))
    assert (area.factor, area.tables) == (1, 1)


def test_a_filter_uses_up_a_variable(stored):
    request = TableRequest("town", rows=("sex",), filters=(("age", ("adult",)),))
    assert averaging_factor(stored, request).factor == pytest.approx((1 + 1 / 4) * (1 + 1 / 2 + 1 / 5))


def test_rules_that_forbid_tables_lower_the_factor(town, tmp_path):
    rule = '\n[[rule]]\nkind = "max-variables"\nmost = 1\n'
    stored = town.load(tmp_path / "strict", town.description + rule).stored("town")
    found = averaging_factor(stored, TableRequest("town", rows=("sex",)))
    assert found.factor == pytest.approx(1 + 1 / 2 + 1 / 5)


def test_best_weights_reach_the_variance_that_the_factor_promises():
    """Sums of 1, 3, 4 and 12 noises weighted by 1/K: their mean has variance V / (1 + 1/3 + 1/4 + 1/12)."""
    rng, cells = np.random.default_rng(6), np.array([1, 3, 4, 12])
    sums = np.array([rng.normal(0, 1, (40_000, k)).sum(axis=1) for k in cells])
    weights = (1 / cells) / (1 / cells).sum()
    variance, promised = (weights @ sums).var(), 1 / (1 / cells).sum()
    spread = 3.9 * promised * np.sqrt(2 / 40_000)
    assert abs(variance - promised) < spread
    assert (sums.mean(axis=0)).var() > promised + spread  # plain averaging gains less
