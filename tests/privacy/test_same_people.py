"""Overlapping cells under "same people, same number": equal to an enumeration of all keys of all groups of people."""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest

from discreet.errors import BadRequest
from discreet.noise import laplace
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy import delta as exact_delta
from discreet.privacy.same_people import same_people

from .conftest import row_of_masses, slow_delta

TINY = NoiseTable(4, (row_of_masses({-1: 1, 0: 2, 1: 1}),))
KEEPS_ZERO = NoiseTable(
    4, (NoiseRow((0,), (4,)), row_of_masses({-1: 1, 0: 2, 1: 1}), row_of_masses({-1: 2, 2: 1, 0: 1}))
)
BOB = "bob"


def release(table, cells, *, present):
    """The joint distribution of some cells: every group of people draws one key, uniformly."""
    groups = [frozenset(cell if present else cell - {BOB}) for cell in cells]
    distinct = sorted(set(groups), key=sorted)
    found = defaultdict(Fraction)
    for keys in product(range(table.modulus), repeat=len(distinct)):
        noise = {
            group: len(group) + look_up(table.row(len(group)), key)
            for group, key in zip(distinct, keys, strict=True)
        }
        found[tuple(noise[group] for group in groups)] += Fraction(1, table.modulus ** len(distinct))
    return dict(found)


def look_up(row, key):
    return next(v for v, threshold in zip(row.values, row.thresholds, strict=True) if key < threshold)


def arrangements(k):
    """Every choice of k cells over three others, with or without Bob; three groups of each size are enough for k = 3."""
    others = [frozenset(who) for who in ("", "a", "b", "c", "ab", "ac", "bc")]
    cells = [(o | {BOB}) if bob else o for o in others for bob in (True, False)]
    return combinations_with_replacement(cells, k)


@pytest.mark.parametrize("table", [TINY, KEEPS_ZERO])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, math.inf])
def test_no_choice_of_cells_shows_more_than_is_stated_and_one_shows_as_much(table, k, epsilon):
    stated = same_people(table, k, epsilon=epsilon)
    assert stated.worst.exact
    at = min(epsilon, 600.0)
    worst = Fraction(0)
    for cells in arrangements(k):
        there, away = (release(table, cells, present=present) for present in (True, False))
        worst = max(worst, slow_delta(there, away, at), slow_delta(away, there, at))
    assert abs(worst - stated.worst.delta) < Fraction(1, 10**25)


def test_a_pair_of_cells_is_certain_proof_with_the_stated_probability():
    cells = [frozenset("ab"), frozenset("ab") | {BOB}]
    there = release(TINY, cells, present=True)
    different = sum(p for (x, y), p in there.items() if x != y)
    away = release(TINY, cells, present=False)
    assert all(x == y for x, y in away)
    assert same_people(TINY, 2, epsilon=1.0).surely == different


def test_the_product_of_independent_cells_is_rejected_as_an_answer():
    """The named wrong alternative: treating the cells of a pair as independent gives a finite epsilon."""
    table = laplace(epsilon=1.0, m=30, modulus=2**64)
    independent = exact_delta(table, epsilon=2.0, cells=2)
    found = same_people(table, 2, epsilon=2.0)
    assert independent < 1e-6
    assert found.different.delta == independent
    assert found.worst.delta > 0.8
    assert math.isinf(same_people(table, 2, delta=0.1).worst.epsilon)


def test_the_number_of_cells_without_a_finite_epsilon_depends_on_the_delta():
    table = laplace(epsilon=1.0, m=10)
    assert same_people(table, 3, delta=1e-4).unbounded_from == 2
    assert same_people(table, 3, delta=1e-9).unbounded_from == 1
    assert same_people(table, 1, delta=1e-4).unbounded_from is None
    assert same_people(table, 3, delta=0.9).unbounded_from is None
    assert same_people(table, 4, delta=0.9).unbounded_from == 4


def test_beyond_the_exact_product_the_figure_is_a_bound_from_above():
    table = NoiseTable(16, tuple(row_of_masses({-2: 1, -1: 4 - n, 0: 6 + n, 1: 4, 2: 1}) for n in range(4)))
    found = same_people(table, 8, epsilon=1.0)
    assert not found.different.exact
    same_counts = exact_delta(NoiseTable(16, (table.rows[-1],)), epsilon=1.0, cells=8)
    assert same_counts <= found.different.delta <= found.worst.delta <= 1


@pytest.mark.parametrize("wish", [{}, {"epsilon": 1.0, "delta": 0.1}])
def test_one_of_epsilon_and_delta_is_needed_and_the_number_of_cells_has_a_range(wish):
    with pytest.raises(BadRequest):
        same_people(TINY, 2, **wish)
    for cells in (0, 17):
        with pytest.raises(BadRequest):
            same_people(TINY, cells, epsilon=1.0)
