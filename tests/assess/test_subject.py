from __future__ import annotations

import numpy as np
import pytest

from discreet.assess import subject as module
from discreet.assess.averaging_factor import averaging_factor
from discreet.assess.subject import Subject, sides_of, subject_of
from discreet.errors import BadRequest
from discreet.model.request import TableRequest
from discreet.release.dataset_service import DatasetService


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
