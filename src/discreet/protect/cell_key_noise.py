"""The noise itself: an exact table, cell keys and a noise table become noisy cells.

    noisy = count + noise(count, cell key)

Cells with nobody in them have no participants, hence no key: a noise table that would move them is
refused, and they stay zero.

Comes from: `records/tabulate.py`, `cell_keys`, `noise`. Goes to: `answer`, as plain integers that may be seen.
Source: Fraser & Wooton (2005); Sadeghi & Chien (2022), section IV.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadNoiseTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.model.exact import ExactTable
    from discreet.noise.table import NoiseTable
    from discreet.protect.cell_keys import CellKeys


def add_noise(exact: ExactTable, keys: CellKeys, noise: NoiseTable) -> NDArray[np.int64]:
    """The noisy count of every cell; only cells with people in them are looked up.

    Raises:
        BadNoiseTable: The table would move empty cells, for which there is no key.
    """
    if not noise.keeps_zero:
        raise BadNoiseTable(
            "The noise table changes empty cells, which have no cell key.",
            "Give the row of count 0 the single value 0.",
        )
    counts = exact.counts.ravel()
    places = np.flatnonzero(counts)
    people = counts[places]
    cell_keys = keys(exact.key_sums.ravel()[places], exact.shape, places)
    noisy = np.zeros(counts.shape, dtype=np.int64)
    noisy[places] = people + noise.noise(people, cell_keys)
    return noisy.reshape(exact.counts.shape)
