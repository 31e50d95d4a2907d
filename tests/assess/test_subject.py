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
from discreet.release.dataset_registry import DatasetService

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


def test_families_without_epsilon_and_files_have_one_setting_each(tmp_path):
    file, current = tmp_path / "office.json", maxent(D=5, V=3, js=2)
    write_noise_table(maxent(D=4, V=2, js=1), file)
    found, _ = cases_of(["pram", "dropadd", "current", str(file)], [0.1, 1.0], DELTA, current=current)
    assert [s.label for s in found] == ["pram", "dropadd", "current", "office"]
    assert {s.epsilon for s in found} == {None}
    assert "D = 5" in found[2].how
    assert (found[2].noise, found[3].noise) == (current, maxent(D=4, V=2, js=1))


@pytest.mark.parametrize("family", ["hellinger", "exponential"])
def test_bounded_distributions_keep_pure_epsilon_for_counts_with_their_own_row(family):
    (case,), _ = cases_of([family], [2.0], DELTA)
    rows = case.noise.rows
    for small in (0, 1, 27, 48):
        distribution, other = (
            {count + v: p for v, p in rows[count].probabilities().items()} for count in (small, small + 1)
        )
        assert all(
            abs(math.log(distribution[y] / other[y])) <= 2.0 + 1e-6
            for y in distribution
            if distribution[y] > 1e-6
        )


def test_what_does_not_exist_is_left_out_with_its_reason():
    found, left_out = cases_of(["hellinger", "pram"], [0.1], DELTA)
    assert [s.family for s in found] == ["pram"]
    assert len(left_out) == 1
    assert "hellinger at epsilon 0.1 is left out" in left_out[0]
    with pytest.raises(BadRequest, match="No case"):
        cases_of(["hellinger"], [0.1], DELTA)


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


@pytest.mark.parametrize(
    ("asked", "shape", "cell", "codes"),
    [
        (
            {"rows": ("sex",), "columns": ("job",), "layers": ("region",)},
            (2, 2, 4),
            (1, 0, 2),
            {"region": "S", "sex": "1", "job": "2"},
        ),
        (
            {"rows": ("sex", "age"), "columns": ("region",)},
            (1, 6, 2),
            (0, 4, 1),
            {"sex": "2", "age": "adult", "region": "S"},
        ),
        ({"rows": ("age",), "levels": (("age", ("grown", "age")),)}, (1, 3, 1), (0, 0, 0), {"age": "adult"}),
        (
            {"rows": ("age",), "filters": (("sex", ("1",)),)},
            (1, 3, 1),
            (0, 2, 0),
            {"sex": "1", "age": "old"},
        ),
    ],
)
def test_true_counts_are_laid_out_as_layers_rows_columns_without_totals(
    stored, town, asked, shape, cell, codes
):
    found = subject_of(DatasetService(stored), TableRequest("town", **asked))
    frame = town.records.to_pandas().fillna({"job": "9"})
    assert found.counts.shape == shape
    assert found.counts[cell] == np.all([frame[name] == code for name, code in codes.items()], axis=0).sum()
    assert found.two_way == (shape[2] > 1)
    if "layers" in asked:
        assert found.sides == ("Sex", "Job", "Region")


def test_structural_zeros_are_no_part_of_it(stored):
    found = subject_of(DatasetService(stored), TableRequest("town", rows=("age",), columns=("job",)))
    assert found.possible.sum() == found.flat.size == 12 - 3


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


#: Of a table beside geography, and of region and area.
BESIDE, GEOGRAPHY = 1 + 1 / 3 + 1 / 4 + 1 / 12, 1 + 1 / 2 + 1 / 5


@pytest.mark.parametrize(
    ("rows", "filters", "factor", "tables"),
    [
        (("sex",), (), BESIDE * GEOGRAPHY, 4 * 3),
        (("region", "sex", "age", "job"), (), 1 + 2 / 5, 2),
        (("area", "sex", "age", "job"), (), 1, 1),
        (("sex",), (("age", ("adult",)),), (1 + 1 / 4) * GEOGRAPHY, 2 * 3),
    ],
    ids=[
        "by hand",
        "a finer level counts per area",
        "a coarser one adds nothing",
        "a filter uses up a variable",
    ],
)
def test_the_factor_is_worked_by_hand(stored, rows, filters, factor, tables):
    """Tables of up to three variables beside geography: sex 2, age 3, job 4, and region 2 or area 5."""
    found = averaging_factor(stored, TableRequest("town", rows=rows, filters=filters))
    assert found.factor == pytest.approx(factor)
    assert found.tables == tables


def test_rules_that_forbid_tables_lower_the_factor(town, tmp_path):
    rule = '\n[[rule]]\nkind = "max-variables"\nmost = 1\n'
    stored = town.load(tmp_path / "strict", town.description + rule).stored("town")
    assert averaging_factor(stored, TableRequest("town", rows=("sex",))).factor == pytest.approx(GEOGRAPHY)
