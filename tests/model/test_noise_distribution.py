"""A law of noise cell by cell: what follows from `laws` and `kind` alone, for any law there is."""

import numpy as np

from discreet.model.noise_distribution import NoiseDistribution, depends_on_count
from discreet.noise.table import NoiseRow, NoiseTable

NARROW = NoiseTable(4, (NoiseRow((-1, 0, 1), (1, 3, 4)),))
BY_COUNT = NoiseTable(4, (NoiseRow((0,), (4,)), NoiseRow((-2, 2), (2, 4))))


class ByHand(NoiseDistribution):
    """Two laws, laid out by hand."""

    laws = (NARROW, BY_COUNT)
    kind = np.array([[0, 1, 0], [1, 1, 0]])
    impossible = np.zeros((2, 3), dtype=bool)

    def source(self, *_place):
        return None

    def cut(self, _places):
        raise NotImplementedError

    def document(self):
        return {}


def test_each_cell_has_the_law_and_the_largest_variance_of_its_kind():
    law = ByHand()
    assert law.at(0, 0) is NARROW
    assert law.at(1, 1) is BY_COUNT
    assert law.variance().tolist() == [[0.5, 4.0, 0.5], [4.0, 4.0, 0.5]]


def test_the_masks_of_all_laws_share_no_cell_and_leave_none_out():
    masks = [mask for mask, _ in ByHand().kinds()]
    assert sum(mask.astype(int) for mask in masks).tolist() == [[1, 1, 1], [1, 1, 1]]
    assert [law for _, law in ByHand().kinds()] == [NARROW, BY_COUNT]


def test_noise_of_several_rows_depends_on_the_count():
    assert depends_on_count(BY_COUNT)
    assert not depends_on_count(NARROW)
