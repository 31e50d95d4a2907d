import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from discreet.inference.bootstrap import with_noise
from discreet.inference.channel import channel_of
from discreet.inference.expectation_maximisation import maximise
from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.multinomial_likelihood import MultinomialLikelihood
from discreet.inference.poisson_likelihood import PoissonLikelihood
from discreet.noise import NoiseRow, NoiseTable, laplace
from discreet.noise.kept_zero import with_kept_zero

NO_NOISE = NoiseTable(1, (NoiseRow((0,), (1,)),))
GENERATORS = {
    "independence": ((3, 4), [(0,), (1,)]),
    "conditional independence": ((2, 3, 2), [(0, 1), (1, 2)]),
    "no three-way interaction": ((2, 2, 3), [(0, 1), (0, 2), (1, 2)]),
    "a given distribution": ((5,), [()]),
}


def directly(likelihood, model):
    """The same maximum by a general optimiser over the parameters, with its analytic gradient."""
    design = model.design(model.possible).toarray()

    def minus(theta):
        mu = model.offset.ravel() * np.exp(design @ theta)
        height, expected = likelihood.expect(mu.reshape(1, *model.shape))
        return -height[0], -design.T @ (expected.ravel() - mu * (expected.sum() / mu.sum() if fixed else 1))

    fixed = isinstance(likelihood, MultinomialLikelihood)
    start = np.zeros(design.shape[1])
    start += np.log(np.maximum(likelihood.evidence.released, 1).mean()) / len(model.generators)
    best = minimize(minus, start, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    polished = minimize(minus, best.x, jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10})
    return max(-best.fun, -polished.fun)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(GENERATORS))
@pytest.mark.parametrize("seed", [1, 2])
def test_it_equals_direct_maximisation(any_noise, name, seed):
    shape, generators = GENERATORS[name]
    rng = np.random.default_rng(seed)
    released = with_noise(rng.poisson(rng.uniform(6, 30, shape)), any_noise, rng)[None]
    likelihood = PoissonLikelihood.of(channel_of(any_noise).evidence(released))
    model = HierarchicalModel.of(generators, np.ones(shape))
    fit = maximise(likelihood, model)
    assert fit.converged.all()
    assert fit.log_likelihood[0] == pytest.approx(directly(likelihood, model), abs=1e-8)


@pytest.mark.parametrize("name", ["independence", "a given distribution"])
def test_the_multinomial_form_equals_direct_maximisation(name):
    shape, generators = GENERATORS[name]
    rng = np.random.default_rng(3)
    noise = laplace(epsilon=0.5, m=6)
    true = rng.poisson(rng.uniform(6, 30, shape))
    evidence = channel_of(noise).evidence(with_noise(true, noise, rng)[None])
    likelihood = MultinomialLikelihood.of(evidence, int(true.sum()))
    model = HierarchicalModel.of(generators, np.ones(shape))
    fit = maximise(likelihood, model)
    assert fit.converged.all()
    assert fit.log_likelihood[0] == pytest.approx(directly(likelihood, model), abs=1e-8)
    assert fit.means.sum() == pytest.approx(true.sum())


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_without_noise_it_is_the_plain_fit(seed):
    rng = np.random.default_rng(seed)

    counts = rng.poisson(rng.uniform(0, 6, (1, 3, 3, 2)))
    model = HierarchicalModel.of([(0, 1), (1, 2)], np.ones((3, 3, 2)))
    fit = maximise(PoissonLikelihood.of(channel_of(NO_NOISE).evidence(counts)), model)
    np.testing.assert_allclose(fit.means, model.fitted(counts.astype(float)), atol=1e-7)


def test_a_batch_is_its_tables_one_by_one():
    rng = np.random.default_rng(8)
    noise = laplace(epsilon=0.3, m=9)
    released = with_noise(rng.poisson(20, (12, 4, 5)), noise, rng)
    model = HierarchicalModel.of([(0,), (1,)], np.ones((4, 5)))
    together = maximise(PoissonLikelihood.of(channel_of(noise).evidence(released)), model)
    for table in range(12):
        alone = maximise(PoissonLikelihood.of(channel_of(noise).evidence(released[[table]])), model)
        assert together.log_likelihood[table] == pytest.approx(alone.log_likelihood[0], abs=1e-9)
        np.testing.assert_allclose(together.means[table], alone.means[0], rtol=1e-6)


def test_a_row_of_released_zeros_vanishes_when_zeros_are_kept():
    noise = with_kept_zero(laplace(epsilon=0.5, m=7))
    released = np.array([[[40, 35, 50], [0, 0, 0], [38, 44, 41]]])
    model = HierarchicalModel.of([(0,), (1,)], np.ones((3, 3)))
    fit = maximise(PoissonLikelihood.of(channel_of(noise).evidence(released)), model)
    assert fit.means[0, 1].tolist() == [0.0, 0.0, 0.0]
    assert fit.present[0].sum() == 6
    assert model.degrees_of_freedom(fit.present[0]) == 2


def test_cells_that_cannot_occur_have_mean_zero_and_no_part():
    offset = 1.0 - np.eye(3)
    released = np.array([[[0, 20, 31], [14, 0, 22], [25, 30, 0]]])
    from discreet.inference.channel import with_sure_zeros

    evidence = channel_of(laplace(epsilon=1.0, m=5)).evidence(released)
    evidence = with_sure_zeros(evidence, np.broadcast_to(offset == 0, released.shape))
    fit = maximise(PoissonLikelihood.of(evidence), HierarchicalModel.of([(0,), (1,)], offset))
    assert (fit.means[0][offset == 0] == 0).all()
    assert fit.present.sum() == 6
    ratios = fit.means[0][0, 1] * fit.means[0][1, 2] * fit.means[0][2, 0]
    assert ratios == pytest.approx(fit.means[0][0, 2] * fit.means[0][1, 0] * fit.means[0][2, 1], rel=1e-6)
