"""Variances and covariances of boxes, beside the matrix of the whole linear map."""

import numpy as np
import pytest

from discreet.margins.boxes import covariances, squared_lengths
from discreet.margins.chain import Chain, plain_chain
from discreet.margins.residual_space import ResidualSpace
from discreet.margins.residual_table import laid_out

GEOGRAPHY = Chain(
    (
        np.zeros(3, np.int64),
        np.array([0, 0, 0, 1, 1, 2]),
        np.array([0, 0, 1, 1, 1, 1, 2, 3, 4, 4, 5, 5, 5]),
    )
)
CHAINS = (GEOGRAPHY, plain_chain(2), plain_chain(3))
TABLES = ((3, 1, 0), (2, 0, 1), (0, 1, 1))
SPACE = ResidualSpace(CHAINS, TABLES)
VARIANCES = np.random.default_rng(9).uniform(1, 9, len(SPACE.parts))


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
    found = squared_lengths(CHAINS[0], 3, np.arange(13), labels, 4)
    space = ResidualSpace(CHAINS[:1], ((3,),))
    for level in range(4):
        ones = [float(part == (level,)) for part in space.parts]
        boxes = [[(3, np.flatnonzero(labels == output))] for output in range(4)]
        assert np.allclose(np.diag(covariances(space, ones, boxes)), found[level])
