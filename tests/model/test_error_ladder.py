import numpy as np

from discreet.model.error_ladder import ERROR_LADDER, NO_ERROR, rounded_up


def test_the_ladder_is_the_published_one():
    assert (ERROR_LADDER[:10] / 10).tolist() == [1, 2, 5, 10, 15, 20, 25, 30, 40, 50]


def test_values_are_rounded_up_and_never_down_or_to_the_nearest():
    """Wrong: the nearest rung, which would print 2 % for 2.4 %."""
    values = np.array([24.0, 50.0, 50.1, 10_000.0, 10_001.0])
    assert rounded_up(values).tolist() == [50, 50, 100, 10_000, NO_ERROR]
