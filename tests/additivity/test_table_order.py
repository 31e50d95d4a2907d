"""A table is fitted in one order of its variables: no layout shows another number."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.additivity.additivity import add_up, additive_structure
from discreet.additivity.fitted import Kept, fitted
from discreet.additivity.table_order import TableOrder
from discreet.model.dataset_toml import parse_dataset
from discreet.model.protection import Protection
from discreet.model.request import request_from_text
from discreet.model.shape import table_shape

NAMES = ("sex", "age", "job")


@pytest.fixture(scope="module")
def shapes(town):
    """The shape of one table in three orders of its variables."""
    dataset = parse_dataset(town.description)
    return {
        order: table_shape(request_from_text("town", rows=order[:1], columns=order[1:]), dataset)
        for order in (NAMES, NAMES[::-1], ("age", "sex", "job"))
    }


def laid_out(cells, order):
    return np.ascontiguousarray(cells.transpose([NAMES.index(name) for name in order]))


def noisy_cells(seed, lengths):
    """A table of small counts with noise: several tables that add up are equally near."""
    return np.random.default_rng(seed).poisson(3, lengths) + np.random.default_rng(seed + 1).integers(
        -2, 3, lengths
    )


@pytest.mark.slow
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
@settings(max_examples=4, deadline=None)
def test_every_layout_of_a_table_is_fitted_to_the_same_numbers(shapes, seed, anchored, impossible):
    lengths = shapes[NAMES].lengths
    cells, nowhere = noisy_cells(seed, lengths), np.zeros(lengths, dtype=bool)
    nowhere[0, 0, 0] = impossible
    kept = np.zeros(lengths, dtype=bool)
    kept[..., -1] = anchored
    found = []
    for order, shape in shapes.items():
        there = Kept(laid_out(kept, order), laid_out(cells, order)) if anchored else None
        shown, said = add_up(
            laid_out(cells, order), shape, "fitted", laid_out(nowhere, order), Protection(), there
        )
        assert additive_structure(shape).holds(shown)
        found.append((shown.transpose([order.index(name) for name in NAMES]).tolist(), said))
    assert all(each == found[0] for each in found)


def test_fitted_as_it_is_laid_out_a_table_has_other_numbers(shapes):
    """The wrong way, which the property above rejects: some table differs by its layout."""
    turned = NAMES[::-1]

    def differs(seed):
        cells = noisy_cells(seed, shapes[NAMES].lengths)
        own, _ = fitted(cells, additive_structure(shapes[NAMES]))
        other, _ = fitted(laid_out(cells, turned), additive_structure(shapes[turned]))
        return (own != other.transpose()).any()

    assert any(differs(seed) for seed in range(10))


def test_axes_stand_by_the_names_of_their_variables(shapes):
    for order, shape in shapes.items():
        axes = TableOrder.of(shape).axes
        assert [order[axis] for axis in axes] == ["age", "job", "sex"]
