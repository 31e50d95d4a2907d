import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from discreet.errors import BadRequest
from discreet.inference.hierarchical_model import HierarchicalModel


def model(generators, shape):
    return HierarchicalModel.of(generators, np.ones(shape))


def test_one_cycle_fits_independence_exactly():
    counts = np.array([[[3.0, 9.0, 2.0], [4.0, 4.0, 4.0]]])
    fitted = model([(0,), (1,)], (2, 3)).cycle(np.ones((1, 2, 3)), counts)
    np.testing.assert_allclose(fitted[0], chi2_contingency(counts[0], correction=False).expected_freq)


def test_the_fit_matches_every_margin_of_a_model_without_a_short_form():
    counts = np.random.default_rng(5).integers(1, 30, (1, 3, 4, 2)).astype(float)
    fitted = model([(0, 1), (0, 2), (1, 2)], (3, 4, 2)).fitted(counts)
    for axis in (1, 2, 3):
        np.testing.assert_allclose(fitted.sum(axis=axis), counts.sum(axis=axis), rtol=1e-9)


@pytest.mark.parametrize(
    ("generators", "shape", "df"),
    [
        ([(0,), (1,)], (3, 4), 6),
        ([(0, 1)], (3, 4), 0),
        ([()], (3, 4), 11),
        ([(0, 1), (0, 2), (1, 2)], (2, 3, 4), 6),
        ([(0,), (1, 2)], (2, 3, 4), 11),
    ],
)
def test_degrees_of_freedom_by_formula_and_by_rank(generators, shape, df):
    one = model(generators, shape)
    assert one.degrees_of_freedom(np.ones(shape, dtype=bool)) == df
    rank = np.linalg.matrix_rank(one.design(np.ones(shape, dtype=bool)).toarray())
    assert np.prod(shape) - rank == df


def test_structural_zeros_cost_degrees_of_freedom():
    present = ~np.eye(4, dtype=bool)
    assert model([(0,), (1,)], (4, 4)).degrees_of_freedom(present) == 16 - 4 - 7


def test_an_empty_row_vanishes_and_an_empty_cell_does_not():
    one = model([(0,), (1,)], (3, 3))
    empty = np.zeros((3, 3), dtype=bool)
    empty[0] = True
    empty[1, 1] = True
    assert np.argwhere(one.vanishing(empty)).tolist() == [[0, 0], [0, 1], [0, 2]]


def test_the_linear_programme_agrees_with_the_short_form():
    rng = np.random.default_rng(2)
    one = model([(0,), (1,)], (4, 3))
    for _ in range(30):
        empty = rng.random((4, 3)) < 0.6
        assert (one.vanishing(empty) == one._face(empty, one.possible)).all()


def test_the_classic_pattern_of_haberman_vanishes():
    """No three-way interaction with two empty corners: no margin is empty, and the estimate does not exist."""
    one = model([(0, 1), (0, 2), (1, 2)], (2, 2, 2))
    empty = np.zeros((2, 2, 2), dtype=bool)
    empty[0, 0, 0] = empty[1, 1, 1] = True
    assert (one.vanishing(empty) == empty).all()
    empty[1, 1, 1] = False
    assert not one.vanishing(empty).any()


def test_the_support_of_published_sparse_tables():
    oracle = json.loads((Path(__file__).parents[1] / "oracles" / "log_linear_fits.json").read_text("utf-8"))
    for table in oracle["tables"].values():
        counts = np.array(table["counts"].split(), dtype=int).reshape(table["shape"])
        generators = [[ord(letter) - ord("A") for letter in word] for word in table["model"]]
        gone = model(generators, counts.shape).vanishing(counts == 0)
        assert (~gone).sum() == table["support"]


def test_an_axis_that_is_not_there_is_refused():
    with pytest.raises(BadRequest, match="axis 2"):
        model([(0,), (2,)], (2, 2))
