from __future__ import annotations

import numpy as np
import pytest

from discreet.assess import Subject, assess_subject, cases_of
from discreet.assess.figures import BOXES, FIGURES, figure
from discreet.errors import BadRequest
from discreet.pictures.save import render

COUNTS = np.array([[[2, 30, 1, 14], [0, 61, 9, 3], [7, 12, 40, 5]]])

EVERYWHERE = np.ones(COUNTS.shape, dtype=bool)


@pytest.fixture(scope="module")
def found():
    cases, _ = cases_of(["laplace", "maxent", "pram"], [0.5, 2.0], 1e-4)
    return assess_subject(Subject(COUNTS, EVERYWHERE), cases, reps=12)


@pytest.fixture(scope="module")
def one_sided():
    cases, _ = cases_of(["laplace"], [1.0], 1e-4)
    return assess_subject(Subject(COUNTS.reshape(1, 12, 1), EVERYWHERE.reshape(1, 12, 1)), cases, reps=5)


def values(chart):
    return [record for records in chart.to_dict()["datasets"].values() for record in records]


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_every_picture_is_drawn(found, name):
    assert render(figure(found, name), "svg").startswith(b"<svg")


def test_bars_show_exact_expectations(found):
    shown = {r["case"]: r["share"] for r in values(figure(found, "zeros"))}
    assert shown == {o.case.label: o.expected.false_zero_share for o in found.outcomes}
    shown = {r["case"]: r["share"] for r in values(figure(found, "confirmation"))}
    assert shown == {o.case.label: o.expected.confirmation_small for o in found.outcomes}


def test_conclusions_have_both_readers(found):
    shown = {(r["case"], r["reader"]): r["share"] for r in values(figure(found, "conclusions"))}
    assert shown[("pram", "naive")] == found.outcomes[-1].same_naive
    assert shown[("pram", "noise-aware")] == found.outcomes[-1].same_aware


def test_a_table_with_one_side_has_no_conclusions(one_sided):
    with pytest.raises(BadRequest, match="no picture"):
        figure(one_sided, "conclusions")
    measures = {r["measure"] for r in values(figure(one_sided, "boxes")) if "median" in r}
    assert measures == {BOXES[m] for m in ("l1", "hellinger", "total_variation")}


def test_an_unknown_picture_is_refused(found):
    with pytest.raises(BadRequest, match="no picture"):
        figure(found, "maps")
