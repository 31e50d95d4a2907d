"""Maximum entropy: closed form, small-count design, size classes with spread steps, and perturbed zeros."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadRequest, InfeasibleDesign
from discreet.noise import maxent
from discreet.noise.design import symmetric_moment
from discreet.noise.families.maxent import VARIANCE_STEP, ideal_maxent, ideal_symmetric, symmetric_gamma
from discreet.noise.table import NoiseTable
from discreet.privacy import audit

SMALL = {"from": 0, "D": 5, "V": 3, "js": 2}
LARGE = {"from": 100, "D": 15, "V": 9}
TABLE = maxent(classes=[SMALL, LARGE])
#: The audit's epsilon.
AT = 1.0


def test_small_counts_have_the_first_class_and_large_ones_the_last():
    assert TABLE.rows[:9] == maxent(D=5, V=3, js=2).rows
    assert {TABLE.row(count).values[-1] for count in (100, 101, 10**9)} == {15}
    assert float(TABLE.row(100).variance()) == pytest.approx(9)


def test_every_row_is_unbiased_and_a_step_changes_d_by_one_and_v_by_a_tenth():
    assert {row.mean() for row in TABLE.rows} == {0}
    for low, high in zip(TABLE.rows[8:], TABLE.rows[9:], strict=False):
        assert abs(high.values[-1] - low.values[-1]) <= 1
        assert float(high.variance() / low.variance()) <= VARIANCE_STEP + 1e-6


def test_the_steps_are_in_the_audit_and_a_sudden_one_is_found_out():
    """Wrong alternative: the wider distribution from one count to the next."""
    sudden = NoiseTable(TABLE.modulus, (*TABLE.rows[:88], *[TABLE.rows[30]] * 12, TABLE.rows[-1]))
    spread, at_once = (audit(table, epsilon=AT).above_D for table in (TABLE, sudden))
    without = audit(maxent(D=5, V=3, js=2), epsilon=AT).above_D
    assert spread.worst_pair == (88, 89)
    assert without.delta < spread.delta < 1.25 * without.delta
    assert at_once.worst_pair == (99, 100)
    assert at_once.delta > 3 * spread.delta


@pytest.mark.parametrize(
    ("classes", "said"),
    [
        ([SMALL, {**LARGE, "from": 20}], "begin at 29 or above"),
        ([SMALL, {**LARGE, "from": 10_001}], "10,000 or below"),
        ([SMALL, LARGE, {**LARGE, "from": 100}], "Classes ascend"),
        ([SMALL, {**LARGE, "js": 1}], "has `from`, `D` and `V`"),
        ([{**SMALL, "from": 5}], "smallest counts"),
        ([{"from": 0, "D": 5}], "`from`, `D`, `V`"),
        ([], "smallest counts"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_do(classes, said):
    with pytest.raises(InfeasibleDesign) as refused:
        maxent(classes=classes)
    assert said in f"{refused.value.message} {refused.value.advice}"


def test_classes_are_tables_and_stand_alone():
    with pytest.raises(BadRequest, match="a list of tables"):
        maxent(classes=[5])
    with pytest.raises(InfeasibleDesign, match="smallest counts"):
        maxent(classes=[SMALL, LARGE], D=5, V=3)
    with pytest.raises(BadRequest, match="symmetric form"):
        maxent(classes=[SMALL], symmetric=True, D=5, V=3)
    with pytest.raises(BadRequest, match="needs D"):
        maxent(js=2)


KEPT = maxent(D=5, V=3, js=2)
MADE_UP, DROPPED = 0.01, 0.05
TABLE_PERTURBED_ZEROS = maxent(D=5, V=3, js=2, made_up=MADE_UP, dropped=DROPPED)
#: Whole keys of 2^32 round each probability by less than this.
KEY = Fraction(8, 2**32)


def test_an_empty_cell_shows_the_declared_share_and_small_values_are_likelier():
    row = TABLE_PERTURBED_ZEROS.rows[0]
    distribution = row.probabilities()
    assert row.values == (0, 3, 4, 5)
    assert abs(distribution[0] - (1 - Fraction(MADE_UP))) < KEY
    assert abs(distribution[3] - 2 * distribution[4]) < KEY
    assert abs(distribution[4] - 2 * distribution[5]) < KEY


def test_ones_and_twos_become_zero_by_the_declared_share_beside_their_noise():
    for count in (1, 2):
        own, now = KEPT.row(count).probabilities(), TABLE_PERTURBED_ZEROS.row(count).probabilities()
        share = Fraction(DROPPED)
        assert abs(now[-count] - (share + (1 - share) * own[-count])) < KEY
        assert all(abs(now[v] - (1 - share) * own[v]) < KEY for v in own if v != -count)
        assert abs(TABLE_PERTURBED_ZEROS.row(count).mean() + share * count) < 8 * KEY
    assert TABLE_PERTURBED_ZEROS.rows[3:] == KEPT.rows[3:]


def test_the_stated_ratio_balances_a_table_and_another_does_not():
    mean = TABLE_PERTURBED_ZEROS.rows[0].mean()
    ratio = Fraction(DROPPED) / mean
    assert f"{float(ratio):.4g} empty cells for each person" in TABLE_PERTURBED_ZEROS.parameters["notes"][-1]
    # One cell of one and one of two: three people.
    people = TABLE_PERTURBED_ZEROS.row(1).mean() + TABLE_PERTURBED_ZEROS.row(2).mean()
    assert abs(3 * ratio * mean + people) < 1e-6
    assert abs(6 * ratio * mean + people) > 0.1


def test_the_pair_of_zero_and_one_is_audited_as_it_is():
    """Somebody can no longer be proved: no output of one person is impossible for an empty cell but by its size."""
    kept, made_up = audit(KEPT, epsilon=1.0), audit(TABLE_PERTURBED_ZEROS, epsilon=1.0)
    assert made_up.delta < kept.delta
    assert made_up.worst_pair == (0, 1)
    sure = TABLE_PERTURBED_ZEROS.row(1).probabilities()[5]  # 6 people: no empty cell shows that many
    assert made_up.delta >= sure


@pytest.mark.parametrize("wrong", [{"made_up": 0.1}, {"dropped": 0.1}, {"made_up": 0.6, "dropped": 0.1}])
def test_both_chances_are_given_and_are_below_a_half(wrong):
    with pytest.raises(InfeasibleDesign, match="chance above 0"):
        maxent(D=5, V=3, js=2, **wrong)


CASES = json.loads((Path(__file__).parents[2] / "oracles" / "ptables.json").read_text())["cases"]
TOLERANCE = 1e-6


def design_of(case):
    known = case["params"]
    wish = {"monotone": known.get("mono", True), "equality": known.get("optim") == 4}
    return ideal_maxent(known["D"], known["V"], known["js"], **wish)


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


def test_the_last_row_serves_all_larger_counts_and_equals_the_symmetric_closed_form():
    small, closed = ideal_maxent(5, 3, 2), ideal_symmetric(5, 3)
    assert small.repeats == 1
    assert np.allclose(small.last.probabilities, closed.last.probabilities, atol=1e-11)


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


@settings(max_examples=100, deadline=None)
@given(D=st.integers(1, 40), share=st.floats(1e-4, 0.9999))
def test_the_symmetric_form_has_its_variance_and_is_symmetric_and_falls(D, share):
    V = share * D * (D + 1) / 3
    assert symmetric_moment(D, symmetric_gamma(D, V)) == pytest.approx(V, rel=1e-9)


@pytest.mark.parametrize("V", [0, -1, 10, 10.5, math.inf])
def test_the_symmetric_form_refuses_a_variance_outside_proposition_1(V):
    with pytest.raises(InfeasibleDesign, match=r"D\(D\+1\)/3 = 10"):
        ideal_symmetric(5, V)


def test_the_entropy_is_the_largest_of_the_distributions_that_rise_towards_zero_only():
    """Without that condition row 4 of the default design has more (the figures of docs/methods/maxent.md's claim)."""
    found = [
        -sum(p * math.log(p) for p in ideal_maxent(5, 3, js=2, monotone=monotone).rows[4].probabilities)
        for monotone in (True, False)
    ]
    assert found == pytest.approx([1.699629, 1.700155], abs=1e-6)
