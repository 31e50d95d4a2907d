"""A count below zero is shown as zero, and the counts that inference needs stay as they are."""

import numpy as np
from discreet.additivity.non_negative import non_negative


def test_only_counts_below_zero_change_and_only_in_what_is_shown():
    noisy = np.array([[-3, 0], [1, -1]])
    assert non_negative(noisy).tolist() == [[0, 0], [1, 0]]
    assert noisy.tolist() == [[-3, 0], [1, -1]]
    assert non_negative(noisy).dtype == noisy.dtype
