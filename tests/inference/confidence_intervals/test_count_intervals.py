from collections import Counter
from itertools import product
from math import inf

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.errors import BadRequest
from discreet.inference.confidence_intervals import count_intervals as quotient
from discreet.inference.confidence_intervals.count_intervals import (
    cell_interval,
    cell_intervals,
    difference_interval,
    least_share,
    ratio_interval,
    share_interval,
    sum_interval,
)
from discreet.inference.confidence_intervals.noise_sum import noise_sum
from discreet.inference.hypothesis_tests.p_value import with_noise
from discreet.noise import laplace, maxent

from ..conftest import table

#: The chance that a test of coverage fails although the coverage is nominal.
FALSE_ALARM = 1e-5


def covered(noise, count, level, shorter=0):
    """The chance of every released value whose interval, made shorter at each end, holds the count."""
    row = noise.row(count)
    low, high = cell_intervals(count + np.array(row.values), noise, level)
    inside = (low + shorter <= count) & (count <= high - shorter)
    return np.array([float(p) for p in row.probabilities().values()])[inside].sum()


def test_the_coverage_of_a_cell_is_exactly_enough_for_every_count(any_noise):
    for level, count in product((0.5, 0.9, 0.99), (0, 1, 2, 5, 13, 40, 1000)):
        assert covered(any_noise, count, level) >= level - 1e-7, (level, count)


def test_the_coverage_would_not_be_enough_for_intervals_one_shorter():
    assert covered(laplace(epsilon=1.0, m=8), 50, 0.9, shorter=1) < 0.9


def distribution_of_the_sum(counts, noise):
    """The chances of every sum of the noise of true counts, by the transforms of their rows; and the first of the sums."""
    rows = [
        (noise.row(int(n)), int(cells))
        for n, cells in zip(*np.unique(counts, return_counts=True), strict=True)
    ]
    first = sum(cells * row.values[0] for row, cells in rows)
    size = sum(cells * row.values[-1] for row, cells in rows) - first + 1
    product = 1.0
    for row, cells in rows:
        chances = np.zeros(row.values[-1] - row.values[0] + 1)
        chances[np.array(row.values) - row.values[0]] = np.array(row.masses()) / noise.modulus
        product = product * np.fft.rfft(chances, size) ** cells
    return first, np.fft.irfft(product, size)


def with_noise_of_sum(counts, noise, target, rng):
    """Released counts whose noise adds up to a target, or as near to it as it gets from below (its size)."""
    released = with_noise(counts, noise, rng)
    for cell in rng.permutation(counts.size):
        missing = target - int((released - counts).sum())
        if not missing:
            break
        values = np.array(noise.row(int(counts[cell])).values)
        now = released[cell] - counts[cell]
        moves = values[(np.sign(missing) * (values - now) >= 0) & (abs(values - now) <= abs(missing))]
        released[cell] = counts[cell] + (moves.max() if missing > 0 else moves.min())
    return released


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cells"),
    [("laplace", 10_000), ("maxent", 4_000), ("laplace, zero kept", 1_000), ("abs", 1_000), ("pram", 1_000)],
)
def test_a_sum_of_many_cells_is_kept_up_to_the_very_tail_of_its_exact_distribution(name, cells):
    """By the exact distribution: released counts with the rarest noise at which the true sum must still be kept.

    All that the proof of coverage needs is that no such sum is left out. Wrong: an interval of 98 % in place of 99 %, which
    leaves it out."""
    noise, rng, level = table(name), np.random.default_rng(12), 0.99
    counts = rng.poisson(4, cells)
    first, chances = distribution_of_the_sum(counts, noise)
    at_least, at_most = np.cumsum(chances[::-1])[::-1], np.cumsum(chances)
    highest = first + int(np.flatnonzero(at_least > (1 - level) / 2 + 1e-9)[-1])
    lowest = first + int(np.flatnonzero(at_most > (1 - level) / 2 + 1e-9)[0])
    for target, tail in ((highest, at_least), (lowest, at_most)):
        released = with_noise_of_sum(counts, noise, target, rng)
        assert (released - counts).sum() == target
        found = sum_interval(released, noise, level)
        assert found.low <= counts.sum() <= found.high
        assert tail[target - first] <= 0.01
        if len(noise.rows) == 1:
            narrower = sum_interval(released, noise, 0.98)
            assert not narrower.low <= counts.sum() <= narrower.high, "wrong: an interval of 98 %"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scale"), [("maxent", 20), ("laplace, zero kept", 20), ("laplace, zero kept", 0.5)]
)
def test_sums_shares_differences_and_ratios_cover_enough(name, scale):
    """Few people, and other families: `tests/statistics/test_interval_widths.py`, against the exact inversion."""
    noise, rng, level, draws = table(name), np.random.default_rng(7), 0.9, 40
    one, two = rng.poisson(scale * 2, 4), rng.poisson(scale * 3, 6) + 1
    whole = np.array([one.sum() + two.sum()])
    hits = Counter()
    for _ in range(draws):
        a, b, c = (with_noise(counts, noise, rng) for counts in (one, two, whole))
        for what, interval, truth in (
            ("sum", sum_interval(b, noise, level), two.sum()),
            ("share", share_interval(a, noise, rest=b, level=level), one.sum() / whole[0]),
            ("share of whole", share_interval(a, noise, whole=c, level=level), one.sum() / whole[0]),
            ("difference", difference_interval(a, b, noise, level), one.sum() - two.sum()),
            ("ratio", ratio_interval(a, b, noise, level), one.sum() / two.sum()),
        ):
            hits[what] += interval.low - 1e-12 <= truth <= interval.high + 1e-12
    assert len(hits) == 5
    for what, number in hits.items():
        assert binomtest(number, draws, level, alternative="less").pvalue > FALSE_ALARM, (what, number)


def test_the_share_interval_is_the_exact_tail_of_the_linear_form():
    """At its lower end the hypothesis is just not rejected; a little below, it is."""
    noise, level = laplace(epsilon=0.5, m=7), 0.9
    part, rest = 12, 30
    row = {z: float(p) for z, p in noise.row(0).probabilities().items()}
    low = share_interval([part], noise, rest=[rest], level=level).low

    def tail(p):
        return sum(
            pa * pb
            for a, pa in row.items()
            for b, pb in row.items()
            if (1 - p) * max(part - a, 0) <= p * max(rest - b, 0) + 1e-12
        )

    assert tail(low + 1e-9) > (1 - level) / 2
    assert tail(low - 1e-6) <= (1 - level) / 2


def test_without_noise_everything_is_a_point(no_noise):
    assert cell_interval(7, no_noise).low == cell_interval(7, no_noise).high == 7
    assert (sum_interval([3, 4, 5], no_noise).low, sum_interval([3, 4, 5], no_noise).high) == (12, 12)
    share = share_interval([3], no_noise, rest=[9])
    assert (share.low, share.high) == (pytest.approx(0.25), pytest.approx(0.25))
    assert difference_interval([3], [9], no_noise).low == -6


def test_counts_below_zero_are_never_in_an_interval():
    noise = laplace(epsilon=0.2, m=10)
    assert cell_interval(-4, noise).low == 0
    assert sum_interval([-3, -2, 1], noise).low >= 0
    assert share_interval([-3], noise, rest=[4]).low == 0.0


def test_a_denominator_that_may_be_zero_has_no_upper_end():
    assert ratio_interval([30], [1], laplace(epsilon=0.2, m=10)).high == inf


def test_levels_without_meaning_and_shares_of_nothing_are_refused():
    noise = laplace(epsilon=1.0, m=5)
    for level in (0, 1, -1, float("nan")):
        with pytest.raises(BadRequest, match="level"):
            sum_interval([3, 4], noise, level)
    for options in ({}, {"rest": [3], "whole": [9]}):
        with pytest.raises(BadRequest, match="rest or the whole"):
            share_interval([4], noise, **options)


NOISE = maxent(D=5, V=3, js=2)


def test_a_part_of_the_whole_is_no_more_than_the_whole():
    part, whole = noise_sum([6], NOISE), noise_sum([5], NOISE)
    free, inside = (1 - least_share(whole, part, 0.025, inside=sign) for sign in (0, -1))
    assert inside == 0.5
    assert free > inside


def test_a_search_that_stops_early_gives_a_wider_interval(monkeypatch):
    part, rest = noise_sum([4], NOISE), noise_sum([7], NOISE)
    whole = least_share(part, rest, 0.025)
    monkeypatch.setattr(quotient, "_MOST_NUMBERS", 0)
    stopped = least_share(part, rest, 0.025)
    monkeypatch.setattr(quotient, "_MOST_PAIRS", 0)
    assert least_share(part, rest, 0.025) <= stopped <= whole
    assert least_share(part, rest, 0.025) < whole


def test_leaving_out_rare_sums_costs_hardly_any_width(monkeypatch):
    noise = laplace(epsilon=0.5, m=7)
    part, rest = noise_sum([12, 9], noise), noise_sum([30, 22], noise)
    all_sums = least_share(part, rest, 0.025)
    monkeypatch.setattr(quotient, "_MANY_PAIRS", 0)
    assert least_share(part, rest, 0.025) == pytest.approx(all_sums, rel=0.02)
