"""The cell key protector: free of charge for everybody, one noise table, and the noise of `add_noise`."""

import numpy as np
import pytest

from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.protect.cell_keys import add_noise
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
