"""The cell key protector: free of charge for everybody, one noise table, and the noise of `add_noise`.

Noisy cells hold what may be seen: noise below zero is kept, and two of them are never the same by chance.
"""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.noise.table_distribution import TableDistribution
from discreet.protect.cell_keys import add_noise
from discreet.protect.protector import NoisyCells
from discreet.records.tabulate import tabulate


@pytest.fixture(scope="module")
def stored(town_workspace):
    return town_workspace.stored("town")


@pytest.fixture(scope="module")
def exact(stored):
    shape = table_shape(canonical(TableRequest("town", ("sex",), ("age",)), stored.dataset), stored.dataset)
    return tabulate(stored.engine, shape)


def test_everybody_is_answered_and_nothing_is_charged(stored, exact):
    protector = stored.protector
    request = TableRequest("town", ("sex",), ("age",))
    assert protector.cover(request, [exact.shape], None) is protector
    assert not protector.unpaid
    assert protector.pay() is None


def test_the_noisy_cells_are_those_of_the_keys_with_the_law_of_every_cell(stored, exact):
    protector = stored.protector
    cells = protector.protect(exact)
    assert np.array_equal(cells.noisy, add_noise(exact, protector.keys, protector.noise))
    assert not np.array_equal(cells.noisy, exact.counts)
    assert protector.tables == (protector.noise,)
    assert cells.law.variance().shape == exact.shape.lengths


LAW = TableDistribution(NoiseTable(4, (NoiseRow((-1, 1), (2, 4)),)), (2,))


def test_counts_below_zero_stay_and_nothing_can_be_exchanged():
    cells = NoisyCells(np.array([-1, 3]), LAW)
    assert cells.noisy.tolist() == [-1, 3]
    with pytest.raises(FrozenInstanceError):
        cells.law = None


def test_cells_are_compared_by_identity_because_arrays_have_no_one_answer():
    one, two = (NoisyCells(np.array([1, 3]), LAW) for _ in range(2))
    assert one == one  # noqa: PLR0124 - equality is what is tested
    assert one != two
