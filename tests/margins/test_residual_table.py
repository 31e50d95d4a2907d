"""Residuals as whole numbers, and tables as their linear functions."""

import math
from itertools import product

import numpy as np
import pytest

from discreet.margins.chain import Chain, plain_chain
from discreet.margins.residual_basis import lattice_loss as plain_lattice_loss
from discreet.margins.residual_space import ResidualSpace
from discreet.margins.residual_table import (
    UNIT,
    added_up,
    differences,
    lattice_loss,
    part_tables,
    table_values,
)

GEOGRAPHY = Chain(
    (
        np.zeros(3, np.int64),
        np.array([0, 0, 0, 1, 1, 2]),
        np.array([0, 0, 1, 1, 1, 1, 2, 3, 4, 4, 5, 5, 5]),
    )
)
CHAINS = (GEOGRAPHY, plain_chain(2), plain_chain(3))
TABLES = ((3, 1, 0), (2, 0, 1), (0, 1, 1))
FINEST = (3, 1, 1)
SPACE = ResidualSpace(CHAINS, TABLES)


@pytest.fixture(scope="module")
def stored():
    """Every part with noise on its whole numbers, and the tables without."""
    rng = np.random.default_rng(7)
    full = rng.integers(0, 40, (13, 2, 3))
    counted = {table: added_up(SPACE, full, FINEST, table) for table in TABLES}
    found = {}
    for part, table in part_tables(SPACE, counted):
        assert (table == added_up(SPACE, full, FINEST, part)).all()
        found[part] = 7, differences(SPACE, 7 * table + rng.integers(-50, 51, table.shape), part)
    assert found.keys() == set(SPACE.parts)
    return found


def test_without_noise_every_table_is_exact(stored):
    full = np.random.default_rng(8).integers(0, 40, (13, 2, 3))
    exact = {
        part: (3, differences(SPACE, 3 * added_up(SPACE, full, FINEST, part), part)) for part in SPACE.parts
    }
    for table in SPACE.parts:
        assert (
            table_values(SPACE, table, exact.__getitem__) == UNIT * added_up(SPACE, full, FINEST, table)
        ).all()


def test_all_tables_agree(stored):
    """A coarser table is the sum of a finer one, to the steps of its cells; wrong alternative: rounding before adding."""
    values = {table: table_values(SPACE, table, stored.__getitem__) for table in SPACE.parts}
    missed = []
    for fine, coarse in product(SPACE.parts, repeat=2):
        if fine != coarse and all(a >= b for a, b in zip(fine, coarse, strict=True)):
            added = added_up(SPACE, values[fine], fine, coarse)
            assert np.abs(added - values[coarse]).max() <= SPACE.cells(fine)
            rounded = added_up(SPACE, np.rint(values[fine] / UNIT).astype(np.int64), fine, coarse)
            missed.append(np.abs(rounded - np.rint(values[coarse] / UNIT)).max())
    assert max(missed) >= 1


def test_the_lattices_of_plain_tables_are_those_of_the_residual_basis():
    space = ResidualSpace((plain_chain(21), plain_chain(12)), ((1, 1),))
    for spread in (1.0, 2.0, 5.0):
        assert lattice_loss(space, (1, 1), spread) == plain_lattice_loss((21, 12), spread)
    assert lattice_loss(space, (0, 0), 0.1) == 0


def exact_ratio(chain, spread, shift):
    """The largest |log P/Q| less the Gaussian loss, over all kept differences of two categories in a block of three."""
    reach = range(-12, 13)
    law = {z: math.exp(-(z**2) / (2 * spread**2)) for z in range(-40, 41)}
    worst = 0.0
    for b, c in product(reach, reach):
        p, q = (
            sum(law.get(t - s, 0) * law.get(t + b, 0) * law.get(t + c, 0) for t in range(-40, 41))
            for s in (0, shift)
        )
        y = np.array([0.0, b, c])
        y0, y1 = y - y.mean(), y - np.array([shift, 0, 0]) - (y - np.array([shift, 0, 0])).mean()
        gaussian = ((y1**2).sum() - (y0**2).sum()) / (2 * spread**2)
        worst = max(worst, abs(math.log(p / q) - gaussian))
    return worst


@pytest.mark.parametrize("spread", [0.6, 0.8])
def test_what_whole_numbers_tell_beyond_the_gaussian_law_is_bounded(spread):
    """By summing up the law of what is kept. Wrong alternative: that nothing is told, which small spreads refute."""
    chain = Chain((np.zeros(3, np.int64),))
    found = exact_ratio(chain, spread, 1)
    bound = lattice_loss(ResidualSpace((chain,), ((1,),)), (1,), spread)
    assert found <= bound
    assert found > 1e-4
