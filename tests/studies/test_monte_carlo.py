"""Tolerances of simulated numbers: wide enough for chance, and no wider."""

import numpy as np
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


def test_more_runs_make_the_tolerance_smaller_down_to_that_of_the_print():
    assert apart(1.0, 100, 100) > apart(1.0, 10_000, 100) > ERRORS * 0.1
