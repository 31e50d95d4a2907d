"""One noise table is the law of every cell: what a release under cell keys says about its noise."""

import numpy as np
import pytest

from discreet.model.noise_law import depends_on_count
from discreet.noise import laplace, maxent, pram
from discreet.noise.table import NO_NOISE
from discreet.noise.table_law import TableLaw

NOISE = maxent(D=4, V=2, js=1)


def test_every_cell_has_the_table_and_noise_of_its_own():
    law = TableLaw(NOISE, (2, 3))
    assert law.at(1, 2) is NOISE
    assert law.source(1, 2) is None
    assert not law.impossible.any()
    assert law.kind.shape == law.impossible.shape == (2, 3)
    [(cells, only)] = law.kinds()
    assert cells.all()
    assert only is NOISE


def test_the_variance_is_that_of_the_count_with_the_largest():
    largest = max(float(row.variance()) for row in NOISE.rows)
    assert (TableLaw(NOISE, (2, 2)).variance() == largest).all()


@pytest.mark.parametrize(
    "noise", [NOISE, pram(), laplace(epsilon=1.0, m=3), NO_NOISE], ids=lambda n: n.family
)
def test_a_noise_table_says_which_law_serves_a_count(noise):
    counts = np.arange(200)
    index = noise.law_index(counts)
    assert [noise.laws[place].row for place in index] == [noise.row(count) for count in counts.tolist()]
    assert noise.law_index(np.array([-3])) == noise.law_index(np.array([0]))
    assert depends_on_count(noise) == (len(set(noise.rows)) > 1)


def test_the_documents_tell_how_far_the_noise_reaches():
    assert TableLaw(NOISE, (1,)).document() == {"largest_change": 4}
