from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.assess.entropy_risk import conditional_entropy, entropy, risk
from discreet.assess.losses import hellinger
from discreet.noise import dropadd, laplace

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "assessment.json").read_text("utf-8"))
#: Of each of the six comparisons with the independent simulation.
FALSE_ALARM = 1e-4
Z = 3.9
TABLES = 500


def slow_conditional_entropy(a, b):
    """Formula 4 of Antal et al. (2014), cell by cell, as printed in Shlomo et al. (2019)."""
    n, m = sum(a), sum(b)
    a, b = [x * m for x in a], [x * n for x in b]
    total, least = n * m, [min(x, y) for x, y in zip(a, b, strict=True)]

    def log(x):
        return math.log(x) if x > 0 else 0.0

    found = 0.0
    for x, y, both in zip(a, b, least, strict=True):
        found -= both / total * log(both / y if y else 0)
        left = total - sum(least)
        found -= (x - both) / total * log((x - both) / left if left else 0)
        found -= (y - both) / total * log((y - both) / y if y else 0)
    return found


def test_rm_is_worked_by_hand():
    """a = (2, 2), b = (3, 1): H(a) = ln 2, H(a|b) = 1/2 ln 3/2 + 1/4 ln 3."""
    given_b = 0.5 * math.log(1.5) + 0.25 * math.log(3)
    assert conditional_entropy(np.array([2, 2]), np.array([[3, 1]])) == pytest.approx([given_b])
    assert risk(np.array([2, 2]), np.array([[3, 1]])) == pytest.approx([1 - given_b / math.log(2)])


def test_totals_are_brought_together_by_hand():
    """a = (1, 1), b = (2, 1) become (3, 3) and (4, 2), N = 6; the minima are (3, 2)."""
    given_b = -(3 / 6 * math.log(3 / 4) + 2 / 6 * math.log(1) + 1 / 6 * math.log(1) + 1 / 6 * math.log(1 / 4))
    assert conditional_entropy(np.array([1, 1]), np.array([[2, 1]])) == pytest.approx([given_b])


def test_the_entropy_of_a_uniform_table_is_the_log_of_its_cells():
    assert entropy(np.full(8, 5)) == pytest.approx(math.log(8))


cells = st.lists(st.integers(0, 60), min_size=2, max_size=9).filter(lambda t: sum(map(bool, t)) > 1)


@given(cells, st.data())
def test_the_batch_agrees_with_the_formula_cell_by_cell(a, data):
    b = data.draw(st.lists(st.integers(0, 60), min_size=len(a), max_size=len(a)).filter(any))
    assert conditional_entropy(np.array(a), np.array([b]))[0] == pytest.approx(
        slow_conditional_entropy(a, b), abs=1e-10
    )


@given(cells, st.integers(1, 9))
def test_a_scaled_table_gives_everything_away_so_rm_of_one_is_not_equality(a, times):
    assert risk(np.array(a), np.array([a]) * times)[0] == pytest.approx(1)


def test_an_empty_release_tells_nothing_and_one_cell_has_nothing_to_tell():
    assert risk(np.array([3, 4]), np.array([[0, 0], [-2, 0]])).tolist() == [0, 0]
    assert np.isnan(risk(np.array([5, 0]), np.array([[4, 1]]))).all()


def sample_tables(tables, seed):
    """Shlomo et al., section 3.4, steps 1 to 4, independent attributes, effects on (-1, 1)."""
    rng = np.random.default_rng(seed)
    alpha, beta = rng.uniform(-1, 1, (tables, 7, 1)), rng.uniform(-1, 1, (tables, 1, 7))
    population = rng.poisson(np.exp(6.5 + alpha + beta + 0.02 * rng.uniform(-1, 1, (tables, 7, 7))))
    return np.round(population / rng.uniform(20, 40, population.shape)).astype(np.int64).reshape(tables, -1)


@pytest.mark.parametrize(("name", "noise"), [("DP", laplace(epsilon=2.0, m=7)), ("Q", dropadd())])
def test_percent_perturbed_hellinger_and_rm_agree_with_an_independent_simulation(name, noise):
    """The oracle's own error (2,000 tables) and ours (500 tables) add up."""
    rng = np.random.default_rng(19)
    found = {"pct": [], "HD": [], "RM": []}
    for true in sample_tables(TABLES, seed=2019):
        keys = rng.integers(0, noise.modulus, true.shape, dtype=np.uint64)
        released = np.maximum(true + noise.noise(true, keys), 0)
        found["pct"].append(100 * (released != true).mean())
        found["HD"].append(hellinger(true, released[None])[0])
        found["RM"].append(risk(true, released[None])[0])
    expected = ORACLE["shlomo_simulation"]
    for measure, values in found.items():
        allowed = Z * expected["se500"][name][measure] * math.sqrt(1 + 500 / 2000)
        assert abs(np.mean(values) - expected[name][measure]) < allowed
        other = "Q" if name == "DP" else "DP"
        assert abs(np.mean(values) - expected[other][measure]) > allowed  # the wrong mechanism is told apart
