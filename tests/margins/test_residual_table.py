"""Residuals as whole numbers, and tables as their linear functions.

Variances and covariances of boxes, beside the matrix of the whole linear map.
"""

import math
from itertools import product

import numpy as np
import pytest

from discreet.margins.residual_space import (
    UNIT,
    Attribute,
    ResidualSpace,
    coarsen,
    covariances,
    differences,
    laid_out,
    lattice_loss,
    norms_squared,
    part_tables,
    table_values,
)

from .test_residual_space import ATTRIBUTES, FINEST, TABLES

SPACE = ResidualSpace(ATTRIBUTES, TABLES)
VARIANCES = np.random.default_rng(9).uniform(1, 9, len(SPACE.parts))


@pytest.fixture(scope="module")
def stored():
    """Every part with noise on its whole numbers, and the tables without."""
    rng = np.random.default_rng(7)
    full = rng.integers(0, 40, (13, 2, 3))
    counted = {table: coarsen(SPACE, full, FINEST, table) for table in TABLES}
    found = {}
    for part, table in part_tables(SPACE, counted):
        assert (table == coarsen(SPACE, full, FINEST, part)).all()
        found[part] = 7, differences(SPACE, 7 * table + rng.integers(-50, 51, table.shape), part)
    assert found.keys() == set(SPACE.parts)
    return found


def test_without_noise_every_table_is_exact(stored):
    full = np.random.default_rng(8).integers(0, 40, (13, 2, 3))
    exact = {
        part: (3, differences(SPACE, 3 * coarsen(SPACE, full, FINEST, part), part)) for part in SPACE.parts
    }
    for table in SPACE.parts:
        assert (
            table_values(SPACE, table, exact.__getitem__) == UNIT * coarsen(SPACE, full, FINEST, table)
        ).all()


def test_all_tables_agree(stored):
    """A coarser table is the sum of a finer one, to the steps of its cells; wrong alternative: rounding before adding."""
    values = {table: table_values(SPACE, table, stored.__getitem__) for table in SPACE.parts}
    missed = []
    for fine, coarse in product(SPACE.parts, repeat=2):
        if fine != coarse and all(a >= b for a, b in zip(fine, coarse, strict=True)):
            added = coarsen(SPACE, values[fine], fine, coarse)
            assert np.abs(added - values[coarse]).max() <= SPACE.cells(fine)
            rounded = coarsen(SPACE, np.rint(values[fine] / UNIT).astype(np.int64), fine, coarse)
            missed.append(np.abs(rounded - np.rint(values[coarse] / UNIT)).max())
    assert max(missed) >= 1


def exact_ratio(attribute, spread, shift):
    """The largest |log P/Q| less the Gaussian loss, over all kept differences of two categories in a block of three."""
    reach = range(-12, 13)
    distribution = {z: math.exp(-(z**2) / (2 * spread**2)) for z in range(-40, 41)}
    worst = 0.0
    for b, c in product(reach, reach):
        p, q = (
            sum(
                distribution.get(t - s, 0) * distribution.get(t + b, 0) * distribution.get(t + c, 0)
                for t in range(-40, 41)
            )
            for s in (0, shift)
        )
        y = np.array([0.0, b, c])
        y0, y1 = y - y.mean(), y - np.array([shift, 0, 0]) - (y - np.array([shift, 0, 0])).mean()
        gaussian = ((y1**2).sum() - (y0**2).sum()) / (2 * spread**2)
        worst = max(worst, abs(math.log(p / q) - gaussian))
    return worst


@pytest.mark.parametrize("spread", [0.6, 0.8])
def test_what_whole_numbers_tell_beyond_the_gaussian_distribution_is_bounded(spread):
    """By summing the distribution of what is kept. Wrong alternative: nothing is told, which small spreads refute."""
    attribute = Attribute((np.zeros(3, np.int64),))
    found = exact_ratio(attribute, spread, 1)
    bound = lattice_loss(ResidualSpace((attribute,), ((1,),)), (1,), spread)
    assert found <= bound
    assert found > 1e-4


def covariance_matrix(table):
    """Of all cells of a table, from the noise of every part, one cell after the other."""
    total = np.zeros((SPACE.cells(table),) * 2)
    for part, variance in zip(SPACE.parts, VARIANCES, strict=True):
        if all(a <= b for a, b in zip(part, table, strict=True)):
            units = np.eye(SPACE.cells(part)).reshape(-1, *SPACE.shape(part))
            linear = np.stack([laid_out(SPACE, unit, part, table).ravel() for unit in units], axis=1)
            total += variance * linear @ linear.T
    return total


def test_covariances_of_boxes_are_those_of_the_linear_map():
    rng = np.random.default_rng(10)
    table = (3, 1, 0)
    boxes, indicators = [], []
    for _ in range(15):
        areas, sexes = (
            rng.choice(13, rng.integers(1, 9), replace=False),
            rng.choice(2, rng.integers(1, 3), replace=False),
        )
        boxes.append([(3, areas), (1, sexes), (0, np.zeros(1, np.int64))])
        indicator = np.zeros(SPACE.shape(table))
        indicator[np.ix_(areas, sexes)] = 1
        indicators.append(indicator.ravel())
    wanted = np.array(indicators) @ covariance_matrix(table) @ np.array(indicators).T
    found = covariances(SPACE, VARIANCES.tolist(), boxes)
    assert np.allclose(found, wanted)
    independent = np.diag(np.diag(wanted))  # wrong alternative: cells with noise of their own
    assert not np.allclose(found, independent)


def test_mean_shares_are_mean_variances():
    for row, table in zip(SPACE.shares(), TABLES, strict=True):
        assert row @ VARIANCES == pytest.approx(np.diag(covariance_matrix(table)).mean())


def test_squared_lengths_are_the_diagonal():
    labels = np.random.default_rng(11).integers(0, 4, 13)
    found = norms_squared(ATTRIBUTES[0], 3, np.arange(13), labels, 4)
    space = ResidualSpace(ATTRIBUTES[:1], ((3,),))
    for level in range(4):
        ones = [float(part == (level,)) for part in space.parts]
        boxes = [[(3, np.flatnonzero(labels == output))] for output in range(4)]
        assert np.allclose(np.diag(covariances(space, ones, boxes)), found[level])
