"""The cost of a person and the least noise at a cost; residuals as integers, and tables as their linear functions."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from discreet.margins import residual_space as residuals
from discreet.margins.integer_noise import centring_loss
from discreet.margins.margin_set import MarginSet, margin_weights, overall_error
from discreet.margins.optimum import gaussian_optimum
from discreet.margins.residual_space import UNIT, Attribute, ResidualSpace, coarsen, flat_attribute

GEOGRAPHY = Attribute(
    (np.zeros(3, np.int64), np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 1, 1, 2, 3, 4, 4, 5, 5, 5]))
)
ATTRIBUTES = (GEOGRAPHY, flat_attribute(2), flat_attribute(3))
TABLES = ((3, 1, 0), (2, 0, 1), (0, 1, 1))
FINEST = (3, 1, 1)


def moved(space, cell, part):
    """The centred table of one person, written down."""
    table = np.zeros([13, 2, 3])
    table[cell] = 1
    table = coarsen(space, table, FINEST, part)
    for axis, (attribute, level) in enumerate(zip(space.attributes, part, strict=True)):
        table = attribute.centre(table, axis, level)
    return table


def same_district(x, y, level):
    above = GEOGRAPHY.ancestors(3, level)
    return above[x[0]] == above[y[0]]


def dearest(space, variances):
    """The largest cost over all neighbours, one by one."""
    cells = list(product(range(13), range(2), range(3)))
    if space.neighbours == "add-remove":
        changes = [[moved(space, cell, part) for part in space.parts] for cell in cells]
    else:
        alone = {cell: [moved(space, cell, part) for part in space.parts] for cell in cells}
        changes = [
            [a - b for a, b in zip(alone[x], alone[y], strict=True)]
            for x, y in combinations(cells, 2)
            if not space.held or same_district(x, y, space.held[0])
        ]
    return max(
        sum((table**2).sum() / v for table, v in zip(change, variances, strict=True) if v)
        for change in changes
    )


def test_the_cost_is_that_of_the_dearest_person_in_fractions():
    """Wrong alternatives: the mean person, whose claim would be too small, and every largest block at once."""
    space = ResidualSpace(ATTRIBUTES, TABLES)
    variances = np.random.default_rng(3).uniform(1, 9, len(space.parts))
    cost = space.cost([Fraction(v) for v in variances])
    assert isinstance(cost, Fraction)
    assert float(cost) == pytest.approx(dearest(space, variances), rel=1e-12)
    cells = list(product(range(13), range(2), range(3)))
    mean = np.mean(
        [
            sum((moved(space, c, p) ** 2).sum() / v for p, v in zip(space.parts, variances, strict=True))
            for c in cells
        ]
    )
    assert mean < float(cost)


def test_a_replaced_person_costs_no_more_than_is_counted():
    space = ResidualSpace(ATTRIBUTES, TABLES, "replace-one")
    variances = np.random.default_rng(4).uniform(1, 9, len(space.parts))
    variances[0] = 0  # the total never changes
    assert space.free.tolist() == [True] + [False] * (len(space.parts) - 1)
    counted, true = float(space.cost([Fraction(v) for v in variances])), dearest(space, variances)
    assert true <= counted <= 1.2 * true


@pytest.mark.parametrize("held", [1, 2])
def test_an_invariant_level_is_free_and_all_else_costs_what_a_change_within_it_moves(held):
    """Wrong alternative: the level is free though persons may leave it."""
    space = ResidualSpace(ATTRIBUTES, TABLES, "replace-one", (held, 0, 0))
    free = [part for part, own in zip(space.parts, space.free, strict=True) if own]
    assert free == [(level, 0, 0) for level in range(held + 1)]
    variances = np.where(space.free, 0, np.random.default_rng(8).uniform(1, 9, len(space.parts)))
    counted, true = float(space.cost([Fraction(v) for v in variances])), dearest(space, variances)
    assert true * (1 - 1e-12) <= counted <= (1.2 if held == 1 else 1 + 1e-12) * true
    anywhere = ResidualSpace(ATTRIBUTES, TABLES, "replace-one")
    assert not anywhere.free[space.parts.index((held, 0, 0))]


def test_many_attributes_are_bounded_from_above_and_a_held_level_stays_free():
    """Eleven attributes have 2^11 kinds of change: too many, so some are taken together."""
    attributes = (GEOGRAPHY, *(flat_attribute(2) for _ in range(10)))
    tables = ((3, *[0] * 10), *((1, *(int(j == i) for j in range(10))) for i in range(10)))
    space = ResidualSpace(attributes, tables, "replace-one", (2, *[0] * 10))
    assert len(space.costs) <= residuals.MOST_PATHS
    assert [p[0] for p, own in zip(space.parts, space.free, strict=True) if own] == [0, 1, 2]
    few = ResidualSpace(attributes[:3], tuple(t[:3] for t in tables[:3]), "replace-one", (2, 0, 0))
    at = [space.parts.index((*part, *[0] * 8)) for part in few.parts]
    assert max(sum(row[place] for place in at) for row in space.costs) >= max(map(sum, few.costs))


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_without_levels_it_is_the_gaussian_optimum(neighbours):
    shape = (11, 2, 5, 4)
    wanted = MarginSet(tuple("ABCD"), shape, tuple(combinations(range(4), 2)))
    plan = gaussian_optimum(wanted, 1.0, 1e-6, neighbours=neighbours)
    tables = tuple(tuple(int(j in margin) for j in range(4)) for margin in wanted.margins)
    space = ResidualSpace(tuple(map(flat_attribute, shape)), tables, neighbours)
    weights = margin_weights(wanted)
    found = space.shares() @ space.optimum(weights) / plan.mu**2
    error = float(weights @ np.sqrt(2 / np.pi * found))
    assert error <= overall_error(plan) * (1 + 1e-6)
    assert error == pytest.approx(overall_error(plan), rel=2e-3)


def test_no_change_of_variances_at_the_same_cost_is_better():
    """Wrong alternative: equal variances, which cost the same and have a larger error."""
    space = ResidualSpace(ATTRIBUTES, TABLES)
    weights, shares = np.ones(3) / 3, space.shares()
    rows = np.array([[float(c) for c in row] for row in space.costs])

    def error(variances):
        return weights @ np.sqrt(shares @ (variances * (rows @ (1 / variances)).max()))

    best = space.optimum(weights)
    assert (rows @ (1 / best)).max() == pytest.approx(1)
    rng = np.random.default_rng(6)
    assert all(
        error(best * np.exp(rng.normal(0, 0.05, best.size))) >= error(best) * (1 - 1e-5) for _ in range(200)
    )
    assert error(np.ones(best.size)) > 1.02 * error(best)


#: Three regions of 3, 2 and 1 districts; areas in blocks of 2, 3, 2, 1, 3 and 3, listed in no order.
REGION = np.zeros(3, np.int64)
DISTRICT = np.array([0, 1, 0, 2, 1, 0])
AREA = np.array([5, 0, 1, 1, 3, 2, 0, 4, 4, 2, 5, 4, 5, 1])
ATTRIBUTE = Attribute((REGION, DISTRICT, AREA))


def block_matrix(level):
    """I minus the mean of the block, written down."""
    parent = ATTRIBUTE.parents[level - 1]
    same = parent[:, None] == parent
    return np.eye(parent.size) - same / same.sum(axis=1)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_centring_is_the_projection_within_blocks(level):
    table = np.random.default_rng(1).normal(size=(4, ATTRIBUTE.size(level)))
    assert np.allclose(ATTRIBUTE.centre(table, 1, level), table @ block_matrix(level).T)
    whole = np.round(100 * table).astype(np.int64)
    kept = ATTRIBUTE.from_first(whole, 1, level)
    assert kept.dtype == np.int64
    assert np.allclose(
        ATTRIBUTE.centre(kept.astype(float), 1, level), ATTRIBUTE.centre(whole.astype(float), 1, level)
    )


def test_what_is_kept_does_not_tell_what_centring_removes():
    """Wrong alternative: to keep the whole numbers as they are. Another mean of a block must leave no trace."""
    table = np.arange(14)
    raised = table + np.array([10, 0, 0, 7, 0, 0])[AREA]
    assert (ATTRIBUTE.from_first(table, 0, 3) == ATTRIBUTE.from_first(raised, 0, 3)).all()
    assert (table != raised).any()


def test_a_count_is_its_own_part_and_shares_of_those_above():
    counts = np.random.default_rng(2).integers(0, 99, 14).astype(float)
    tables = [counts]
    for level in (3, 2, 1):
        tables.insert(0, ATTRIBUTE.sum_up(tables[0], 0, level))
    made = sum(ATTRIBUTE.spread(ATTRIBUTE.centre(tables[level], 0, level), 0, level, 3) for level in range(4))
    assert np.allclose(made, counts)


def test_the_dearest_paths_are_those_that_no_other_beats():
    """Wrong alternative: one path with the largest block of every level, where no person has all of them."""
    paths = set(ATTRIBUTE.paths)
    everyone = {
        (
            Fraction(1),
            Fraction(2, 3),
            1 - Fraction(1, int((DISTRICT[d] == DISTRICT).sum())),
            1 - Fraction(1, int((d == AREA).sum())),
        )
        for d in AREA
    }
    for person in everyone:
        assert any(all(p <= q for p, q in zip(person, path, strict=True)) for path in paths)
    assert paths <= everyone
    assert flat_attribute(5).paths == ((Fraction(1), Fraction(4, 5)),)


SPACE = ResidualSpace(ATTRIBUTES, TABLES)
VARIANCES = np.random.default_rng(9).uniform(1, 9, len(SPACE.parts))


@pytest.fixture(scope="module")
def stored():
    """Every part with noise on its whole numbers, and the tables without."""
    rng = np.random.default_rng(7)
    full = rng.integers(0, 40, (13, 2, 3))
    counted = {table: coarsen(SPACE, full, FINEST, table) for table in TABLES}
    found = {}
    for part, table in residuals.part_tables(SPACE, counted):
        assert (table == coarsen(SPACE, full, FINEST, part)).all()
        found[part] = 7, residuals.differences(SPACE, 7 * table + rng.integers(-50, 51, table.shape), part)
    assert found.keys() == set(SPACE.parts)
    return found


def test_without_noise_every_table_is_exact(stored):
    full = np.random.default_rng(8).integers(0, 40, (13, 2, 3))
    exact = {
        part: (3, residuals.differences(SPACE, 3 * coarsen(SPACE, full, FINEST, part), part))
        for part in SPACE.parts
    }
    for table in SPACE.parts:
        assert (
            residuals.table_values(SPACE, table, exact.__getitem__)
            == UNIT * coarsen(SPACE, full, FINEST, table)
        ).all()


def test_all_tables_agree(stored):
    """A coarser table is the sum of a finer one, to the steps of its cells; wrong alternative: rounding before adding."""
    values = {table: residuals.table_values(SPACE, table, stored.__getitem__) for table in SPACE.parts}
    missed = []
    for fine, coarse in product(SPACE.parts, repeat=2):
        if fine != coarse and all(a >= b for a, b in zip(fine, coarse, strict=True)):
            added = coarsen(SPACE, values[fine], fine, coarse)
            assert np.abs(added - values[coarse]).max() <= SPACE.cells(fine)
            rounded = coarsen(SPACE, np.rint(values[fine] / UNIT).astype(np.int64), fine, coarse)
            missed.append(np.abs(rounded - np.rint(values[coarse] / UNIT)).max())
    assert max(missed) >= 1


def test_the_lattice_loss_of_a_part_is_that_of_its_largest_blocks():
    """`test_optimum.py` bounds the loss of a block by enumeration; here are the blocks and lines of 6 x 2 cells."""
    found = residuals.lattice_loss(SPACE, (2, 1, 0), 0.7)
    assert found == pytest.approx(centring_loss(0.7, [(3, 3 * 2), (2, 6)]))


def covariance_matrix(table):
    """Of all cells of a table, from the noise of every part, one cell after the other."""
    total = np.zeros((SPACE.cells(table),) * 2)
    for part, variance in zip(SPACE.parts, VARIANCES, strict=True):
        if all(a <= b for a, b in zip(part, table, strict=True)):
            units = np.eye(SPACE.cells(part)).reshape(-1, *SPACE.shape(part))
            linear = np.stack(
                [residuals.laid_out(SPACE, unit, part, table).ravel() for unit in units], axis=1
            )
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
    found = residuals.covariances(SPACE, VARIANCES.tolist(), boxes)
    assert np.allclose(found, wanted)
    independent = np.diag(np.diag(wanted))  # wrong alternative: cells with noise of their own
    assert not np.allclose(found, independent)


def test_mean_shares_are_mean_variances():
    for row, table in zip(SPACE.shares(), TABLES, strict=True):
        assert row @ VARIANCES == pytest.approx(np.diag(covariance_matrix(table)).mean())


def test_squared_lengths_are_the_diagonal():
    labels = np.random.default_rng(11).integers(0, 4, 13)
    found = residuals.norms_squared(ATTRIBUTES[0], 3, np.arange(13), labels, 4)
    space = ResidualSpace(ATTRIBUTES[:1], ((3,),))
    for level in range(4):
        ones = [float(part == (level,)) for part in space.parts]
        boxes = [[(3, np.flatnonzero(labels == output))] for output in range(4)]
        assert np.allclose(np.diag(residuals.covariances(space, ones, boxes)), found[level])
