"""Noisy cells hold what may be seen: noise below zero is kept, and two of them are never the same by chance."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from discreet.noise.table import NoiseRow, NoiseTable
from discreet.noise.table_law import TableLaw
from discreet.protect.noisy_cells import NoisyCells

LAW = TableLaw(NoiseTable(4, (NoiseRow((-1, 1), (2, 4)),)), (2,))


def test_counts_below_zero_stay_and_nothing_can_be_exchanged():
    cells = NoisyCells(np.array([-1, 3]), LAW)
    assert cells.noisy.tolist() == [-1, 3]
    with pytest.raises(FrozenInstanceError):
        cells.law = None


def test_cells_are_compared_by_identity_because_arrays_have_no_one_answer():
    one, two = (NoisyCells(np.array([1, 3]), LAW) for _ in range(2))
    assert one == one  # noqa: PLR0124 - equality is what is tested
    assert one != two
