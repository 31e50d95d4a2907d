"""How far a shipped noise table is from the ideal law that its design stands for: total variation, from above.

    distance = sum over all integers z of max(0, ideal(z) - shipped(z))

A claim about the ideal law holds for the shipped table when delta is raised: if two neighbours differ in J cells,

    delta(shipped) <= delta(ideal) + (1 + e^epsilon) J distance

because each of the two laws is moved by at most J distance, and the second is multiplied by e^epsilon.

Source: the definition; Canonne, Kamath & Steinke (2020) for the discrete Gaussian.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.noise.families import ideal_law

if TYPE_CHECKING:
    from discreet.noise.ideal_law import IdealLaw
    from discreet.noise.table import NoiseRow, NoiseTable


def distance_to_ideal(table: NoiseTable) -> Fraction | None:
    """An upper bound on the total variation between a table's row and its ideal law; None where none is known.

    >>> from discreet.noise import laplace
    >>> float(distance_to_ideal(laplace(epsilon=1.0, modulus=2**64))) < 1e-17
    True
    """
    law = ideal_law(table)
    if law is None or len(table.rows) != 1:
        return None
    return _distance(table.rows[0], law, law.scale_of(table))


@lru_cache(maxsize=4096)
def _distance(row: NoiseRow, law: IdealLaw, scale: float) -> Fraction:
    """Remembered by the scale too: tables are equal whatever their parameters."""
    return min(Fraction(1), law.distance(row, scale))
