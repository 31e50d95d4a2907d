from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy import audit, curve, delta, epsilon
from discreet.privacy.frontier import Frontier, neighbouring_counts, profiles, upper_hull


@st.composite
def noise_tables(draw):
    """Random tables: any modulus, several rows, a repeating block, gaps in the support."""
    modulus = draw(st.sampled_from([1, 3, 256, 4096, 2**16, 10**8, 2**64]))

    def row():
        size = draw(st.integers(1, min(5, modulus)))
        values = sorted(draw(st.lists(st.integers(-4, 4), min_size=size, max_size=size, unique=True)))
        cuts = (
            draw(st.lists(st.integers(1, modulus - 1), min_size=size - 1, max_size=size - 1, unique=True))
            if size > 1
            else []
        )
        return NoiseRow(tuple(values), (*sorted(cuts), modulus))

    rows = tuple(row() for _ in range(draw(st.integers(1, 5))))
    return NoiseTable(modulus, rows, repeats=draw(st.integers(1, len(rows))))


EPSILONS = [0.0, 0.05, 0.3, math.log(3), 1.5, 4.0, 20.0]


@pytest.mark.slow
@given(noise_tables(), st.sampled_from(EPSILONS))
@settings(max_examples=300, deadline=None)
def test_the_fast_audit_equals_the_slow_obvious_one(by_hand, table, at):
    point = curve(table, [at])[0]
    slow = by_hand.slow_audit(table, at)
    for ours, truth in zip((point.delta_forward, point.delta_backward), slow, strict=True):
        assert truth <= ours <= truth * (1 + Fraction(1, 10**30)) + Fraction(1, 10**80)


@given(noise_tables(), st.sampled_from(EPSILONS))
@settings(max_examples=100, deadline=None)
def test_counts_above_the_largest_change_are_audited_by_the_same_rule(by_hand, table, at):
    above = audit(table, epsilon=at).above_D
    slow = by_hand.slow_audit(table, at, first=table.largest + 1)
    assert above.worst_pair[0] > table.largest
    for ours, truth in zip((above.delta_forward, above.delta_backward), slow, strict=True):
        assert truth <= ours <= truth * (1 + Fraction(1, 10**30)) + Fraction(1, 10**80)


@given(noise_tables(), st.sampled_from(EPSILONS))
@settings(max_examples=100, deadline=None)
def test_the_pair_that_is_named_has_the_delta_that_is_stated(by_hand, table, at):
    point = curve(table, [at])[0]
    small, large = point.worst_pair
    laws = by_hand.slow_law(table, small), by_hand.slow_law(table, large)
    slow = max(by_hand.slow_delta(*laws, at), by_hand.slow_delta(*reversed(laws), at))
    assert abs(point.delta - slow) <= slow / 10**30 + Fraction(1, 10**80)


@pytest.mark.slow
@given(noise_tables(), st.fractions(0, 1))
@settings(max_examples=200, deadline=None)
def test_epsilon_is_the_smallest_that_keeps_delta_and_errs_upward(table, wanted):
    found = epsilon(table, delta=wanted)
    if math.isinf(found):
        assert delta(table, epsilon=math.inf) > wanted
        return
    assert delta(table, epsilon=found) <= wanted
    if found > 0:
        assert delta(table, epsilon=math.nextafter(found, 0)) > wanted


def test_every_pair_of_a_block_is_audited_and_its_wrap_around_too():
    rows = tuple(NoiseRow((0,), (4,)) for _ in range(5))
    table = NoiseTable(4, rows, repeats=3)
    assert list(neighbouring_counts(table)) == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    assert list(neighbouring_counts(table, first=7)) == [(7, 8), (8, 9), (9, 10)]


def test_the_wrap_around_of_a_block_can_be_the_worst_pair():
    wide, left, right = (NoiseRow((-1, 0, 1), (1, 3, 4)), NoiseRow((-1, 0), (2, 4)), NoiseRow((5, 6), (2, 4)))
    point = curve(NoiseTable(4, (wide, wide, left, wide, right), repeats=3), [3.0])[0]
    assert point.worst_pair in {(3, 4), (4, 5)}
    assert point.delta == 1


def test_the_hull_keeps_only_what_no_other_pair_exceeds():
    points = [(2, 0, (0, 1)), (3, 1, (1, 2)), (4, 1, (2, 3)), (5, 2, (0, 1)), (6, 2, (3, 4)), (6, 5, (0, 1))]
    assert upper_hull(points) == [(2, 0, (0, 1)), (6, 2, (3, 4))]


def test_equal_pairs_are_named_by_their_smallest_counts():
    row = NoiseRow((-1, 0, 1), (1, 3, 4))
    forward, _ = profiles(NoiseTable(4, (row, row, row)))
    assert [pair for pair, _ in forward] == [(0, 1)]
    assert Frontier.of(forward).pairs[0] == (0, 1)
