"""Amplification by sampling: the mapped frontier equals an enumeration of every sample, and naive scalings are rejected."""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import combinations, pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.noise import laplace
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy import delta as exact_delta
from discreet.privacy import epsilon as exact_epsilon
from discreet.privacy.sampling import Sampling, population_guarantee, sample_terms

from .conftest import row_of_masses, slow_delta

SKEWED = NoiseTable(
    16,
    (
        row_of_masses({0: 13, 1: 2, 2: 1}),
        row_of_masses({-1: 3, 0: 9, 1: 4}),
        row_of_masses({-2: 1, -1: 3, 0: 8, 1: 3, 2: 1}),
    ),
)
SYMMETRIC = NoiseTable(16, (row_of_masses({-2: 1, -1: 4, 0: 6, 1: 4, 2: 1}),))
TABLES = [SKEWED, SYMMETRIC]


def release(table, count):
    return {count + v: p for v, p in table.row(count).probabilities().items()}


def mixture(parts):
    found = defaultdict(Fraction)
    for weight, distribution in parts:
        for output, p in distribution.items():
            found[output] += weight * p
    return dict(found)


def poisson_release(table, people, rate):
    """Every subset of the people of a cell, each with its probability."""
    return mixture(
        (math.prod(rate if inside else 1 - rate for inside in sample), release(table, sum(sample)))
        for sample in product((0, 1), repeat=people)
    )


def simple_release(table, population, n):
    """Every sample of n of a population that is listed by its cell, and the noisy counts of two cells."""
    samples = list(combinations(population, n))
    parts = []
    for sample in samples:
        first, second = (release(table, sample.count(cell)) for cell in "ij")
        parts.append(
            (
                Fraction(1, len(samples)),
                {(x, y): p * q for x, p in first.items() for y, q in second.items()},
            )
        )
    return mixture(parts)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("epsilon", [0.05, 0.4, 1.0])
def test_poisson_sampling_is_the_worst_of_every_population_and_attained(table, epsilon):
    rate = Fraction(1, 4)
    found = population_guarantee(table, Sampling((rate,)), epsilon=epsilon)[0]
    releases = [poisson_release(table, people, rate) for people in range(6)]
    pairs = list(pairwise(releases))
    inward = max(slow_delta(more, fewer, epsilon) for fewer, more in pairs)
    outward = max(slow_delta(fewer, more, epsilon) for fewer, more in pairs)
    tiny = Fraction(1, 10**25)
    assert inward <= found.delta_in + tiny
    assert outward <= found.delta_out + tiny
    # A reader who knows the sample but for one person has the pair itself.
    known = [(release(table, n), poisson_release_of_one(table, n, rate)) for n in range(4)]
    assert abs(max(slow_delta(m, q, epsilon) for q, m in known) - found.delta_in) < tiny
    assert abs(max(slow_delta(q, m, epsilon) for q, m in known) - found.delta_out) < tiny


def poisson_release_of_one(table, others, rate):
    return mixture([(1 - rate, release(table, others)), (rate, release(table, others + 1))])


@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
def test_simple_random_sampling_bounds_every_population_and_is_attained(epsilon):
    """Two cells i and j of the sampled table; a person of i is replaced by one of j. k: people of neither cell."""
    rate = Fraction(2, 4)
    drawn = Sampling((rate,), "simple")
    found = population_guarantee(SYMMETRIC, drawn, epsilon=epsilon, neighbours="replace-one")[0]
    worst = Fraction(0)
    for others in product("ijk", repeat=3):
        one, other = (simple_release(SYMMETRIC, (*others, person), 2) for person in "ij")
        worst = max(worst, slow_delta(one, other, epsilon), slow_delta(other, one, epsilon))
    assert abs(worst - found.delta) < Fraction(1, 10**25)
    assert found.exact


def test_the_wrong_scalings_of_epsilon_and_delta_are_rejected():
    """Neither "epsilon times the rate" nor "the delta of the sample times the rate at the same epsilon" holds."""
    table, rate = laplace(epsilon=2.0, m=12), Fraction(1, 10)
    drawn = Sampling((rate,))
    floor = exact_delta(table, epsilon=math.inf) * rate
    true = population_guarantee(table, drawn, delta=floor)[0].epsilon
    assert true > 2.0 * float(rate) * 1.5
    assert true == pytest.approx(
        math.log1p(float(rate) * math.expm1(exact_epsilon(table, delta=floor / rate))), 1e-6
    )
    for epsilon in (0.1, 0.15):
        exact = population_guarantee(table, drawn, epsilon=epsilon)[0].delta
        assert exact < rate * exact_delta(table, epsilon=epsilon)
        assert exact > rate * exact_delta(table, epsilon=epsilon / float(rate))


def test_a_household_that_is_drawn_whole_is_not_protected_by_its_rate():
    """A cluster of 5 whose other members are seen: the rate scales delta and leaves epsilon as it is."""
    rate, table = Fraction(1, 10), SYMMETRIC
    without = mixture([(1 - rate, release(table, 0)), (rate, release(table, 5))])
    present = mixture([(1 - rate, release(table, 0)), (rate, release(table, 6))])
    single = population_guarantee(table, Sampling((rate,)), epsilon=1.0)[0]
    assert slow_delta(present, without, 1.0) == rate * slow_delta(release(table, 6), release(table, 5), 1.0)
    assert slow_delta(present, without, 1.0) > single.delta


masses = st.lists(st.integers(0, 6), min_size=2, max_size=5).filter(sum)


@settings(max_examples=60, deadline=None)
@given(masses, masses, st.fractions(Fraction(1, 50), Fraction(49, 50)), st.floats(0, 3))
def test_the_map_of_the_frontier_is_the_divergence_of_the_mixture(smaller, larger, rate, epsilon):
    modulus = sum(smaller) * sum(larger)
    rows = (
        row_of_masses({v: m * sum(larger) for v, m in enumerate(smaller)}),
        row_of_masses({v - 1: m * sum(smaller) for v, m in enumerate(larger)}),
    )
    table = NoiseTable(modulus, (*rows, rows[1]), repeats=1)
    found = population_guarantee(table, Sampling((rate,)), epsilon=epsilon)[0]
    pairs = [(release(table, n), poisson_release_of_one(table, n, rate)) for n in range(3)]
    tiny = Fraction(1, 10**25)
    assert abs(max(slow_delta(m, q, epsilon) for q, m in pairs) - found.delta_in) < tiny
    assert abs(max(slow_delta(q, m, epsilon) for q, m in pairs) - found.delta_out) < tiny
    solved = population_guarantee(table, Sampling((rate,)), delta=found.delta)[0]
    assert solved.epsilon <= epsilon + 1e-9
    assert solved.delta <= found.delta + tiny


@pytest.mark.parametrize(("epsilon", "rate"), [(0.1, "1/20"), (1.0, "0.3"), (2.0, "1/1000")])
def test_a_design_by_wish_keeps_the_wish_for_the_population(epsilon, rate):
    drawn = Sampling.of([rate])
    wish = 1e-6
    within, delta = sample_terms(epsilon, wish, drawn.largest)
    table = laplace(epsilon=within, delta=delta, modulus=2**64)
    assert population_guarantee(table, drawn, epsilon=epsilon)[0].delta <= wish * (1 + 1e-9)


def test_each_stratum_has_its_figure_and_the_largest_rate_is_the_worst():
    drawn = Sampling.of(["1/20", "1/4", "1"], "stratified")
    found = population_guarantee(SKEWED, drawn, epsilon=0.5)
    assert [each.delta for each in found] == sorted(each.delta for each in found)
    assert found[-1].delta == exact_delta(SKEWED, epsilon=0.5)
    assert drawn.largest == 1


@pytest.mark.parametrize(
    ("rates", "design"),
    [
        *((rates, "poisson") for rates in ([], ["0"], ["1.1"], ["a"], ["1/0"])),
        (["0.1", "0.2"], "simple"),
        (["0.1"], "snowball"),
    ],
)
def test_what_is_not_a_rate_or_a_design_is_refused(rates, design):
    with pytest.raises(BadRequest):
        Sampling.of(rates, design)


def test_a_row_that_never_changes_is_not_protected_by_any_rate():
    table = NoiseTable(4, (NoiseRow((0,), (4,)),))
    assert population_guarantee(table, Sampling.of(["1/10"]), epsilon=5.0)[0].delta == Fraction(1, 10)
