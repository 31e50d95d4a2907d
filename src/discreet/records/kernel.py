"""The compiled count: records in blocks, one column after the other, any number of columns.

    place(record) = sum over columns of lookup[column][code]
    counts[place] += 1,   keys[place] += record key,   weights[place] += weight

A lookup has the offset of each code in the flat table. A filtered code moves a record beyond the end, and the last place
collects those. All sums are integers, so nothing depends on blocks or threads. A block of places fits the L1 cache.

Importing this module takes seconds: Numba compiles it, or reads it from its cache. `compiled_count` imports it in the
background.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

#: Records in a block: their places take 16 KB.
BLOCK = 4096
_BYTES = types.Array(types.uint8, 1, "C", readonly=True)
_INTEGERS = types.int64[::1]
_SIGNATURE = types.void(
    *(_BYTES, _INTEGERS, _INTEGERS, types.uint32[::1], _INTEGERS),
    *(types.int64, types.int64, types.int64, types.int64),
    *(_INTEGERS, types.uint64[::1], _INTEGERS),
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
    """Count the records from `first` to `last` - 1; the last place of each table collects the filtered ones."""
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


try:
    count: Any = njit(_SIGNATURE, nogil=True, cache=True)(_count)
except RuntimeError:  # no writable cache folder
    count = njit(_SIGNATURE, nogil=True)(_count)
