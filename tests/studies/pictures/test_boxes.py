"""Boxes: quartiles as people know them, whiskers of 1.5 boxes, and the rest outside."""

import numpy as np
import pytest

from discreet_studies.pictures.boxes import five_numbers, outside


def test_whiskers_end_at_runs_and_not_at_their_reach():
    runs = [0.0, 10.0, 11.0, 12.0, 13.0, 14.0, 40.0]
    five = five_numbers(runs)
    assert (five["q1"], five["median"], five["q3"]) == tuple(np.percentile(runs, (25, 50, 75)))
    assert (five["low"], five["high"]) == (10.0, 14.0)
    assert outside(runs) == [0.0, 40.0]


def test_equal_runs_are_a_line():
    five = five_numbers([3.0, 3.0])
    assert set(five.values()) == {3.0}
    assert outside([3.0, 3.0]) == []


def test_the_mean_is_of_all_runs_also_of_those_outside():
    assert five_numbers([1.0, 2.0, 3.0, 4.0, 100.0])["mean"] == pytest.approx(22)
