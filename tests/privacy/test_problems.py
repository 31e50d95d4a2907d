"""What a custodian should know of a noise table is named, with its rows; a sound table has nothing."""

from __future__ import annotations

from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy import audit

SMALL = NoiseTable(4, (NoiseRow((0,), (4,)), NoiseRow((-1, 0, 1), (1, 3, 4))))


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


def test_a_sound_table_has_no_problems(by_hand):
    assert audit(by_hand.laplace(1.5, 7), epsilon=1.5).problems == ()
