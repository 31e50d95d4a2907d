"""The audit: both directions, moments, problems of a table with their rows, and the JSON document with its curve."""

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.noise import laplace, maxent
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy import audit, curve, delta, epsilon, probabilistic_delta
from discreet.privacy.audit import CURVE_STEPS, audit_document, curve_document, row_moments

SMALL = NoiseTable(4, (NoiseRow((0,), (4,)), NoiseRow((-1, 0, 1), (1, 3, 4))))


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=8), st.floats(0, 6))
@settings(max_examples=100, deadline=None)
def test_both_directions_agree_for_symmetric_tables_of_one_row(half, at):
    masses = dict(enumerate(half)) | {-v: m for v, m in enumerate(half)}
    thresholds, reached = [], 0
    for value in sorted(masses):
        reached += masses[value]
        thresholds.append(reached)
    point = curve(NoiseTable(reached, (NoiseRow(tuple(sorted(masses)), tuple(thresholds)),)), [at])[0]
    assert point.delta_forward == point.delta_backward


@given(st.floats(0, 50))
@settings(max_examples=60, deadline=None)
def test_probabilistic_dp_is_never_below_delta(at):
    table = NoiseTable(16, (NoiseRow((-2, -1, 0, 1, 2), (1, 4, 12, 15, 16)),))
    assert probabilistic_delta(table, epsilon=at) >= delta(table, epsilon=at)


def test_probabilistic_dp_counts_all_of_a_bad_output_and_delta_only_its_excess():
    table = NoiseTable(8, (NoiseRow((0, 1), (6, 8)),))
    assert probabilistic_delta(table, epsilon=1.0) == 1  # the larger count: 2 against 0 and 6 against 2
    assert probabilistic_delta(table, epsilon=1.2) == Fraction(6, 8)  # the smaller count: 6 against 0
    small = NoiseTable(8, (NoiseRow((-1, 0, 1), (1, 6, 8)),))
    assert probabilistic_delta(small, epsilon=1.0) == Fraction(6, 8)
    assert delta(small, epsilon=1.0) == pytest.approx(Fraction(6, 8) - Fraction(math.exp(1)) / 8, rel=1e-12)


def test_an_audit_tells_both_promises_and_describes_the_last_row():
    result = audit(SMALL, epsilon=1.5)
    assert (result.delta_forward, result.delta_backward) == (Fraction(1, 4), Fraction(3, 4))
    assert result.worst_pair == (0, 1)
    assert result.above_D.D == 1
    assert result.above_D.delta == Fraction(1, 4)
    assert result.above_D.worst_pair == (2, 3)
    assert (result.bias, result.variance, result.p_exact) == (0, Fraction(1, 2), Fraction(1, 2))
    assert result.entropy == pytest.approx(1.5 * math.log(2))
    assert result.support == (-1, 0, 1)
    assert result.row_sums_ok
    assert result.rows[0].support == (0,)


def test_a_delta_in_place_of_an_epsilon_is_answered_with_the_smallest_epsilon():
    table = NoiseTable(4, (NoiseRow((-1, 0, 1), (1, 3, 4)),))
    result = audit(table, delta=Fraction(1, 4))
    assert result.epsilon == epsilon(table, delta=0.25)
    assert result.delta == Fraction(1, 4)


def test_a_delta_that_no_epsilon_keeps_is_said_with_the_mass_that_forbids_it():
    result = audit(SMALL, delta=0.3)
    assert result.epsilon == math.inf
    assert result.delta == Fraction(3, 4)
    assert any("No epsilon reaches delta 0.3" in sentence for sentence in result.problems)
    assert result.above_D.epsilon < math.inf
    assert result.above_D.delta <= Fraction(3, 10)


def test_the_designs_own_epsilon_is_used_when_none_is_given():
    designed = NoiseTable(4, SMALL.rows, parameters={"epsilon": 0.7})
    assert audit(designed).epsilon == 0.7
    assert audit(SMALL).epsilon == 1.0


@pytest.mark.parametrize(
    "wish",
    [
        {"epsilon": 1.0, "delta": 0.1},
        {"epsilon": -1.0},
        {"delta": 1.5},
        {"neighbours": "swap"},
        {"cells": 0},
        {"group": 0},
    ],
)
def test_a_question_without_meaning_is_refused(wish):
    with pytest.raises(BadRequest):
        audit(SMALL, **wish)


def test_a_one_point_table_and_a_modulus_of_two_to_the_64_are_audited():
    assert audit(NoiseTable(1, (NoiseRow((0,), (1,)),)), epsilon=9.0).delta == 1
    edge = NoiseTable(2**64, (NoiseRow((-1, 0, 1), (1, 2**64 - 1, 2**64)),))
    assert audit(edge, epsilon=1e6).delta == Fraction(1, 2**64)
    assert delta(edge, epsilon=0) == Fraction(2**64 - 2, 2**64)


def test_counts_above_d_are_audited_for_the_same_neighbours_as_all_counts():
    table = NoiseTable(4, (NoiseRow((-1, 0, 1), (1, 3, 4)),))
    result = audit(table, epsilon=1.0, neighbours="replace-one")
    assert result.above_D.delta == result.delta == delta(table, epsilon=1.0, neighbours="replace-one")
    assert result.worst_pair is result.above_D.worst_pair is None


def test_a_group_of_two_is_also_one_person():
    """Where neighbours are told apart best, two more people would hide again; the group keeps the worse figure."""
    rows = [NoiseRow(tuple(range(low, low + 101)), tuple(range(1, 102))) for low in (-50, -40, -50)]
    table = NoiseTable(101, tuple(rows))
    assert delta(table, epsilon=0) == delta(table, epsilon=0, group=2) == Fraction(11, 101)


ZERO, SKEW = NoiseRow((0,), (8,)), NoiseRow((-1, 0, 3), (3, 7, 8))


def test_the_moments_of_a_row_are_its_sums_as_fractions():
    found = row_moments(SKEW, 7)
    distribution = {-1: Fraction(3, 8), 0: Fraction(4, 8), 3: Fraction(1, 8)}
    assert found.bias == sum(v * p for v, p in distribution.items()) == 0
    assert found.variance == sum(v * v * p for v, p in distribution.items()) == Fraction(3, 2)
    assert found.entropy == pytest.approx(-sum(float(p) * math.log(p) for p in distribution.values()))
    assert (found.count, found.p_exact, found.support) == (7, Fraction(1, 2), (-1, 0, 3))


def test_a_row_without_noise_has_no_entropy_and_not_minus_zero():
    found = row_moments(ZERO, 0)
    assert (found.variance, found.p_exact) == (0, 1)
    assert math.copysign(1, found.entropy) == 1


def test_a_delta_above_one_in_the_population_is_a_problem():
    assert any("1/N for N = 5" in problem for problem in audit(SMALL, epsilon=1.0, population=5).problems)
    assert not any("1/N" in problem for problem in audit(SMALL, epsilon=1.0, population=1).problems)
    assert not any("1/N" in problem for problem in audit(SMALL, epsilon=1.0).problems)


def test_rows_with_bias_without_noise_and_below_zero_are_named():
    rows = (NoiseRow((0,), (4,)), NoiseRow((-1,), (4,)), NoiseRow((0,), (4,)), NoiseRow((-4, 4), (2, 4)))
    result = audit(NoiseTable(4, rows), epsilon=1.0)
    found = " ".join(result.problems)
    notes = " ".join(result.notes)
    assert "mean is not zero for count 1; the largest bias is -1, at count 1" in found
    assert "No noise at all for count 2" in found
    assert "Zero stays zero" in notes
    assert "Counts up to 3 can become negative" in notes
    unchanged = audit(NoiseTable(4, (NoiseRow((0,), (4,)),)), epsilon=1.0).problems
    assert unchanged == ("No noise at all for every count: released as counted.",)


def test_a_delta_is_told_as_the_fraction_that_it_is():
    found = audit(maxent(D=3, V=1, js=1), epsilon=1.0)
    document = json.loads(json.dumps(audit_document(found), allow_nan=False))
    assert Fraction(document["delta_exact"]) == found.delta
    assert document["delta"] == float(found.delta)


def test_an_epsilon_that_does_not_exist_is_null():
    table = maxent(D=3, V=1, js=1)
    assert audit_document(audit(table, delta=0.0))["epsilon"] is None


def test_the_curve_falls_to_the_delta_that_remains():
    table = laplace(epsilon=1.0)
    found = audit(table)
    points = curve_document(table, found)
    deltas = [point["delta"] for point in points]
    assert len(points) == CURVE_STEPS + 1
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[0] > deltas[-1] == float(found.delta_infinite)
