"""The compiled kernel itself; `test_fast_count` compares whole tables."""

import numpy as np
import pytest


@pytest.mark.slow
def test_codes_beyond_a_lookup_touch_nothing_but_the_last_place(slow_kernel):
    """A damaged file must not make compiled code read or write beyond its arrays."""
    kernel = pytest.importorskip("discreet.records.kernel").count
    raw = np.concatenate(
        [
            np.array(column).view(np.uint8)
            for column in (
                np.arange(5000, dtype=np.uint32),  # keys
                np.full(5000, 2**32 - 1, np.uint32),  # codes of four bytes, all of them wrong
            )
        ]
    )
    lookups = np.array([0, 1, 1 << 28], dtype=np.uint32)
    tables = [[np.zeros(3, t) for t in (np.int64, np.uint64)] + [np.zeros(0, np.int64)] for _ in range(2)]
    for run, table in zip((kernel, slow_kernel), tables, strict=True):
        run(raw, np.array([20_000]), np.array([4]), lookups, np.array([0, 3]), 0, 0, 0, 5000, *table)
    assert tables[0][0].tolist() == tables[1][0].tolist() == [0, 0, 5000]
    assert tables[0][1].tolist() == tables[1][1].tolist() == [0, 0, 4999 * 2500]


@pytest.mark.slow
def test_key_sums_wrap_nowhere_below_two_to_the_64():
    kernel = pytest.importorskip("discreet.records.kernel").count
    raw = np.concatenate([np.full(3, 2**32 - 1, np.uint32).view(np.uint8), np.zeros(3, np.uint8)])
    keys = np.array([2**63, 0], dtype=np.uint64)
    no_weights = np.zeros(0, np.int64)
    lookup = np.zeros(256, np.uint32)
    arrays = (raw, np.array([12]), np.array([1]), lookup, np.array([0, 256]))
    kernel(*arrays, 0, 0, 0, 3, np.zeros(2, np.int64), keys, no_weights)
    assert keys.tolist() == [2**63 + 3 * (2**32 - 1), 0]
