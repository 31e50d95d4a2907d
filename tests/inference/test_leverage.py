import numpy as np
import pytest

from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.leverage import Leverage, margin_cells

MODELS = [
    ((4, 5), [(0,), (1,)]),
    ((2, 3, 4), [(0, 1), (0, 2), (1, 2)]),
    ((7,), [()]),
    ((3, 2, 2), [(0, 1), (2,)]),
]


@pytest.mark.parametrize(("shape", "generators"), MODELS)
def test_leverages_are_those_of_the_written_out_projection(shape, generators):
    model = HierarchicalModel.of(generators, np.ones(shape))
    rng = np.random.default_rng(8)
    weights = rng.uniform(0.1, 9.0, (3, int(np.prod(shape))))
    terms = rng.normal(size=weights.shape)
    found = Leverage.of(model, weights)
    design = model.design(np.ones(shape, dtype=bool)).toarray()
    for table in range(3):
        inverse = np.linalg.pinv(design.T @ np.diag(weights[table]) @ design)
        slow = np.diag(design @ inverse @ design.T)
        np.testing.assert_allclose(found.log_variance()[table], slow, rtol=1e-6)
        total = design.T @ terms[table]
        assert found.explained(terms)[table] == pytest.approx(total @ inverse @ total, rel=1e-6)
    parameters = model.offset.size - model.degrees_of_freedom(np.ones(shape, dtype=bool))
    assert (weights * found.log_variance()).sum(axis=1) == pytest.approx(parameters)


def test_rows_of_tiny_means_keep_their_parameter():
    model = HierarchicalModel.of([(0,), (1,)], np.ones((3, 3)))
    weights = np.outer([1.0, 1e-9, 5.0], [2.0, 3.0, 1e-6]).reshape(1, -1)
    assert (weights * Leverage.of(model, weights).log_variance()).sum() == pytest.approx(5, rel=1e-3)


def test_margin_cells_are_numbered_through():
    places, number = margin_cells(HierarchicalModel.of([(0,), (1,)], np.ones((2, 3))))
    assert number == 5
    assert places.tolist() == [[0, 2], [0, 3], [0, 4], [1, 2], [1, 3], [1, 4]]
