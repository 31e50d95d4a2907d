"""The mean of an imported row against the mean that its file declares.

Source: the unbiasedness constraint of Fraser & Wooton (2005), as ptable applies it to every row.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import BadNoiseTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.noise.table import NoiseRow

#: Tables are designed to some eight decimals; a mean within this of zero is zero.
DESIGN_TOLERANCE = Fraction(1, 10**6)


def check_unbiased(rows: Sequence[NoiseRow]) -> None:
    """Refuse rows whose mean is not zero beyond what rounding to their modulus explains."""
    for count, row in enumerate(rows):
        rounding = Fraction(row.values[-1] - row.values[0], row.modulus)
        if abs(row.mean()) > DESIGN_TOLERANCE + rounding:
            raise BadNoiseTable(
                f"The row of count {count} has mean {float(row.mean()):.6g}; this format declares 0.",
                "Correct the row, or say that the table is biased on purpose (biased=True, --biased).",
            )
