"""noisy = count + noise(count, key), by the slow and obvious way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadNoiseTable
from discreet.model.exact import ExactTable
from discreet.model.protection import Protection
from discreet.model.shape import Dimension, Output, TableShape
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.protect import cell_key_noise
from discreet.protect.cell_key_noise import add_noise
from discreet.protect.cell_keys import cell_keys
from discreet.records.secret import Secret

SECRET = Secret(bytes(range(40, 72)))
NOISE = NoiseTable(
    2**32,
    (
        NoiseRow((0,), (2**32,)),
        NoiseRow((-1, 2), (2**32 * 2 // 3, 2**32)),
        NoiseRow((-2, -1, 0, 1, 2), tuple(2**32 * n // 9 for n in (1, 3, 6, 8, 9))),
    ),
)


def shape_of(length: int) -> TableShape:
    outputs = tuple(Output(str(n), str(n), (n,)) for n in range(length))
    base = tuple(str(n) for n in range(length))
    return TableShape((Dimension("v", "V", outputs, tuple(range(length)), base, total=False),))


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 2**63)), min_size=1, max_size=30))
def test_each_cell_gets_the_noise_of_its_count_and_key(cells):
    counts = np.array([count for count, _ in cells])
    sums = np.array([total if count else 0 for count, total in cells], dtype=np.uint64)
    shape = shape_of(len(cells))
    keys = cell_keys(SECRET, "town", Protection(), 2**32)
    noisy = add_noise(ExactTable(shape, counts, sums), keys, NOISE)
    for place, count in enumerate(counts.tolist()):
        key = int(keys(shape)(sums[place : place + 1], np.array([place]))[0])
        row = NOISE.row(count)
        change = next(v for v, t in zip(row.values, row.thresholds, strict=True) if key < t)
        assert int(noisy[place]) == (count + change if count else 0)


@pytest.mark.parametrize("mode", ["hashed", "participants-and-description"])
def test_cells_are_looked_up_in_blocks_and_every_block_counts(mode, monkeypatch):
    """Wrong alternative: places that start again in every block."""
    random = np.random.default_rng(3)
    counts, sums = random.integers(0, 4, 1000), random.integers(0, 2**63, 1000).astype(np.uint64)
    keys = cell_keys(SECRET, "town", Protection(keys=mode), 2**32)
    whole = add_noise(ExactTable(shape_of(1000), counts.copy(), sums), keys, NOISE)
    monkeypatch.setattr(cell_key_noise, "BLOCK", 7)
    exact = ExactTable(shape_of(1000), counts.copy(), sums)
    assert add_noise(exact, keys, NOISE, spend=True).tolist() == whole.tolist()
    assert whole.tolist() != counts.tolist()


def test_a_table_that_moves_zeros_is_refused():
    moving = NoiseTable(4, (NoiseRow((-1, 1), (2, 4)),))
    exact = ExactTable(shape_of(1), np.array([3]), np.array([5], dtype=np.uint64))
    with pytest.raises(BadNoiseTable, match="empty cells"):
        add_noise(exact, cell_keys(SECRET, "town", Protection(), 2**32), moving)


def test_a_key_outside_the_modulus_gives_no_answer():
    """Keys for 2^32 with a table for 256: an error, never a number."""
    small = NoiseTable(256, (NoiseRow((0,), (256,)), NoiseRow((-1, 1), (128, 256))))
    counts = np.full(50, 3)
    exact = ExactTable(shape_of(50), counts, np.arange(50, dtype=np.uint64))
    with pytest.raises(BadNoiseTable):
        add_noise(exact, cell_keys(SECRET, "town", Protection(), 2**32), small)
