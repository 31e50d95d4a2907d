from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InfeasibleDesign
from discreet.noise.design import symmetric_moment
from discreet.noise.families.maxent import (
    ideal_maxent,
    ideal_symmetric,
    maxent,
    smallest_variance,
    symmetric_gamma,
)

ORACLES = Path(__file__).parents[2] / "oracles"

CASES = json.loads((ORACLES / "ptables.json").read_text())["cases"]

TOLERANCE = 1e-6


def design_of(case):
    params = case["params"]
    return ideal_maxent(
        params["D"],
        params["V"],
        params["js"],
        monotone=params.get("mono", True),
        equality=params.get("optim") == 4,
    )


@pytest.mark.parametrize("case", [c for c in CASES if "rows" in c], ids=lambda c: str(c["params"]))
def test_the_small_count_design_equals_the_reference_tables(case):
    ideal = design_of(case)
    assert len(ideal.rows) == len(case["rows"])
    for reference in case["rows"]:
        row = ideal.rows[reference["i"]]
        assert list(row.values) == reference["v"]
        assert np.allclose(row.probabilities, reference["p"], rtol=0, atol=TOLERANCE)
        assert row.variance() == pytest.approx(reference["var"], abs=TOLERANCE)


@pytest.mark.parametrize("case", [c for c in CASES if "error" in c], ids=lambda c: str(c["params"]))
def test_a_variance_too_small_for_its_js_is_refused_with_the_bound(case):
    with pytest.raises(InfeasibleDesign, match=r"floor\(\(js\+1\)\^2/4\) = 2"):
        design_of(case)


@pytest.mark.parametrize(("js", "bound"), [(0, 0), (1, 1), (2, 2), (3, 4), (4, 6)])
def test_the_smallest_variance_is_the_largest_need_of_a_jumping_row(js, bound):
    assert smallest_variance(js) == bound
    assert max((i * (js + 1 - i) for i in range(1, js + 1)), default=0) == bound


def test_zero_stays_zero_in_the_small_count_design():
    assert maxent(D=5, V=3, js=2).row(0).probabilities() == {0: 1}


def test_the_last_row_serves_all_larger_counts_and_equals_the_symmetric_closed_form():
    small, closed = ideal_maxent(5, 3, 2), ideal_symmetric(5, 3)
    assert small.repeats == 1
    assert np.allclose(small.last.probabilities, closed.last.probabilities, atol=1e-11)


def test_a_variance_bound_that_is_not_reached_is_said():
    notes = ideal_maxent(5, 3, 0).notes
    assert len(notes) == 1
    assert "count 1" in notes[0]
    assert "1.302474" in notes[0]


def test_a_variance_at_its_bound_leaves_two_values_and_says_so():
    ideal = ideal_maxent(4, 1, 1)
    assert ideal.rows[1].values == (-1, 1)
    assert ideal.rows[1].probabilities == (0.5, 0.5)
    assert "only 0 and 2" in ideal.notes[0]


def test_p_stay_holds_and_the_variance_that_it_costs_is_said():
    ideal = ideal_maxent(5, 1, 0, pstay=0.6)
    for row in ideal.rows[1:]:
        assert row.probabilities[row.values.index(0)] >= 0.6 - 1e-10


def test_p_stay_is_never_relaxed_unasked():
    with pytest.raises(InfeasibleDesign, match=r"p_stay = 0.9 cannot hold .* at most 0.400000"):
        ideal_maxent(5, 3, 0, pstay=0.9, equality=True, monotone=False)


def test_p_stay_relaxed_on_request_is_noted_row_by_row():
    ideal = ideal_maxent(5, 3, 0, pstay=0.95, equality=True, monotone=False, relax_pstay=True)
    assert any("relaxed from 0.95 to 0.85" in note for note in ideal.notes)
    for row in ideal.rows[1:]:
        assert row.variance() == pytest.approx(3, abs=1e-9)


def test_an_equality_that_no_row_can_meet_is_refused_with_the_range():
    with pytest.raises(InfeasibleDesign, match="variances between"):
        ideal_maxent(5, 9, 0, equality=True)


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ({"D": 0, "V": 1}, "between 1 and 200"),
        ({"D": 10**6, "V": 3}, "D = 1000000: the largest change must lie between 1 and 200"),
        ({"D": 3, "V": 0}, "above 0"),
        ({"D": 3, "V": 9, "js": 3}, "0 ≤ js < D"),
        ({"D": 3, "V": 1, "pstay": [0.1]}, "1 entries"),
        ({"D": 3, "V": 1, "pstay": 1.5}, "between 0 and 1"),
    ],
)
def test_impossible_wishes_are_refused(wish, reason):
    with pytest.raises(InfeasibleDesign, match=reason):
        ideal_maxent(**wish)


@pytest.mark.parametrize(
    ("D", "V", "gamma"),
    # Sadeghi & Chien (2022), Figure 1, recomputed; the printed 0.0498 for V = 10 is that of D = 11.
    [
        (11, 4, 0.1249999719848877),
        (11, 10, 0.0498087160843652),
        (15, 4, 0.12499999999995949),
        (15, 10, 0.04999891221681844),
    ],
)
def test_gamma_of_a_variance_equals_figure_1(D, V, gamma):
    assert symmetric_gamma(D, V) == pytest.approx(gamma, rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(D=st.integers(1, 40), share=st.floats(1e-4, 0.9999))
def test_the_symmetric_form_has_its_variance_and_is_symmetric_and_falls(D, share):
    V = share * D * (D + 1) / 3
    assert symmetric_moment(D, symmetric_gamma(D, V)) == pytest.approx(V, rel=1e-9)


@pytest.mark.parametrize("V", [0, -1, 10, 10.5, math.inf])
def test_the_symmetric_form_refuses_a_variance_outside_proposition_1(V):
    with pytest.raises(InfeasibleDesign, match=r"D\(D\+1\)/3 = 10"):
        ideal_symmetric(5, V)


def test_the_symmetric_form_is_symmetric_to_the_last_key():
    masses = maxent(D=5, V=3, symmetric=True, modulus=2**64).row(0).masses()
    assert masses == masses[::-1]
