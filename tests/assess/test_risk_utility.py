from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.assess import risk_utility as losses
from discreet.assess.risk_utility import (
    SMALL,
    conditional_entropy,
    exact_expectations,
    hellinger,
    risk,
)
from discreet.assess.simulation import simulate
from discreet.assess.subject import Subject
from discreet.noise import dropadd, gaussian, laplace, maxent, normal, pram
from discreet.noise.table import NoiseRow, NoiseTable, keep_zero

TRUE = np.array([0, 1, 4, 100])
RELEASED = np.array([[4, 0, 9, 144], [0, 1, 4, 100], [0, 3, 0, 81]])


def test_the_losses_are_those_worked_by_hand():
    assert losses.l1(TRUE, RELEASED).tolist() == [4 + 1 + 5 + 44, 0, 2 + 4 + 19]
    assert losses.l2(TRUE, RELEASED).tolist() == [16 + 1 + 25 + 44**2, 0, 4 + 16 + 361]
    assert losses.l3(TRUE, RELEASED) == pytest.approx([2 + 1 + 1 + 2, 0, math.sqrt(3) - 1 + 2 + 1])
    squares = [2**2 + 1 + 1 + 2**2, 0, (math.sqrt(3) - 1) ** 2 + 4 + 1]
    assert losses.hellinger(TRUE, RELEASED) == pytest.approx([math.sqrt(each / 2) for each in squares])


def test_roots_take_negative_counts_as_zero_and_plain_differences_do_not():
    true, released = np.array([4]), np.array([[-3]])
    assert losses.l1(true, released) == 7
    assert losses.l3(true, released) == 2
    assert losses.hellinger(true, released) == pytest.approx(math.sqrt(2))


tables = st.lists(st.integers(0, 500), min_size=1, max_size=12)


@given(tables, st.data())
def test_losses_vanish_only_on_equal_tables_and_do_not_depend_on_the_order_of_cells(true, data):
    released = data.draw(st.lists(st.integers(0, 500), min_size=len(true), max_size=len(true)))
    order = data.draw(st.permutations(range(len(true))))
    a, b = np.array(true), np.array(released)
    for loss in (losses.l1, losses.l2, losses.l3, losses.hellinger):
        here = loss(a, b[None])[0]
        assert (here == 0) == (true == released)
        assert loss(a[list(order)], b[list(order)][None])[0] == pytest.approx(here)


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


TABLE_1 = np.array(ORACLE["rinott_table1"]["counts"])
SUBJECT = Subject(TABLE_1[None], np.ones((1, *TABLE_1.shape), dtype=bool))
#: Of each comparison of a mean; there are some thirty.
FALSE_ALARM_EXPECTATION = 1e-5
Z_EXPECTATION = 4.4
REPS = 400
NOISES = {
    "laplace": lambda: laplace(epsilon=0.5, m=7),
    "normal": lambda: normal(epsilon=1.0, m=10),
    "maxent": lambda: maxent(D=5, V=3, js=2),
    "pram": pram,
    "dropadd": dropadd,
    "gaussian": lambda: gaussian(V=4),
    "laplace, zeros kept": lambda: keep_zero(laplace(epsilon=1.0, m=9)),
}
HALF = NoiseTable(4, (NoiseRow((-1, 0, 1), (1, 3, 4)),))


@pytest.fixture(scope="module", params=NOISES)
def noise(request):
    """Every noise, built when a test first asks for it."""
    return NOISES[request.param]()


def slow(counts, noise, loss):
    """The definition, with fractions as weights."""
    return sum(
        float(chance) * loss(int(count), max(int(count) + value, 0))
        for count in counts
        for value, chance in noise.row(int(count)).probabilities().items()
    )


def test_the_means_are_the_sums_of_the_definition(noise):
    counts = SUBJECT.flat
    found = exact_expectations(counts, noise)
    for value, loss in (
        (found.l1.mean, lambda a, b: abs(a - b)),
        (found.l2.mean, lambda a, b: (a - b) ** 2),
        (found.l3.mean, lambda a, b: abs(math.sqrt(a) - math.sqrt(b))),
        (found.hellinger_squared, lambda a, b: (math.sqrt(a) - math.sqrt(b)) ** 2 / 2),
        (found.perturbed * counts.size, lambda a, b: a != b),
        (found.false_zeros, lambda a, b: a > 0 and b == 0),
        (found.shown_small, lambda _, b: 1 <= b <= SMALL),
    ):
        assert value == pytest.approx(slow(counts, noise, loss), rel=1e-9, abs=1e-9)


@pytest.mark.slow
def test_exact_mean_losses_equal_the_simulation(noise):
    (draws,) = simulate(SUBJECT, [noise], REPS, seed=7)
    found = exact_expectations(SUBJECT.flat, noise)
    for name in ("l1", "l2", "l3"):
        exact = getattr(found, name)
        error = exact.sd / math.sqrt(REPS)
        assert abs(draws[name].mean() - exact.mean) < Z_EXPECTATION * error
        assert (
            abs(draws[name].mean() - 1.3 * exact.mean) > Z_EXPECTATION * error
        )  # noise 30 % off would be seen
    for name, exact in (("perturbed", found.perturbed), ("false_zeros", found.false_zeros)):
        assert abs(draws[name].mean() - exact) <= Z_EXPECTATION * draws[name].std() / math.sqrt(REPS) + 1e-12


@pytest.mark.parametrize("epsilon", ["0.5", "1"])
def test_the_mean_absolute_error_of_laplace_noise_is_the_corrected_formula(epsilon):
    found = exact_expectations(np.array([500]), laplace(epsilon=float(epsilon)))
    assert found.l1.mean == pytest.approx(ORACLE["mean_absolute_laplace"][epsilon], abs=1e-7)
    short = exact_expectations(np.array([50, 60, 70]), laplace(epsilon=2.0, m=7))
    assert (short.p_exact, 1 - short.perturbed) == pytest.approx((ORACLE["laplace_law"]["p0"],) * 2, abs=1e-9)


def test_confirmation_and_false_zeros_are_worked_by_hand():
    """Counts 0, 1, 1, 5 and noise -1, 0, +1 with chances 1/4, 1/2, 1/4; below zero becomes zero."""
    found = exact_expectations(np.array([0, 1, 1, 5]), HALF)
    shown_one = Fraction(1, 4) + 2 * Fraction(1, 2)
    assert found.confirmation[1] == pytest.approx(float(2 * Fraction(1, 2) / shown_one))
    assert found.confirmation[0] == pytest.approx(0.75 / (0.75 + 2 * 0.25))
    assert found.confirmation[2] == 0  # shown as 2 are ones only
    assert found.confirmation[3] is None
    assert found.confirmation_small == pytest.approx(1.0 / (1.25 + 0.5))
    assert found.false_zeros == pytest.approx(0.5)
    assert found.false_zero_share == pytest.approx(0.5 / 3)
    assert found.false_zero_by_count == (pytest.approx(0.25), None, None)
    assert found.false_people == pytest.approx(0.25)
    assert (found.cells, found.occupied, found.small) == (4, 3, 2)


def test_noise_that_never_shows_small_counts_confirms_none():
    assert exact_expectations(np.array([1, 2, 3, 9]), maxent(D=5, V=4, js=3)).confirmation_small is None


def test_without_clipping_plain_losses_see_the_negative_counts():
    clipped, raw = (exact_expectations(np.zeros(3, dtype=int), HALF, clip=clip) for clip in (True, False))
    assert (clipped.l1.mean, raw.l1.mean) == pytest.approx((0.75, 1.5))
    assert raw.l3.mean == clipped.l3.mean


def test_standard_deviations_are_those_of_independent_cells():
    found = exact_expectations(np.array([10, 10]), HALF)
    assert found.l1.sd == pytest.approx(math.sqrt(2 * 0.25))
