"""The compiled count: records in blocks, one column after the other, any number of columns.

    place(record) = sum over columns of lookup[column][code]
    counts[place] += 1,   keys[place] += record key,   weights[place] += weight

A lookup says how far a code moves a record in the flat table. A code that is filtered out moves it beyond the end, and the
last place takes everybody who lies there. All sums are integers, so nothing depends on blocks or threads. A block of places
stays in the fastest memory of a core while one column after the other is added to it.

Importing this module takes seconds: Numba compiles it, or reads what it compiled before from the folder that belongs to
the installed package or to the user. `fast_count` imports it in the background.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

#: Records of a block: their places take 16 KB.
BLOCK = 4096
_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
_SIGNATURE = types.void(
    _BYTES,
    types.int64[::1],
    types.int64[::1],
    types.uint32[::1],
    types.int64[::1],
    types.int64,
    types.int64,
    types.int64,
    types.int64,
    types.int64[::1],
    types.uint64[::1],
    types.int64[::1],
)


def _count(  # noqa: C901 - one loop, which is compiled as a whole
    raw: NDArray[np.uint8],
    starts: NDArray[np.int64],
    widths: NDArray[np.int64],
    lookups: NDArray[np.uint32],
    offsets: NDArray[np.int64],
    key_start: int,
    weight_start: int,
    first: int,
    last: int,
    counts: NDArray[np.int64],
    keys: NDArray[np.uint64],
    weights: NDArray[np.int64],
) -> None:
    """Count the records from `first` to `last` - 1 into tables whose last place takes who is not counted."""
    place, beyond = np.empty(BLOCK, np.uint32), np.uint32(counts.size - 1)
    for begin in range(first, last, BLOCK):
        size = min(BLOCK, last - begin)
        place[:size] = 0
        for column in range(starts.size):
            start, width = starts[column] + begin * widths[column], widths[column]
            codes = raw[start : start + size * width]
            lookup = lookups[offsets[column] : offsets[column + 1]]
            if width == 1:
                for i in range(size):
                    place[i] += lookup[codes[i]]
            elif width == 2:
                short = codes.view(np.uint16)
                for i in range(size):
                    place[i] += lookup[short[i]]
            else:
                wide, most = codes.view(np.uint32), np.uint32(lookup.size - 1)
                for i in range(size):
                    place[i] += lookup[min(wide[i], most)]
        record_keys = raw[key_start + 4 * begin : key_start + 4 * (begin + size)].view(np.uint32)
        for i in range(size):
            at = min(place[i], beyond)
            counts[at] += 1
            keys[at] += np.uint64(record_keys[i])
        if weights.size:
            weight = raw[weight_start + 8 * begin : weight_start + 8 * (begin + size)].view(np.int64)
            for i in range(size):
                weights[min(place[i], beyond)] += weight[i]


def _compile() -> Any:
    try:
        return njit(_SIGNATURE, nogil=True, cache=True)(_count)
    except RuntimeError:  # there is no folder that this user may keep compiled code in
        return njit(_SIGNATURE, nogil=True)(_count)


count = _compile()
