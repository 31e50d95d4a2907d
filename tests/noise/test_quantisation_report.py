"""What rounding to keys did to a design is reported: lost values, bias, variance."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.noise.families.maxent import ideal_symmetric
from discreet.noise.ideal import IdealTable, row_from_logs, row_from_weights
from discreet.noise.quantisation_report import paper_epsilon_delta, quantisation_report
from discreet.noise.quantise import quantise


def one(row):
    return IdealTable((row,))


def test_a_change_of_mean_is_said_only_where_it_matters():
    biased = one(row_from_weights((0, 1), (2, 1)))
    assert quantisation_report(biased, quantise(biased, 2**16)).notes() == ()
    assert "adds a bias" in quantisation_report(biased, quantise(biased, 4)).notes()[0]


def test_ceiling_drops_what_it_loses_and_the_report_says_so():
    ideal = one(row_from_logs(range(-8, 9), [-(z * z) / 2 for z in range(-8, 9)]))
    table = quantise(ideal, 2**8, "ceiling")
    report = quantisation_report(ideal, table)
    assert report.lost
    assert set(table.row(0).values) == set(ideal.last.values) - {value for _, value in report.lost}
    assert any("lost" in note for note in report.notes())
    assert any("bias" in note for note in report.notes())


def test_ceiling_shifts_the_mean_by_minus_its_width_in_keys_and_exact_does_not():
    ideal = ideal_symmetric(10, 9)
    assert quantise(ideal, 2**16, "ceiling").row(0).mean() == Fraction(-10, 2**16)
    report = quantisation_report(ideal, quantise(ideal, 2**16))
    assert report.last.bias == 0
    assert report.notes() == ()


def test_a_variance_that_few_keys_change_is_said():
    ideal = ideal_symmetric(15, 4)
    report = quantisation_report(ideal, quantise(ideal, 2**12))
    assert report.last.variance_error > 0.01
    assert any("changes the variance" in note for note in report.notes())


def test_the_paper_epsilon_is_infinite_where_a_value_was_lost():
    row = quantise(one(row_from_weights((-1, 0, 1), (1, 1000, 1))), 16, "ceiling").row(0)
    assert row.values == (-1, 0)
    assert paper_epsilon_delta(row, (-1, 0, 1))[0] == pytest.approx(2.70805, abs=1e-5)
    gap = quantise(one(row_from_weights((-1, 0, 1), (1, 1, 10**6))), 16, "ceiling").row(0)
    assert gap.values == (-1, 1)
    assert paper_epsilon_delta(gap, (-1, 0, 1))[0] == float("inf")
