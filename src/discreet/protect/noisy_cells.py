"""Noisy cells: counts with their noise, which may be seen, and the law of that noise where it differs by cell.

Comes from: a protector. Goes to: `rules`, `adjust`, the release.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.noise.cell_laws import CellLaws


@dataclass(frozen=True, eq=False)
class NoisyCells:
    """Counts with noise.

    Args:
        noisy: Count plus noise; below zero where the noise is.
        laws: Under `dp`, the law of every cell; None where one noise table is the law of all.
    """

    noisy: NDArray[np.int64]
    laws: CellLaws | None = None

    @property
    def impossible(self) -> NDArray[np.bool_] | np.bool_:
        """Cells that have no noise because nobody can be in them."""
        return np.False_ if self.laws is None else self.laws.impossible
