"""Intervals of what was measured: they cover, and they are not too wide to be of use."""

import numpy as np
import pytest
from scipy.stats import binom

from discreet_studies.attacks.scoring import root_mean_square, share


@pytest.mark.parametrize("p", [0.03, 0.5, 0.9])
def test_the_interval_of_a_share_covers_at_least_as_often_as_it_says(p):
    chances = binom.pmf(np.arange(61), 60, p)
    covered = sum(c for hits, c in enumerate(chances) if share(hits, 60).low <= p <= share(hits, 60).high)
    assert 0.95 <= covered < 0.995


def test_the_interval_of_the_error_holds_the_true_error_about_as_often_as_it_says():
    rng = np.random.default_rng(2)
    runs = [root_mean_square(rng.normal(0, 2, 200)) for _ in range(400)]
    covered = np.mean([run.low <= 2 <= run.high for run in runs])
    assert 0.9 < covered < 0.98
    wrong = np.mean([run.low <= 2.6 <= run.high for run in runs])
    assert wrong < 0.2
