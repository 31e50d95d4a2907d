import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.noise.test_table import tables
from tests.privacy import conftest as by_hand

from discreet.errors import BadRequest
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy import audit, curve, delta, epsilon
from discreet.privacy import hockey_stick as sticks


@st.composite
def two_distributions(draw, largest=2**16):
    """Two distributions over the same number of keys, with overlapping and with missing support."""
    modulus = draw(st.sampled_from([1, 2, 7, 256, 4096, largest, 2**64]))

    def distribution():
        size = draw(st.integers(1, min(7, modulus)))
        cuts = draw(st.lists(st.integers(1, modulus), min_size=size - 1, max_size=size - 1, unique=True))
        edges = sorted({0, modulus, *cuts})
        outputs = draw(
            st.lists(st.integers(-4, 4), min_size=len(edges) - 1, max_size=len(edges) - 1, unique=True)
        )
        return {y: b - a for y, a, b in zip(outputs, edges, edges[1:], strict=False)}

    return distribution(), distribution(), modulus


def as_fractions(distribution, modulus):
    return {y: Fraction(keys, modulus) for y, keys in distribution.items()}


@pytest.mark.slow
@given(two_distributions(), st.sampled_from([0.0, 1e-9, 0.1, 0.5, math.log(2), 1.0, 2.0, 7.5, 44.0]))
@settings(max_examples=300, deadline=None)
def test_one_sort_gives_what_adding_up_positive_parts_gives(distributions, epsilon):
    distribution, other, modulus = distributions
    fast = sticks.hockey_stick(distribution, other, epsilon=epsilon)
    p, q = as_fractions(distribution, modulus), as_fractions(other, modulus)
    for ours, slow in zip(
        fast, (by_hand.slow_delta(p, q, epsilon), by_hand.slow_delta(q, p, epsilon)), strict=True
    ):
        assert slow <= ours <= slow * (1 + Fraction(1, 10**30)) + Fraction(1, 10**80)


@given(two_distributions(), st.integers(-4, 4), st.integers(-4, 4), st.floats(0, 5))
@settings(max_examples=200, deadline=None)
def test_post_processing_never_raises_delta(distributions, low, high, epsilon):
    distribution, other, _ = distributions
    low, high = min(low, high), max(low, high)

    def clipped(masses):
        merged = {}
        for output, keys in masses.items():
            merged[min(max(output, low), high)] = merged.get(min(max(output, low), high), 0) + keys
        return merged

    before = sticks.hockey_stick(distribution, other, epsilon=epsilon)
    after = sticks.hockey_stick(clipped(distribution), clipped(other), epsilon=epsilon)
    allowed = 1 + Fraction(1, 10**30)
    assert all(b <= a * allowed for a, b in zip(before, after, strict=True))


@given(two_distributions(), st.floats(0, 20), st.floats(0, 20))
@settings(max_examples=150, deadline=None)
def test_delta_never_rises_with_epsilon(distributions, one, two):
    distribution, other, _ = distributions
    less, more = min(one, two), max(one, two)
    at_less, at_more = (
        sticks.hockey_stick(distribution, other, epsilon=less),
        sticks.hockey_stick(distribution, other, epsilon=more),
    )
    assert all(b <= a for a, b in zip(at_less, at_more, strict=True))


@pytest.mark.parametrize("epsilon", [100.0, 1e6, 1e300, math.inf])
def test_at_a_huge_epsilon_only_unmatched_support_is_left_and_it_is_exact(epsilon):
    distribution, other = {0: 2**64 - 1, 1: 1}, {0: 1, 2: 2**64 - 1}
    assert sticks.hockey_stick(distribution, other, epsilon=epsilon) == (
        Fraction(1, 2**64),
        Fraction(2**64 - 1, 2**64),
    )


def test_an_epsilon_at_the_logarithm_of_a_ratio_keeps_its_thirty_digits():
    distribution, other = {0: 2, 1: 1}, {0: 1, 1: 2}
    epsilon = math.nextafter(math.log(2), 0)
    ours, _ = sticks.hockey_stick(distribution, other, epsilon=epsilon)
    slow = by_hand.slow_delta(as_fractions(distribution, 3), as_fractions(other, 3), epsilon)
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
    ordered = sticks.by_ratio(close)[1:]
    ratios = [Fraction(p, q) for p, q in ordered]
    assert ratios == sorted(ratios, reverse=True)
    assert len(ordered) == len({Fraction(p, q) for p, q in close})


@given(st.floats(0, 700), st.sampled_from([40, 60, 120]))
@settings(max_examples=100, deadline=None)
def test_the_enclosure_holds_the_exponential_and_is_as_narrow_as_asked(epsilon, digits):
    low, high = sticks.Exponential.of(epsilon).bounds(digits)
    truth = Fraction(Context(prec=200).exp(Decimal(epsilon)))
    assert low <= truth <= high
    assert high - low <= low * Fraction(10) ** (2 - digits)


def test_a_comparison_that_needs_more_digits_gets_them():
    near = Fraction(Context(prec=150).exp(Decimal(1)))
    above, below = near + Fraction(1, 10**140), near - Fraction(1, 10**140)
    assert sticks.Exponential.of(1).below(above.numerator, above.denominator)
    assert not sticks.Exponential.of(1).below(below.numerator, below.denominator)


def test_infinity_is_beyond_every_number_and_a_huge_epsilon_needs_no_digits():
    assert sticks.Exponential.of(math.inf).beyond(2**640)
    assert sticks.Exponential.of(1e300).beyond(2**640)
    assert not sticks.Exponential.of(1e6).below(2**64, 1)


@pytest.mark.parametrize("epsilon", [-1, -0.5, math.nan, -math.inf, Fraction(-1, 2), Decimal("NaN")])
def test_an_epsilon_that_is_no_number_from_zero_upward_is_refused(epsilon):
    with pytest.raises(BadRequest, match="from 0 upward"):
        sticks.Exponential.of(epsilon)


@given(st.fractions(1, 10**6))
@settings(max_examples=100, deadline=None)
def test_the_logarithm_errs_upward_by_one_float_at_most(ratio):
    result = sticks.log_up(ratio)
    assert sticks.Exponential.of(result).bounds(80)[1] >= ratio
    if result > 0:
        assert sticks.Exponential.of(math.nextafter(result, 0)).below(ratio.numerator, ratio.denominator)


#: Any modulus, several rows, a repeating block, gaps in the support.
noise_tables = tables([1, 3, 256, 4096, 2**16, 10**8, 2**64], largest=4)
EPSILONS = [0.0, 0.05, 0.3, math.log(3), 1.5, 4.0, 20.0]


@pytest.mark.slow
@given(noise_tables, st.sampled_from(EPSILONS))
@settings(max_examples=300, deadline=None)
def test_the_fast_audit_equals_the_slow_obvious_one(table, at):
    point = curve(table, [at])[0]
    slow = by_hand.slow_audit(table, at)
    for ours, truth in zip((point.delta_forward, point.delta_backward), slow, strict=True):
        assert truth <= ours <= truth * (1 + Fraction(1, 10**30)) + Fraction(1, 10**80)


@given(noise_tables, st.sampled_from(EPSILONS))
@settings(max_examples=100, deadline=None)
def test_counts_above_the_largest_change_are_audited_by_the_same_rule(table, at):
    above = audit(table, epsilon=at).above_D
    slow = by_hand.slow_audit(table, at, first=table.largest + 1)
    assert above.worst_pair[0] > table.largest
    for ours, truth in zip((above.delta_forward, above.delta_backward), slow, strict=True):
        assert truth <= ours <= truth * (1 + Fraction(1, 10**30)) + Fraction(1, 10**80)


@given(noise_tables, st.sampled_from(EPSILONS))
@settings(max_examples=100, deadline=None)
def test_the_pair_that_is_named_has_the_delta_that_is_stated(table, at):
    point = curve(table, [at])[0]
    small, large = point.worst_pair
    distributions = by_hand.slow_distribution(table, small), by_hand.slow_distribution(table, large)
    slow = max(by_hand.slow_delta(*distributions, at), by_hand.slow_delta(*reversed(distributions), at))
    assert abs(point.delta - slow) <= slow / 10**30 + Fraction(1, 10**80)


@pytest.mark.slow
@given(noise_tables, st.fractions(0, 1))
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
    assert list(sticks.neighbouring_counts(table)) == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    assert list(sticks.neighbouring_counts(table, first=7)) == [(7, 8), (8, 9), (9, 10)]


def test_the_wrap_around_of_a_block_can_be_the_worst_pair():
    wide, left, right = (NoiseRow((-1, 0, 1), (1, 3, 4)), NoiseRow((-1, 0), (2, 4)), NoiseRow((5, 6), (2, 4)))
    point = curve(NoiseTable(4, (wide, wide, left, wide, right), repeats=3), [3.0])[0]
    assert point.worst_pair in {(3, 4), (4, 5)}
    assert point.delta == 1


def test_the_hull_keeps_only_what_no_other_pair_exceeds():
    points = [(2, 0, (0, 1)), (3, 1, (1, 2)), (4, 1, (2, 3)), (5, 2, (0, 1)), (6, 2, (3, 4)), (6, 5, (0, 1))]
    assert sticks.upper_hull(points) == [(2, 0, (0, 1)), (6, 2, (3, 4))]


def test_equal_pairs_are_named_by_their_smallest_counts():
    row = NoiseRow((-1, 0, 1), (1, 3, 4))
    forward, _ = sticks.profiles(NoiseTable(4, (row, row, row)))
    assert [pair for pair, _ in forward] == [(0, 1)]
    assert sticks.Frontier.of(forward).pairs[0] == (0, 1)
