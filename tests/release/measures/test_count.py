"""The measure `count` shows what the noise left, below zero too, and nothing else."""

import numpy as np

from discreet.model.request import TableRequest
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.noise.table_distribution import TableDistribution
from discreet.protect.protector import NoisyCells
from discreet.release.measures import measure_kind
from discreet.release.measures.count import MEASURE


def test_the_noisy_cells_are_shown_as_they_are():
    law = TableDistribution(NoiseTable(4, (NoiseRow((-1, 1), (2, 4)),)), (3,))
    cells = NoisyCells(np.array([-1, 0, 7]), law)
    shown = MEASURE.show(None, None, cells)
    assert shown.values is cells.noisy
    assert (shown.errors, shown.noise_shares, shown.unreliable, shown.promise) == (None, None, None, ())


def test_what_is_asked_is_what_is_counted_without_weights(dataset):
    request = TableRequest("town", ("sex",))
    assert measure_kind("count") is MEASURE
    assert MEASURE.counted(request, dataset) is request
    assert not MEASURE.weights
    assert MEASURE.measure.refuse(dataset) is None
