"""Non-negativity: a released count below zero becomes zero.

It is done after the noise and for display only; the unadjusted cells stay on the release for inference.
It raises the mean of cells that would have been negative: a design whose small-count rows never go
below zero (`maxent`) is unbiased and never changed by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def non_negative(noisy: NDArray[np.int64]) -> NDArray[np.int64]:
    """The counts with negative ones replaced by zero."""
    return np.maximum(noisy, 0)
