"""Noisy cells: counts with their noise, which may be seen, and the law of that noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.model.noise_law import NoiseLaw


@dataclass(frozen=True, eq=False)
class NoisyCells:
    """Counts with noise.

    Args:
        noisy: Count plus noise; below zero where the noise is.
        law: The law of the noise of every cell.
        unrounded: Of a joint table, the values that the counts are rounded from; None elsewhere.
    """

    noisy: NDArray[np.int64]
    law: NoiseLaw
    unrounded: NDArray[np.float64] | None = None
