"""The public ladders of printed relative standard errors: every error is rounded up to a rung."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: What a printed relative standard error may be, in tenths of a percent.
ERROR_LADDER = np.array([10, 20, 50, 100, 150, 200, 250, 300, 400, 500, 750, 1000, 2000, 5000, 10_000])
#: What a printed share of the noise may be, in tenths of a percent.
SHARE_LADDER = np.array([0, 10, 20, 50, *range(100, 1001, 100)])
#: One hundred percent, in the tenths of a percent in which errors are printed.
WHOLE = 1000
#: Printed where no relative error exists: a number of zero or less, or an error beyond the ladder.
NO_ERROR = -1


def rounded_up(values: NDArray[np.float64], ladder: NDArray[np.int64] = ERROR_LADDER) -> NDArray[np.int64]:
    """The least rung that is not below each value; none beyond the last.

    >>> rounded_up(np.array([12.0, 50.0, 1e9])).tolist()
    [20, 50, -1]
    """
    # A value that is a rung but for the last bits of a float stands on it.
    place = np.searchsorted(ladder, values * (1 - 1e-12), side="left")
    return np.append(ladder, NO_ERROR)[place]
