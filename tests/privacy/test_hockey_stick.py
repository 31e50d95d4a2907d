from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.hockey_stick import by_ratio, hockey_stick


@st.composite
def two_laws(draw, largest=2**16):
    """Two laws over the same number of keys, with overlapping and with missing support."""
    modulus = draw(st.sampled_from([1, 2, 7, 256, 4096, largest, 2**64]))

    def law():
        size = draw(st.integers(1, min(7, modulus)))
        cuts = draw(st.lists(st.integers(1, modulus), min_size=size - 1, max_size=size - 1, unique=True))
        edges = sorted({0, modulus, *cuts})
        outputs = draw(
            st.lists(st.integers(-4, 4), min_size=len(edges) - 1, max_size=len(edges) - 1, unique=True)
        )
        return {y: b - a for y, a, b in zip(outputs, edges, edges[1:], strict=False)}

    return law(), law(), modulus


def as_fractions(law, modulus):
    return {y: Fraction(keys, modulus) for y, keys in law.items()}


@pytest.mark.slow
@given(two_laws(), st.sampled_from([0.0, 1e-9, 0.1, 0.5, math.log(2), 1.0, 2.0, 7.5, 44.0]))
@settings(max_examples=300, deadline=None)
def test_one_sort_gives_what_adding_up_positive_parts_gives(by_hand, laws, epsilon):
    law, other, modulus = laws
    fast = hockey_stick(law, other, epsilon=epsilon)
    p, q = as_fractions(law, modulus), as_fractions(other, modulus)
    for ours, slow in zip(
        fast, (by_hand.slow_delta(p, q, epsilon), by_hand.slow_delta(q, p, epsilon)), strict=True
    ):
        assert slow <= ours <= slow * (1 + Fraction(1, 10**30)) + Fraction(1, 10**80)


@given(two_laws(), st.integers(-4, 4), st.integers(-4, 4), st.floats(0, 5))
@settings(max_examples=200, deadline=None)
def test_post_processing_never_raises_delta(laws, low, high, epsilon):
    law, other, _ = laws
    low, high = min(low, high), max(low, high)

    def clipped(masses):
        merged = {}
        for output, keys in masses.items():
            merged[min(max(output, low), high)] = merged.get(min(max(output, low), high), 0) + keys
        return merged

    before = hockey_stick(law, other, epsilon=epsilon)
    after = hockey_stick(clipped(law), clipped(other), epsilon=epsilon)
    allowed = 1 + Fraction(1, 10**30)
    assert all(b <= a * allowed for a, b in zip(before, after, strict=True))


@given(two_laws(), st.floats(0, 20), st.floats(0, 20))
@settings(max_examples=150, deadline=None)
def test_delta_never_rises_with_epsilon(laws, one, two):
    law, other, _ = laws
    less, more = min(one, two), max(one, two)
    at_less, at_more = hockey_stick(law, other, epsilon=less), hockey_stick(law, other, epsilon=more)
    assert all(b <= a for a, b in zip(at_less, at_more, strict=True))


def test_at_epsilon_zero_it_is_the_total_variation_exactly():
    assert hockey_stick({0: 5, 1: 3}, {0: 2, 2: 6}, epsilon=0) == (Fraction(6, 8), Fraction(6, 8))


@pytest.mark.parametrize("epsilon", [100.0, 1e6, 1e300, math.inf])
def test_at_a_huge_epsilon_only_unmatched_support_is_left_and_it_is_exact(epsilon):
    law, other = {0: 2**64 - 1, 1: 1}, {0: 1, 2: 2**64 - 1}
    assert hockey_stick(law, other, epsilon=epsilon) == (Fraction(1, 2**64), Fraction(2**64 - 1, 2**64))


def test_one_point_laws_are_told_apart_completely_or_not_at_all():
    assert hockey_stick({3: 9}, {3: 9}, epsilon=0) == (0, 0)
    assert hockey_stick({3: 9}, {4: 9}, epsilon=50) == (1, 1)


def test_an_epsilon_at_the_logarithm_of_a_ratio_keeps_its_thirty_digits(by_hand):
    law, other = {0: 2, 1: 1}, {0: 1, 1: 2}
    epsilon = math.nextafter(math.log(2), 0)
    ours, _ = hockey_stick(law, other, epsilon=epsilon)
    slow = by_hand.slow_delta(as_fractions(law, 3), as_fractions(other, 3), epsilon)
    assert 0 < slow < Fraction(1, 10**15)
    assert slow <= ours <= slow * (1 + Fraction(1, 10**30))


@pytest.mark.parametrize(
    "close",
    [
        [(2**64 - 1, 2**63), (2**64 - 2, 2**63 - 1), (2**63, 2**62)],
        [(2**64, 2**64 - 1), (2**64 - 1, 2**64 - 2), (2**64 - 2, 2**64 - 3)],
    ],
)
def test_ratios_that_floats_cannot_tell_apart_are_ordered_exactly(close):
    ordered = by_ratio(close)[1:]
    ratios = [Fraction(p, q) for p, q in ordered]
    assert ratios == sorted(ratios, reverse=True)
    assert len(ordered) == len({Fraction(p, q) for p, q in close})
