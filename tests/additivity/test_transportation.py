from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, linprog, milp

from discreet.additivity.transportation import ZERO, transport

OPTIONS = settings(max_examples=80, deadline=None)


@st.composite
def problems(draw, most: int = 6, largest: int = 9):
    """A wish and the sums of another table, so that the sums can be met."""
    shape = draw(st.integers(1, most)), draw(st.integers(1, most))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    possible = random.random(shape) < draw(st.sampled_from([0.6, 1.0]))
    wish, other = (np.where(possible, random.integers(0, largest, shape) // 2, 0) for _ in range(2))
    return wish, other.sum(axis=1), other.sum(axis=0), possible


def sums(shape: tuple[int, int]) -> np.ndarray:
    rows = np.kron(np.eye(shape[0]), np.ones(shape[1]))
    return np.vstack([rows, np.kron(np.ones(shape[0]), np.eye(shape[1]))])


def least_cost_by_highs(wish, rows, columns, possible, *, keep_zeros: bool) -> float:
    """The transportation problem as a linear program, solved by HiGHS."""
    matrix = sums(wish.shape)
    rise = np.where((wish > 0) | (not keep_zeros), 1, ZERO).ravel()
    lack = np.concatenate([rows, columns]) - matrix @ wish.ravel()
    limits = [(0, None if open_ else 0) for open_ in possible.ravel()] + [(0, w) for w in wish.ravel()]
    cost = np.concatenate([rise, np.ones(wish.size)])
    return linprog(cost, A_eq=np.hstack([matrix, -matrix]), b_eq=lack, bounds=limits, method="highs").fun


def cost(cells, wish, *, keep_zeros: bool) -> int:
    rise = np.where((wish > 0) | (not keep_zeros), 1, ZERO)
    return int(np.where(cells > wish, rise * (cells - wish), wish - cells).sum())


@given(problems(), st.booleans())
@OPTIONS
def test_the_change_is_the_least_that_highs_finds(problem, keep_zeros):
    wish, rows, columns, possible = problem
    found = transport(wish, rows, columns, possible, keep_zeros=keep_zeros)
    assert (found.cells.sum(axis=1) == rows).all()
    assert (found.cells.sum(axis=0) == columns).all()
    assert (found.cells >= 0).all()
    assert not found.cells[~possible].any()
    assert found.met
    assert found.optimal
    least = least_cost_by_highs(wish, rows, columns, possible, keep_zeros=keep_zeros)
    assert abs(cost(found.cells, wish, keep_zeros=keep_zeros) - least) < 1e-6


@pytest.mark.slow
@given(problems(most=2, largest=7))
@OPTIONS
def test_no_table_of_two_by_two_is_nearer(problem):
    wish, rows, columns, possible = problem
    found = transport(wish, rows, columns, possible, keep_zeros=False)
    nearest = min(
        int(np.abs(np.reshape(cells, wish.shape) - wish).sum())
        for cells in product(range(7), repeat=wish.size)
        if not np.reshape(cells, wish.shape)[~possible].any()
        and (np.reshape(cells, wish.shape).sum(axis=1) == rows).all()
        and (np.reshape(cells, wish.shape).sum(axis=0) == columns).all()
    )
    assert np.abs(found.cells - wish).sum() == nearest


def test_an_integer_program_agrees_on_a_table_where_zeros_stand_in_the_way():
    random = np.random.default_rng(8)
    wish, other = random.poisson(0.4, (8, 8)), random.poisson(0.4, (8, 8))
    found = transport(wish, other.sum(axis=1), other.sum(axis=0), wish >= 0, keep_zeros=True)
    assert found.paths > 0
    matrix = sums(wish.shape)
    lack = matrix @ (other - wish).ravel()
    rise = np.where(wish > 0, 1, ZERO).ravel()
    solved = milp(
        np.concatenate([rise, np.ones(64)]),
        constraints=LinearConstraint(np.hstack([matrix, -matrix]), lack, lack),
        integrality=np.ones(128),
        bounds=_bounds(wish),
    )
    assert cost(found.cells, wish, keep_zeros=True) == round(solved.fun)


def _bounds(wish):
    from scipy.optimize import Bounds

    return Bounds(0, np.concatenate([np.full(wish.size, np.inf), wish.ravel()]))


def test_sums_that_structural_zeros_forbid_are_missed_and_said_to_be():
    wish = np.array([[3, 0], [0, 3]])
    found = transport(wish, np.array([4, 2]), np.array([2, 4]), np.eye(2, dtype=bool), keep_zeros=True)
    assert not found.met
    assert not found.optimal
    assert not found.cells[~np.eye(2, dtype=bool)].any()


def test_of_equal_changes_large_cells_change_before_small_ones():
    wish = np.array([[9, 2, 5], [1, 1, 1]])
    found = transport(wish, np.array([17, 2]), np.array([10, 3, 6]), wish >= 0, keep_zeros=True)
    assert np.abs(found.cells - wish).sum() == 2
    assert found.cells.min() >= 0
