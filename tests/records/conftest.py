"""The compiled count by its definition: one record after the other, with Python integers."""

import numpy as np
import pytest


def _count(
    raw, starts, widths, lookups, offsets, key_start, weight_start, first, last, counts, keys, weights
):
    def value(start, width, record):
        return int.from_bytes(raw[start + width * record : start + width * (record + 1)].tobytes(), "little")

    for record in range(first, last):
        place = 0
        for start, width, begin, end in zip(starts, widths, offsets, offsets[1:], strict=False):
            place += int(lookups[begin:end][min(value(start, width, record), end - begin - 1)])
        at = min(place, counts.size - 1)
        counts[at] += 1
        keys[at] += np.uint64(value(key_start, 4, record))
        if weights.size:
            weights[at] += value(weight_start, 8, record)


@pytest.fixture(scope="session")
def slow_kernel():
    return _count
