"""The noise itself: an exact table, cell keys and a noise table become noisy cells.

    noisy = count + noise(count, cell key)

Cells with nobody in them have no participants, hence no key, and stay zero. With `zeros = "perturbed"` their
description is their key (`empty_cells`). A noise table that would move them without it is refused.

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
    from discreet.protect.cell_keys import CellKeys, KeysAt
    from discreet.protect.empty_cells import EmptyCells


#: Cells that are looked up at once: enough to be fast, and few beside a large table.
BLOCK = 32_768


def add_noise(
    exact: ExactTable,
    keys: CellKeys,
    noise: NoiseTable,
    empty: EmptyCells | None = None,
    *,
    spend: bool = False,
) -> NDArray[np.int64]:
    """The noisy count of every cell; those with people are looked up by who is in them.

    Args:
        exact: The true counts.
        keys: The cell keys.
        noise: The noise table.
        empty: The keys of cells without; None where these stay zero.
        spend: Whether the noisy counts take the place of the true ones.

    Raises:
        BadNoiseTable: The table would move empty cells, and there is no key for them.
    """
    if empty is None and not noise.keeps_zero:
        raise BadNoiseTable(
            "The noise table changes empty cells, which have no cell key.",
            'Give the row of count 0 the single value 0, or set `zeros = "perturbed"` in [protection].',
        )
    nobody = None if empty is None else empty.places(exact.counts, exact.shape)
    noisy, key_sums = exact.start(spend=spend).ravel(), exact.key_sums.ravel()
    keys_at = keys(exact.shape)
    for first in range(0, noisy.size, BLOCK):
        places = first + np.flatnonzero(noisy[first : first + BLOCK])
        noisy[places] = noisy_people(noisy[places], key_sums[places], places, keys_at, noise)
    if empty is not None and nobody is not None:
        noisy[nobody] = noise.noise(np.zeros(nobody.shape, dtype=np.int64), empty.keys(exact.shape, nobody))
    return noisy.reshape(exact.shape.lengths)


def noisy_people(
    people: NDArray[np.int64],
    key_sums: NDArray[np.uint64],
    places: NDArray[np.intp],
    keys_at: KeysAt,
    noise: NoiseTable,
) -> NDArray[np.int64]:
    """The noisy counts of cells in which somebody is."""
    cell_keys = keys_at(key_sums, places)
    return people + noise.noise(people, cell_keys)
