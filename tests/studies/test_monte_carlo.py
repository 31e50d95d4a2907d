"""Tolerances of simulated numbers: wide enough for chance, and no wider."""

from math import hypot

import numpy as np
import pytest
from scipy.stats import binom, norm

from discreet_studies.monte_carlo import ERRORS, apart, error_finding, mean_finding, share_finding

#: The chance that one comparison disagrees although both sides simulate the same thing.
CHANCE = 2 * norm.sf(ERRORS)
#: The chance that a count of disagreements fails a test here although nothing is wrong.
FALSE_ALARM = 1e-4
COMPARISONS = 2000


def most_disagreements():
    return binom.isf(FALSE_ALARM, COMPARISONS, CHANCE)


def disagreements(finding, shift=0.0):
    """How many of many pairs of simulations (1,000 runs printed, 400 of ours) disagree."""
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(COMPARISONS):
        printed, ours = rng.normal(5 + shift, 2, 1000), rng.normal(5, 2, 400)
        found += finding(printed, ours).agrees is False
    return found


def test_two_means_of_one_law_rarely_disagree_and_shifted_ones_mostly_do():
    def of(printed, ours):
        return mean_finding("m", float(printed.mean()), ours, rounding=0.0, printed_runs=1000)

    # The spread is estimated from 400 runs: allow a little more than the normal tail.
    assert disagreements(of) <= 1.5 * most_disagreements()
    assert disagreements(of, shift=0.6) > 0.95 * COMPARISONS


def test_two_standard_errors_of_one_law_rarely_disagree():
    def of(printed, ours):
        return error_finding("s", float(printed.std() / np.sqrt(1000)), ours, rounding=0.0, printed_runs=1000)

    assert disagreements(of) <= 1.5 * most_disagreements()
    finding = error_finding(
        "s", 3 / np.sqrt(1000), np.random.default_rng(1).normal(0, 2, 4000), rounding=0.0, printed_runs=1000
    )
    assert finding.agrees is False


def test_a_share_of_one_hundred_percent_still_has_room_for_chance_and_no_more():
    always = np.ones(1000, dtype=bool)
    assert share_finding("p", 99.6, always, rounding=0.05, printed_runs=1000).agrees is True
    assert share_finding("p", 79.3, always, rounding=0.05, printed_runs=1000).agrees is False


@pytest.mark.parametrize("rounding", [0.0, 0.05, 0.5])
def test_a_size_of_eight_percent_is_not_five_of_a_thousand_tables_each(rounding):
    """The wrong alternative adds the rounding to three errors: it takes 8.4 % for 5.0 %."""
    hits = np.arange(1000) < 84
    found = share_finding("size", 5.0, hits, rounding=rounding, printed_runs=1000)
    assert found.agrees is False
    if rounding:
        errors = np.sqrt(found.tolerance**2 - rounding**2)
        assert rounding + errors >= found.ours - 5.0
    same = share_finding("size", 5.0, np.arange(1000) < 55, rounding=rounding, printed_runs=1000)
    assert same.agrees is True


def test_a_right_number_fails_by_chance_at_most_once_in_42():
    """A print that is rounded (uniform within h = 1) after its runs: over all sizes of the error beside h."""
    rounding = np.linspace(-1, 1, 4001)
    chances = {}
    for error in np.geomspace(0.002, 100, 200):
        limit = hypot(1, ERRORS * error)
        beyond = norm.sf((limit - rounding) / error) + norm.cdf((-limit - rounding) / error)
        chances[error] = float(beyond.mean())
    assert 1 / 43 < max(chances.values()) <= 1 / 42
    assert chances[max(chances)] == pytest.approx(CHANCE, rel=0.01)
    assert chances[min(chances)] < 1e-3


def test_more_runs_make_the_tolerance_smaller_down_to_that_of_the_print():
    assert apart(1.0, 100, 100) > apart(1.0, 10_000, 100) > ERRORS * 0.1
