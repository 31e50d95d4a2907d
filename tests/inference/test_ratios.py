import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.noise_by_cell import by_cell
from discreet.inference.ratios import counts_behind, ratios
from discreet.noise import laplace, maxent

MODEL = HierarchicalModel.of([(0,), (1,)], np.ones((2, 3)))
TABLES = np.array([[[30, 41, 22], [52, 28, 31]], [[12, 9, 20], [15, 22, 8]]])


def test_one_of_a_batch_is_that_table_alone():
    noise = maxent(D=5, V=3, js=2)
    both = ratios(TABLES, noise, MODEL)
    alone = ratios(TABLES[1:], noise, MODEL)
    assert both.statistic[1:] == pytest.approx(alone.statistic)
    assert both.means[1:] == pytest.approx(alone.means)
    assert both.df[1:].tolist() == alone.df.tolist() == [2]


def test_how_many_counts_are_looked_at():
    assert counts_behind(maxent(D=5, V=3, js=2)) == 11
    wide = by_cell(laplace(epsilon=0.025, modulus=2**64), (2, 3))
    assert counts_behind(wide) == 256
    assert counts_behind(wide, given=True) > 2000


def test_a_public_total_of_wide_noise_and_many_cells_is_refused():
    noise = laplace(epsilon=0.025, modulus=2**64)
    model = HierarchicalModel.of([(0,), (1,)], np.ones((10, 10)))
    with pytest.raises(BadRequest, match="multinomial model of 100 cells"):
        ratios(np.full((1, 10, 10), 50), noise, model, 5000)
