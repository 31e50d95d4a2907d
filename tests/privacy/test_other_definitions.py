"""Other definitions of privacy: every figure against its definition, computed slowly and on its own."""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import norm

from discreet.errors import BadRequest
from discreet.noise import families, laplace
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy import delta as exact_delta
from discreet.privacy.other_definitions import (
    Policy,
    attribute_guarantee,
    other_definitions,
    policy_guarantee,
)

from .conftest import row_of_masses, slow_delta, slow_distribution

#: Outputs 0, 1 and 2 for every count: no output is proof.
FULL = NoiseTable(
    10,
    (
        row_of_masses({0: 6, 1: 3, 2: 1}),
        row_of_masses({-1: 4, 0: 4, 1: 2}),
        row_of_masses({-2: 1, -1: 3, 0: 6}),
        row_of_masses({-3: 1, -2: 3, -1: 6}),
    ),
)
ENDS = NoiseTable(16, (row_of_masses({-2: 1, -1: 4, 0: 6, 1: 4, 2: 1}),))


def both_ways(table):
    rows = [slow_distribution(table, n) for n in range(len(table.rows) + 1)]
    pairs = list(pairwise(rows))
    # The last row of FULL is for its own count only: larger counts would shift its outputs.
    pairs = pairs[:-1] if table is FULL else pairs
    return [*pairs, *((q, p) for p, q in pairs)]


@pytest.fixture
def full(monkeypatch):
    """FULL with neighbours up to its last count."""
    from discreet.privacy import hockey_stick

    monkeypatch.setattr(hockey_stick, "neighbouring_counts", lambda *_, **__: iter([(0, 1), (1, 2), (2, 3)]))
    hockey_stick.profiles.cache_clear()
    hockey_stick.frontiers.cache_clear()
    yield FULL
    hockey_stick.profiles.cache_clear()
    hockey_stick.frontiers.cache_clear()


def renyi(p, q, order):
    outputs = [y for y in p if y in q]
    mass_p, mass_q = (sum(side[y] for y in outputs) for side in (p, q))
    terms = (float(p[y] / mass_p) ** order * float(q[y] / mass_q) ** (1 - order) for y in outputs)
    return math.log(math.fsum(terms)) / (order - 1)


def test_total_variation_is_half_the_sum_of_differences(full):
    for table in (full, ENDS):
        slow = max(
            sum((abs(p.get(y, 0) - q.get(y, 0)) for y in {*p, *q}), Fraction(0)) / 2
            for p, q in both_ways(table)
        )
        assert other_definitions(table).total_variation == slow


def test_the_renyi_curve_is_that_of_the_outputs_that_both_counts_make(full):
    for table in (full, ENDS):
        for order, found in other_definitions(table).renyi:
            assert found == pytest.approx(max(renyi(p, q, order) for p, q in both_ways(table)), rel=1e-7)


def test_rho_covers_every_order_and_the_kullback_leibler_divergence_alone_does_not(full):
    orders = np.geomspace(1.0001, 200, 3000)
    for table in (full, ENDS):
        slow = max(renyi(p, q, order) / order for p, q in both_ways(table) for order in orders)
        found = other_definitions(table)
        assert slow <= found.rho_up_to_proof <= slow * 1.002
        assert (found.rho == found.rho_up_to_proof) == (table is full)
        assert math.isinf(found.rho) == (table is not full)
    noise = families.build("gaussian", {"V": 4.0}, 2**32)
    # The ideal distribution has rho 1/8; one order of the Renyi curve is always below a rho that holds for all.
    assert other_definitions(noise).rho_up_to_proof == pytest.approx(1 / 8, rel=2e-3)
    assert other_definitions(noise).ideal_rho == Fraction(1, 8)


def gaussian_delta(mu, epsilon):
    return norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)


def test_mu_is_the_smallest_whose_curve_lies_above_that_of_the_table(full):
    for table in (full, ENDS):
        found = other_definitions(table)
        epsilons = np.linspace(0, 4, 400)
        curve = [max(slow_delta(p, q, e) for p, q in both_ways(table)) - found.proof for e in epsilons]
        mu = found.mu_up_to_proof
        slack = [gaussian_delta(mu, e) - float(d) for e, d in zip(epsilons, curve, strict=True)]
        assert min(slack) > -1e-9
        closest = min(gaussian_delta(mu * 0.98, e) - float(d) for e, d in zip(epsilons, curve, strict=True))
        assert closest < 0 or table is ENDS
        assert found.mu == (mu if table is full else math.inf)


def test_a_mu_from_the_variance_alone_is_rejected():
    """The named wrong alternative: 1 / sigma, which is that of Gaussian noise of equal variance."""
    table = laplace(epsilon=1.0, m=30, modulus=2**64)
    found = other_definitions(table)
    wrong = 1 / math.sqrt(table.variance)
    assert found.mu_up_to_proof > 1.5 * wrong
    assert gaussian_delta(wrong, 0.5) < float(exact_delta(table, epsilon=0.5))
    assert gaussian_delta(found.mu_up_to_proof, 0.5) >= float(exact_delta(table, epsilon=0.5) - found.proof)


@pytest.mark.parametrize("prior", [0.01, 0.3, 0.5])
def test_posteriors_and_the_best_guess_are_those_of_bayes(prior):
    pairs = [(slow_distribution(ENDS, n), slow_distribution(ENDS, n + 1)) for n in range(3)]
    pi = Fraction(prior)
    beliefs = [
        pi * counted[y] / (pi * counted[y] + (1 - pi) * missing[y])
        for missing, counted in pairs
        for y in missing
        if y in counted
    ]
    guess = max(
        sum(
            (
                max(pi * counted.get(y, Fraction(0)), (1 - pi) * missing.get(y, Fraction(0)))
                for y in {*missing, *counted}
            ),
            Fraction(0),
        )
        for missing, counted in pairs
    )
    (found,) = other_definitions(ENDS, [prior]).posteriors
    assert (found.smallest, found.largest) == (float(min(beliefs)), float(max(beliefs)))
    assert found.best_guess == pytest.approx(float(guess), rel=1e-12)


@pytest.mark.parametrize("prior", [0.0, 1.0, -1.0])
def test_a_prior_is_a_probability_between_0_and_1(prior):
    with pytest.raises(BadRequest):
        other_definitions(ENDS, [prior])


def joint(table, counts):
    found = {(): Fraction(1)}
    for count in counts:
        cell = slow_distribution(table, count)
        found = {(*y, z): p * q for y, p in found.items() for z, q in cell.items()}
    return found


@pytest.mark.parametrize("cumulative", [False, True])
def test_a_policy_is_the_worst_of_all_moves_that_it_allows(cumulative):
    classes, epsilon = 4, 0.7

    def cells_of(value):
        return [int(value <= top) if cumulative else int(value == top) for top in range(classes)]

    def worst(step):
        moves = [(i, j) for i, j in product(range(classes), repeat=2) if 0 < abs(i - j) <= step]
        return max(slow_delta(joint(ENDS, cells_of(i)), joint(ENDS, cells_of(j)), epsilon) for i, j in moves)

    for step in (1, 2):
        found = policy_guarantee(ENDS, Policy(classes, step, cumulative), epsilon)
        assert found["policy"]["delta"] == pytest.approx(float(worst(step)), rel=1e-12)
    assert found["any_value"]["delta"] == pytest.approx(float(worst(classes - 1)), rel=1e-12)
    assert (found["policy"]["delta"] < found["any_value"]["delta"]) == cumulative


def test_one_attribute_costs_two_cells():
    """The named wrong alternative: the epsilon of a count, which is about half."""
    table = laplace(epsilon=1.0, m=30, modulus=2**64)
    found = attribute_guarantee(table, 1.0)
    assert found["epsilon"] == pytest.approx(2.0, abs=1e-3)
    assert found["delta"] > 0.3
    assert exact_delta(table, epsilon=1.0) < 1e-6


@pytest.mark.parametrize("words", [(1,), (4, 4), (4, 0)])
def test_a_policy_needs_classes_and_a_step(words):
    with pytest.raises(BadRequest):
        Policy(*words)


def test_a_table_without_noise_is_proof_and_has_no_finite_figure():
    found = other_definitions(NoiseTable(4, (NoiseRow((0,), (4,)),)))
    assert (found.proof, found.total_variation, found.mu, found.rho) == (1, 1, math.inf, math.inf)
