"""The pictures of an assessment: axes that can be read, and colours that stay with their family."""

import numpy as np
import pytest

from discreet.assess import Subject, assess_subject, cases_of
from discreet.assess.assessment import BOXES, figure
from discreet.errors import BadRequest
from discreet.pictures.assessment_charts import log_ticks

COUNTS = np.array([[[2, 30, 1, 14], [0, 61, 9, 3], [7, 12, 40, 5]]])

EVERYWHERE = np.ones(COUNTS.shape, dtype=bool)


@pytest.fixture(scope="module")
def found():
    cases, _ = cases_of(["laplace", "maxent", "pram"], [0.5, 2.0], 1e-4)
    return assess_subject(Subject(COUNTS, EVERYWHERE), cases, reps=12)


def values(chart):
    return [record for records in chart.to_dict()["datasets"].values() for record in records]


@pytest.mark.parametrize(("low", "high"), [(0.3, 25), (0.001, 90), (1, 9), (2e-7, 3e4)])
def test_ticks_are_round_numbers_within_the_axis(low, high):
    ticks = log_ticks(low, high)
    assert ticks == sorted(set(ticks))
    assert all(low < tick <= high for tick in ticks)
    assert {f"{tick:e}"[0] for tick in ticks} <= {"1", "2", "5"}


@pytest.mark.slow
def test_the_boxes_are_the_quantiles_of_the_draws(found):
    records = {
        (r["measure"], r["family"], r["place"]): r for r in values(figure(found, "boxes")) if "median" in r
    }
    box = records[(BOXES["hellinger"], "laplace", "0.5")]
    drawn = found.outcomes[0].draws["hellinger"]
    assert box["median"] == pytest.approx(np.median(drawn))
    assert (box["low"], box["high"]) == pytest.approx(tuple(np.quantile(drawn, (0.05, 0.95))))
    per_cell = records[(BOXES["l1"], "laplace", "0.5")]
    assert per_cell["median"] == pytest.approx(np.median(found.outcomes[0].draws["l1"]) / 12)
    assert (BOXES["l1"], "pram", "no epsilon") in records


def test_the_map_has_every_setting_where_its_means_are(found):
    records = {(r["family"], r["place"]): r for r in values(figure(found, "map"))}
    assert len(records) == len(found.outcomes)
    outcome = found.outcomes[1]
    place = records[("laplace", "2")]
    assert place["risk"] == outcome.simulated["rm"].mean
    assert place["loss"] == outcome.simulated["hellinger"].mean
    assert {k for k, r in records.items() if r["unbeaten"]} == {
        (o.case.family, "" if o.case.epsilon is None else f"{o.case.epsilon:g}") for o in found.unbeaten()
    }


def test_bars_show_exact_expectations(found):
    shown = {r["case"]: r["share"] for r in values(figure(found, "zeros"))}
    assert shown == {o.case.label: o.expected.false_zero_share for o in found.outcomes}
    shown = {r["case"]: r["share"] for r in values(figure(found, "confirmation"))}
    assert shown == {o.case.label: o.expected.confirmation_small for o in found.outcomes}


def test_conclusions_have_both_readers(found):
    shown = {(r["case"], r["reader"]): r["share"] for r in values(figure(found, "conclusions"))}
    assert shown[("pram", "naive")] == found.outcomes[-1].same_naive
    assert shown[("pram", "noise-aware")] == found.outcomes[-1].same_aware


def test_a_table_with_one_side_has_no_conclusions_and_an_unknown_picture_is_refused(found):
    cases, _ = cases_of(["laplace"], [1.0], 1e-4)
    flat = Subject(COUNTS.reshape(1, 12, 1), EVERYWHERE.reshape(1, 12, 1))
    one_sided = assess_subject(flat, cases, reps=5)
    with pytest.raises(BadRequest, match="no picture"):
        figure(one_sided, "conclusions")
    measures = {r["measure"] for r in values(figure(one_sided, "boxes")) if "median" in r}
    assert measures == {BOXES[m] for m in ("l1", "hellinger", "total_variation")}
    with pytest.raises(BadRequest, match="no picture"):
        figure(found, "maps")
