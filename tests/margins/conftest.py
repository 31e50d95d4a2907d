import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.optimize import linprog

from discreet.margins.bases import EfronSteinTransform, FourierTransform
from discreet.margins.margin_set import MarginSet, parse_margins
from discreet.margins.sensitivity import PAPER_TABLES, paper_table

#: A right mechanism or formula fails its test with a chance of 1e-6, for each fixed seed.
Z = 4.9


@pytest.fixture(scope="session")
def papers():
    """Name to (table, margins of its model)."""
    found = {}
    for name, model in PAPER_TABLES.items():
        table = paper_table(name)
        found[name] = (table, parse_margins(model, table.names, table.shape))
    return found


@st.composite
def margin_sets(draw, *, variables=(2, 4), categories=(2, 4), cells=200):
    """Random small shapes with random margins."""
    count = draw(st.integers(*variables))
    shape = draw(st.tuples(*[st.integers(*categories)] * count).filter(lambda s: math.prod(s) <= cells))
    everything = [m for r in range(1, count + 1) for m in combinations(range(count), r)]
    margins = draw(st.lists(st.sampled_from(everything), min_size=1, max_size=4, unique=True))
    return MarginSet(tuple("ABCDE"[:count]), shape, tuple(margins))


def random_counts(wanted, seed=0):
    return np.random.default_rng(seed).poisson(5.0, wanted.shape)


def summing_matrix(wanted, margin):
    """C^α of eq. 1, written down: one row a margin cell, one column a table cell."""
    rows = np.zeros((wanted.cells(margin), wanted.table_cells))
    for flat, cell in enumerate(np.ndindex(*wanted.shape)):
        place = np.ravel_multi_index([cell[j] for j in margin], wanted.margin_shape(margin)) if margin else 0
        rows[place, flat] = 1
    return rows


def efron_stein_vectors(wanted, part):
    """f^{S,x} of eq. 5 for every x_S, written down from conditional expectations."""
    cells = list(np.ndindex(*wanted.shape))
    rows = []
    for x in np.ndindex(*wanted.margin_shape(part)):
        here = dict(zip(part, x, strict=True))
        row = np.zeros(len(cells))
        for r in range(len(part) + 1):
            for inner in combinations(part, r):
                match = np.array([all(cell[j] == here[j] for j in inner) for cell in cells], dtype=float)
                row += (-1) ** (len(part) - r) * match / match.sum()
        rows.append(row)
    return np.array(rows)


def character(wanted, part):
    """χ^S written down."""
    signs = [(-1) ** sum(cell[j] for j in part) for cell in np.ndindex(*wanted.shape)]
    return np.array(signs) / math.sqrt(wanted.table_cells)


def slow_deviation(matrix, noisy):
    """The paper's program with its dense matrix."""
    rows, cells = matrix.shape
    ones = np.ones((rows, 1))
    solved = linprog(
        np.r_[np.zeros(cells), 1.0],
        A_ub=np.block([[matrix, -ones], [-matrix, -ones]]),
        b_ub=np.r_[noisy, -noisy],
        bounds=(0, None),
    )
    return solved.x[-1], solved.x[:-1]


def transform_of(wanted, fourier):
    """A transform of some margins; the Fourier one of variables with two categories."""
    if fourier:
        return FourierTransform(MarginSet(wanted.names, (2,) * len(wanted.shape), wanted.margins))
    return EfronSteinTransform(wanted)


def problem(wanted, fourier, seed, noise=2.0):
    transform = transform_of(wanted, fourier)
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.5, 4, transform.wanted.shape)).astype(float)
    exact = transform.forward(counts)
    return transform, exact + rng.laplace(0, noise * np.abs(exact).max() / 10 + 0.1, exact.shape)
