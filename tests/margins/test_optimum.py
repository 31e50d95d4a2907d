import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize

from discreet.margins.bases import centre
from discreet.margins.integer_noise import SeededNoise, centring_loss
from discreet.margins.least_squares import independent, residual_norm, variance_shares
from discreet.margins.margin_set import MarginSet, margin_table, margin_tables, margin_weights, overall_error
from discreet.margins.optimum import GaussianOptimum, _Objective, gaussian_optimum, laplace_optimum, optimum
from discreet.privacy.composition import gaussian_delta

from .conftest import Z, margin_sets, random_counts


def lattice_loss(shape, sigma):
    return centring_loss(sigma, [(k, math.prod(shape) // k) for k in shape])


@settings(max_examples=25, deadline=None)
@given(
    margin_sets(),
    st.sampled_from([0.1, 1.0, 6.0]),
    st.sampled_from([0.0, 1e-5]),
    st.sampled_from(["add-remove", "replace-one"]),
)
def test_the_optimum_is_never_worse_than_independent_noise(wanted, epsilon, delta, neighbours):
    best = overall_error(optimum(wanted, epsilon, delta, neighbours=neighbours))
    for consistent in (False, True):
        plain = independent(wanted, epsilon, delta, neighbours=neighbours, consistent=consistent)
        assert best <= overall_error(plain) * (1 + 1e-3)


def test_one_margin_takes_laplace_and_many_take_gaussian_noise():
    one = MarginSet(("A", "B"), (3, 4), ((0, 1),))
    best = optimum(SEVEN, 1.0, 1e-6)
    assert not isinstance(optimum(one, 1.0, 1e-6), GaussianOptimum)
    assert isinstance(best, GaussianOptimum)
    assert overall_error(best) == pytest.approx(11.76, abs=0.01)


SEVEN = MarginSet(tuple("ABCDEFG"), (11, 2, 21, 5, 12, 9, 5), tuple(combinations(range(7), 2)))


@settings(max_examples=20, deadline=None)
@given(margin_sets(), st.integers(0, 1000), st.booleans())
def test_the_gradient_is_that_of_the_objective(wanted, seed, public_total):
    objective = _Objective(wanted, margin_weights(wanted), 1.3, public_total=public_total)
    logs = np.random.default_rng(seed).normal(size=len(objective.parts))
    off = check_grad(lambda x: objective(x)[0], lambda x: objective(x)[1], logs)
    assert off < 1e-4 * (1 + np.linalg.norm(objective(logs)[1]))


@settings(max_examples=15, deadline=None)
@given(margin_sets(variables=(2, 4)), st.sampled_from(["add-remove", "replace-one"]))
def test_the_budget_is_spent_exactly_and_never_worse_than_equally(wanted, neighbours):
    plan = laplace_optimum(wanted, 0.2, neighbours=neighbours)
    each = 1 if neighbours == "add-remove" else 2
    assert sum(each / s for s in plan.scales.values() if s > 0) == pytest.approx(0.2)
    equal = independent(wanted, 0.2, neighbours=neighbours, consistent=True)
    assert overall_error(plan) <= overall_error(equal) * 1.02


def test_all_two_way_margins_of_seven_variables_meet_the_target():
    assert overall_error(laplace_optimum(SEVEN, 1.0)) < 16.9
    assert overall_error(independent(SEVEN, 1.0)) > 20


def movement(wanted, sigma, person, other=None):
    """μ² of one person, or of one replaced by another, from the centred tables themselves."""
    total = 0.0
    for part in wanted.closure:
        one = np.zeros(wanted.shape)
        one[person] += 1
        if other is not None:
            one[other] -= 1
        moved = centre(margin_table(one, part))
        total += float((moved**2).sum()) / sigma[part] ** 2 if sigma[part] > 0 else 0.0
        assert sigma[part] > 0 or np.allclose(moved, 0)
    return total


@settings(max_examples=25, deadline=None)
@given(
    margin_sets(variables=(2, 3), categories=(2, 4), cells=40), st.sampled_from([(1.0, 1e-6), (3.0, 1e-3)])
)
def test_everything_together_costs_the_delta_that_was_asked_for(wanted, budget):
    epsilon, delta = budget
    for neighbours in ("add-remove", "replace-one"):
        plan = gaussian_optimum(wanted, epsilon, delta, neighbours=neighbours)
        cells = list(np.ndindex(*wanted.shape))
        if neighbours == "add-remove":
            costs = [movement(wanted, plan.sigma, cell) for cell in cells]
        else:
            costs = [movement(wanted, plan.sigma, cells[0], cell) for cell in cells[1:]]
        assert 0.99 * delta < gaussian_delta(math.sqrt(max(costs)), epsilon) <= delta


@settings(max_examples=15, deadline=None)
@given(margin_sets(variables=(2, 3), categories=(2, 5), cells=60), st.sampled_from(["cells", "tables"]))
def test_no_other_allocation_has_a_smaller_error(wanted, weights):
    plan = gaussian_optimum(wanted, 1.0, 1e-6, weights=weights)
    shares, weight = variance_shares(wanted), margin_weights(wanted, weights)
    cost = np.array([residual_norm(wanted, part) for part in wanted.closure])

    def error(logs):
        precision = np.exp(logs)
        precision *= plan.mu**2 / (cost @ precision)
        return math.sqrt(2 / math.pi) * float(weight @ np.sqrt(shares @ (1 / precision)))

    searched = minimize(error, np.zeros(len(cost)), method="BFGS").fun
    assert overall_error(plan, weights) <= searched * (1 + 1e-4)


@pytest.mark.slow
def test_measured_errors_covariances_and_coverage_match_their_formulas():
    wanted = MarginSet(("A", "B", "C"), (3, 4, 2), ((0, 1), (1, 2)))
    exact = margin_tables(random_counts(wanted), wanted)
    plan = gaussian_optimum(wanted, 1.0, 1e-5)
    source, runs = SeededNoise(8), 1500
    errors = {m: np.empty((runs, wanted.cells(m))) for m in wanted.margins}
    for run in range(runs):
        for margin, table in plan.release(exact, source).items():
            errors[margin][run] = (table - exact[margin]).ravel()
    for margin, rows in errors.items():
        by_run = np.abs(rows).mean(axis=1)
        spread = by_run.std() / math.sqrt(runs)
        assert abs(by_run.mean() - plan.expected_error(margin)) < Z * spread
        assert abs(by_run.mean() - 1.05 * plan.expected_error(margin)) > Z * spread
        inside = (np.abs(rows) <= plan.half_width(margin, 0.95)).mean(axis=1)
        assert abs(inside.mean() - 0.95) < Z * inside.std() / math.sqrt(runs)
    covariance = plan.covariance()
    for x, y in (((0, 0), (0, 0)), ((0, 0), (1, 1)), ((2, 3), (3, 0))):
        i, j = np.ravel_multi_index(x, (3, 4)), np.ravel_multi_index(y, (4, 2))
        products = errors[0, 1][:, i] * errors[1, 2][:, j]
        formula = covariance.between((0, 1), x, (1, 2), y)
        assert abs(products.mean() - formula) < Z * products.std() / math.sqrt(runs)


@pytest.mark.parametrize(("k", "spread"), [(2, 0.5), (2, 0.7), (3, 0.8), (5, 1.1)])
def test_the_lattice_loss_bounds_what_integers_tell_beyond_the_gaussian(k, spread):
    """Centred integer noise against its Gaussian shape: the ratios of all cosets, by enumeration."""
    reach = math.ceil(9 * spread) + 1
    weights: dict[tuple[int, ...], float] = {}
    shapes: dict[tuple[int, ...], float] = {}
    for z in np.ndindex(*(2 * reach + 1,) * min(k, 3)):
        full = np.zeros(k)
        full[: len(z)] = np.array(z) - reach
        key = tuple((full - full[0]).astype(int).tolist())
        if key in weights:
            continue
        line = full[None, :] + np.arange(-4 * reach, 4 * reach + 1)[:, None]
        weights[key] = float(np.exp(-(line**2).sum(axis=1) / (2 * spread**2)).sum())
        shapes[key] = math.exp(-float(((full - full.mean()) ** 2).sum()) / (2 * spread**2))
    logs = [math.log(weights[key] / shapes[key]) for key in weights if shapes[key] > 1e-200]
    assert max(logs) - min(logs) <= lattice_loss((k,), spread) + 1e-12
    assert max(logs) - min(logs) > 0.1 * lattice_loss((k,), spread)


def test_every_part_gets_a_grid_on_which_its_integers_tell_nothing():
    wanted = MarginSet(("area", "sex"), (500, 2), ((0, 1),))
    plan = gaussian_optimum(wanted, 8.0, 1e-5)
    loss = sum(lattice_loss(wanted.margin_shape(p), plan.grid(p) * plan.sigma[p]) for p in wanted.closure)
    assert loss <= 1e-12
    coarse = GaussianOptimum(wanted, 8.0, 1e-5, "add-remove", plan.mu, plan.sigma)
    assert lattice_loss((500,), coarse.sigma[0,]) > 1e-3


def test_what_centring_removes_leaves_no_trace_in_the_last_digit():
    """Only the centred parts are paid for: a constant on a line of the integers may not change one bit of a release."""
    wanted = MarginSet(("aa", "bb"), (8, 16), ((0, 1),))
    plan = gaussian_optimum(wanted, 1.0, 1e-6)
    counts = {(0, 1): np.random.default_rng(1).integers(0, 50, (8, 16))}

    def moved(by):
        steady = SeededNoise(3)
        return lambda table, name, size: steady(table, name, size) + (by if name == "part aa*bb" else 0)

    lines = np.repeat([3, -5, 11, 99_991, 0, 2, 7, 1], 16)
    released = [plan.release(counts, moved(by))[0, 1] for by in (0, 1, 12_345, lines)]
    assert all(np.array_equal(each, released[0]) for each in released[1:])
    assert not np.array_equal(plan.release(counts, moved(np.arange(128) ** 2))[0, 1], released[0])
