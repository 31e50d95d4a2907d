import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.margins.integer_noise import PUBLIC, SeededNoise, laplace_noise
from discreet.margins.least_squares import Covariance, MeasuredMargins, independent, variance_shares
from discreet.margins.margin_set import MarginSet, margin_tables
from discreet.privacy.composition import gaussian_delta

from .conftest import Z, efron_stein_vectors, margin_sets, random_counts, summing_matrix


def measured(wanted, scales):
    noise = {m: laplace_noise(s) for m, s in zip(wanted.margins, scales, strict=False)}
    return MeasuredMargins(wanted, noise, "laplace", 1.0, 0.0, "add-remove")


def dense_estimator(plan):
    """Generalised least squares written down: noisy cells of all measured margins to each wanted margin."""
    wanted = plan.wanted
    design = np.vstack([summing_matrix(wanted, m) for m in plan.noise])
    variances = np.concatenate([np.full(wanted.cells(m), n.variance) for m, n in plan.noise.items()])
    weighted = design.T / variances
    solve = np.linalg.pinv(weighted @ design) @ weighted
    return {m: summing_matrix(wanted, m) @ solve for m in wanted.margins}, variances


@settings(max_examples=30, deadline=None)
@given(margin_sets(variables=(2, 4), categories=(2, 4), cells=100), st.integers(0, 2**16))
def test_closed_form_least_squares_is_the_dense_one(wanted, seed):
    rng = np.random.default_rng(seed)
    plan = measured(wanted, rng.uniform(1, 30, len(wanted.margins)))
    exact = margin_tables(random_counts(wanted, seed), wanted)
    released = plan.release(exact, SeededNoise(seed))
    source = SeededNoise(seed)
    noisy = np.concatenate([(n.add_to(exact[m], source, "")).ravel() for m, n in plan.noise.items()])
    estimators, variances = dense_estimator(plan)
    for margin, estimator in estimators.items():
        assert released[margin].ravel() == pytest.approx(estimator @ noisy, abs=1e-6)
        covariance = (estimator * variances) @ estimator.T
        assert plan.variance(margin) == pytest.approx(covariance[0, 0], rel=1e-6)
        distribution = plan.error_distribution(margin)
        assert distribution.variance == pytest.approx(plan.variance(margin), rel=1e-6)


def test_covariances_between_margins_are_those_of_the_dense_estimator():
    wanted = MarginSet(("A", "B", "C"), (2, 3, 4), ((0, 1), (1, 2)))
    plan = measured(wanted, (3.0, 8.0))
    estimators, variances = dense_estimator(plan)
    dense = (estimators[0, 1] * variances) @ estimators[1, 2].T
    covariance = plan.covariance()
    for (i, x), (j, y) in product(enumerate(np.ndindex(2, 3)), enumerate(np.ndindex(3, 4))):
        assert covariance.between((0, 1), x, (1, 2), y) == pytest.approx(dense[i, j], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
@pytest.mark.parametrize("consistent", [False, True])
def test_measured_errors_and_intervals_match_their_formulas(distribution, consistent):
    wanted = MarginSet(("A", "B", "C"), (3, 4, 5), ((0, 1), (1, 2)))
    exact = margin_tables(random_counts(wanted), wanted)
    plan = independent(wanted, 0.5, 1e-5, consistent=consistent, distribution=distribution)
    source = SeededNoise(3)
    errors = {m: [] for m in wanted.margins}
    for _ in range(1500):
        for margin, table in plan.release(exact, source).items():
            errors[margin].append((table - exact[margin]).ravel())
    for margin, rows in errors.items():
        sample = np.abs(np.array(rows))
        by_run = sample.mean(axis=1)
        spread = by_run.std() / math.sqrt(len(by_run))
        assert abs(by_run.mean() - plan.expected_error(margin)) < Z * spread + 0.003 * plan.expected_error(
            margin
        )
        assert abs(by_run.mean() - 1.1 * plan.expected_error(margin)) > Z * spread
        inside = (sample <= plan.half_width(margin, 0.9)).mean(axis=1)
        assert abs(inside.mean() - 0.9) < Z * inside.std() / math.sqrt(len(inside)) + 0.005


def test_a_public_total_is_released_exactly():
    wanted = MarginSet(("A", "B"), (2, 3), ((0, 1),))
    exact = margin_tables(random_counts(wanted), wanted)
    noise = {(): PUBLIC, (0, 1): laplace_noise(9.0)}
    plan = MeasuredMargins(wanted, noise, "laplace", 1.0, 0.0, "replace-one")
    released = plan.release(exact, SeededNoise(2))
    assert released[0, 1].sum() == pytest.approx(exact[0, 1].sum())
    assert plan.covariance().residual_variance[()] == 0.0
    assert plan.coefficients == 6
    assert plan.sensitivity == 2.0


@settings(max_examples=20, deadline=None)
@given(margin_sets(variables=(2, 3), categories=(2, 4), cells=40))
def test_covariances_are_those_of_independent_centred_parts(wanted):
    """Dense: part S is a table of variance σ² of centred white noise; margins add the parts up."""
    sigma2 = {part: 1.0 + i for i, part in enumerate(wanted.closure)}
    dense = np.zeros((wanted.table_cells, wanted.table_cells))
    for part in wanted.closure:
        rows = efron_stein_vectors(wanted, part)
        projection = summing_matrix(wanted, part).T @ rows  # the component f^S of a table, as a table
        dense += sigma2[part] * projection @ projection.T / (wanted.table_cells / wanted.cells(part))
    covariance = Covariance(wanted, sigma2)
    for row, margin in enumerate(wanted.margins):
        adding = summing_matrix(wanted, margin)
        expected = adding @ dense @ adding.T
        assert covariance.of_cell(margin) == pytest.approx(expected[0, 0], rel=1e-9)
        assert variance_shares(wanted)[row] @ list(sigma2.values()) == pytest.approx(expected[0, 0], rel=1e-9)
        last = tuple(k - 1 for k in wanted.margin_shape(margin))
        first = (0,) * len(margin)
        assert covariance.between(margin, first, margin, last) == pytest.approx(expected[0, -1], abs=1e-9)


TWO = MarginSet(("A", "B", "C"), (3, 4, 5), ((0, 1), (1, 2)))


def test_laplace_noise_splits_epsilon_and_replacements_cost_twice():
    assert set(independent(TWO, 0.5).scales.values()) == {4.0}
    assert set(independent(TWO, 0.5, neighbours="replace-one").scales.values()) == {8.0}
    assert independent(TWO, 0.5, neighbours="replace-one").sensitivity == 4.0


@pytest.mark.parametrize(("neighbours", "changed"), [("add-remove", 2), ("replace-one", 4)])
def test_gaussian_noise_keeps_its_delta_by_exact_accounting(neighbours, changed):
    plan = independent(TWO, 1.0, 1e-6, neighbours=neighbours, distribution="gaussian")
    sigma = plan.scales[0, 1]
    delta = gaussian_delta(math.sqrt(changed) / sigma, 1.0)
    assert 0.998e-6 < delta <= 1e-6
    assert plan.sensitivity == pytest.approx(math.sqrt(changed))


def test_with_a_delta_few_margins_take_laplace_and_many_gaussian_noise():
    many = MarginSet(tuple("ABCDEFGH"), (3,) * 8, tuple((i, j) for i in range(8) for j in range(i + 1, 8)))
    assert independent(TWO, 1.0, 1e-6).distribution == "laplace"
    assert independent(many, 1.0, 1e-6).distribution == "gaussian"
    assert independent(many, 1.0).distribution == "laplace"
