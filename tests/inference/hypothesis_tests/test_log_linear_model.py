"""The one fitter of log-linear models: checked against a slow fit that shares nothing with it."""

import json
import math
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from discreet.errors import BadRequest, DiscreetError
from discreet.inference.channel import channel_of, with_sure_zeros
from discreet.inference.hypothesis_tests import log_linear_model as hierarchical_model
from discreet.inference.hypothesis_tests.likelihood import MultinomialLikelihood, PoissonLikelihood
from discreet.inference.hypothesis_tests.likelihood_ratio import naive_ratios
from discreet.inference.hypothesis_tests.log_linear_model import (
    HierarchicalModel,
    fit_log_linear,
    maximise,
    plain_fit,
)
from discreet.inference.hypothesis_tests.p_value import with_noise
from discreet.margins.margin_set import parse_margins
from discreet.margins.sensitivity import PAPER_TABLES, paper_table
from discreet.noise import NoiseRow, NoiseTable, laplace
from discreet.noise.table import keep_zero


def model(generators, shape):
    return HierarchicalModel.of(generators, np.ones(shape))


def test_the_linear_programme_agrees_with_the_short_form():
    rng = np.random.default_rng(2)
    one = model([(0,), (1,)], (4, 3))
    for _ in range(30):
        empty = rng.random((4, 3)) < 0.6
        assert (one.vanishing(empty) == one._face(empty, one.possible)).all()


def test_the_classic_pattern_of_haberman_vanishes():
    """No three-way interaction with two empty corners: no margin is empty, and the estimate does not exist."""
    one = model([(0, 1), (0, 2), (1, 2)], (2, 2, 2))
    empty = np.zeros((2, 2, 2), dtype=bool)
    empty[0, 0, 0] = empty[1, 1, 1] = True
    assert (one.vanishing(empty) == empty).all()
    empty[1, 1, 1] = False
    assert not one.vanishing(empty).any()


FIGURES = json.loads((Path(__file__).parents[2] / "oracles" / "yang2012.json").read_text("utf-8"))["figures"]
NO_THREE_WAY = [(0, 1), (0, 2), (1, 2)]


@st.composite
def sparse_tables(draw):
    """A small table with many zeros, and the generators of a model."""
    count = draw(st.integers(2, 3))
    shape = draw(st.tuples(*[st.integers(2, 4)] * count).filter(lambda s: math.prod(s) <= 40))
    everything = [m for r in range(1, count + 1) for m in combinations(range(count), r)]
    generators = draw(st.lists(st.sampled_from(everything), min_size=1, max_size=4, unique=True))
    mean = draw(st.sampled_from([0.6, 1.5, 5.0]))
    counts = np.random.default_rng(draw(st.integers(0, 999))).poisson(mean, shape)
    counts[(0,) * count] += 1
    return counts, generators


def slow_design(shape, generators):
    """One row a cell of a margin, one column a cell of the table, written down."""
    rows = []
    for axes in generators:
        for place in np.ndindex(*(shape[axis] for axis in axes)):
            belongs = [
                all(cell[a] == at for a, at in zip(axes, place, strict=True)) for cell in np.ndindex(*shape)
            ]
            rows.append(belongs)
    return np.array(rows, dtype=float)


def slow_support(counts, design):
    """One programme for each cell asks how large it can be in a table with these margins."""
    found = []
    for cell in range(counts.size):
        goal = np.zeros(counts.size)
        goal[cell] = -1
        solved = scipy.optimize.linprog(
            goal, A_eq=design, b_eq=design @ counts.ravel(), bounds=(0, None), method="highs"
        )
        found.append(-solved.fun > 1e-7)
    return np.array(found)


def slow_means(counts, design, support):
    """Newton's method on the log-likelihood of the parameters themselves: no margin is ever scaled."""
    values, vectors = np.linalg.eigh(design[:, support].T @ design[:, support])
    basis, seen = vectors[:, values > 1e-9], counts.ravel()[support].astype(float)

    def loss(theta):
        return float(np.exp(basis @ theta).sum() - seen @ basis @ theta)

    theta = basis.T @ np.log(np.full(support.sum(), seen.mean()))
    for _ in range(200):
        means = np.exp(basis @ theta)
        step = np.linalg.solve(basis.T @ (means[:, None] * basis), basis.T @ (seen - means))
        size = 1.0
        while loss(theta + size * step) > loss(theta) and size > 1e-12:
            size /= 2
        theta = theta + size * step
    found = np.zeros(counts.size)
    found[support] = np.exp(basis @ theta)
    return found.reshape(counts.shape)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(sparse_tables())
def test_support_means_statistic_and_freedom_are_those_of_a_slow_fit(drawn):
    counts, generators = drawn
    design = slow_design(counts.shape, generators)
    support = slow_support(counts, design)
    means = slow_means(counts, design, support)
    fit = fit_log_linear(counts, generators)
    assert fit.support.ravel().tolist() == support.tolist()
    np.testing.assert_allclose(fit.probabilities * counts.sum(), means, rtol=1e-6, atol=1e-6)
    there = counts > 0
    g_squared = 2 * float((counts[there] * np.log(counts[there] / means[there])).sum())
    assert fit.statistic == pytest.approx(g_squared, abs=1e-6)
    inside = support.reshape(counts.shape)
    assert fit.pearson == pytest.approx(
        float(((counts - means)[inside] ** 2 / means[inside]).sum()), rel=1e-5, abs=1e-6
    )
    assert fit.df_adjusted == support.sum() - np.linalg.matrix_rank(design[:, support])
    assert fit.df == counts.size - np.linalg.matrix_rank(design)


@pytest.mark.parametrize("name", ["edwards", "czech", "rochdale", "journey"])
def test_the_papers_models_have_their_recomputed_statistics(name):
    table = paper_table(name)
    fit = fit_log_linear(table.counts, parse_margins(PAPER_TABLES[name], table.names, table.shape).margins)
    oracle = FIGURES[f"fit.{name}"]["value"]
    assert fit.statistic == pytest.approx(oracle["G2"], abs=1e-4)
    assert fit.pearson == pytest.approx(oracle["X2"], abs=1e-4)
    assert (fit.df, fit.df_adjusted) == (oracle["df_nominal"], oracle["df_adjusted"])
    assert fit.support.sum() == oracle["support_cells"]
    uniform = np.full(table.shape, 1 / table.counts.size)
    distance = FIGURES[f"tv_uniform.{name}"]["value"]
    assert 0.5 * np.abs(fit.probabilities - uniform).sum() == pytest.approx(distance["TV"], abs=1e-6)


def test_a_fit_that_does_not_reach_its_margins_is_refused_and_the_naive_number_is_not(monkeypatch):
    """Who asks for a fit must know; the number beside a noise-aware test is that of the last cycle."""
    monkeypatch.setattr(hierarchical_model, "MOST_CYCLES", 5)
    counts = np.random.default_rng(5).integers(1, 30, (3, 4, 2))
    with pytest.raises(DiscreetError, match="did not reach its margins"):
        fit_log_linear(counts, NO_THREE_WAY)
    model = HierarchicalModel.of(NO_THREE_WAY, np.ones(counts.shape))
    assert not plain_fit(counts[None].astype(float), model).reached[0]
    early = naive_ratios(counts[None], model)[0][0]
    monkeypatch.undo()
    assert early == pytest.approx(naive_ratios(counts[None], model)[0][0], rel=1e-4)


def test_a_programme_that_is_not_solved_is_told(monkeypatch):
    """It used to pass as if no cell vanished."""
    monkeypatch.setattr(
        scipy.optimize, "linprog", lambda *_, **__: SimpleNamespace(status=4, message="trouble")
    )
    counts = np.ones((2, 2, 2), dtype=int)
    counts[0, 0, 0] = counts[1, 1, 1] = 0
    with pytest.raises(DiscreetError, match="trouble"):
        fit_log_linear(counts, NO_THREE_WAY)


@pytest.mark.parametrize("counts", [np.zeros((2, 2)), [[1, -1], [1, 1]], []])
def test_empty_and_negative_tables_and_axes_that_are_not_there_are_refused(counts):
    with pytest.raises(BadRequest, match="not negative and not empty"):
        fit_log_linear(counts, [(0,)])
    with pytest.raises(BadRequest, match="axis 2"):
        model([(0,), (2,)], (2, 2))


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
def test_it_equals_direct_maximisation(any_noise, name):
    shape, generators = GENERATORS[name]
    rng = np.random.default_rng(1)
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
    np.testing.assert_allclose(fit.means, model.fit(counts.astype(float)), atol=1e-7)


def test_a_row_of_released_zeros_vanishes_when_zeros_are_kept():
    noise = keep_zero(laplace(epsilon=0.5, m=7))
    released = np.array([[[40, 35, 50], [0, 0, 0], [38, 44, 41]]])
    model = HierarchicalModel.of([(0,), (1,)], np.ones((3, 3)))
    fit = maximise(PoissonLikelihood.of(channel_of(noise).evidence(released)), model)
    assert fit.means[0, 1].tolist() == [0.0, 0.0, 0.0]
    assert fit.present[0].sum() == 6
    assert model.degrees_of_freedom(fit.present[0]) == 2


def test_cells_that_cannot_occur_have_mean_zero_and_no_part():
    offset = 1.0 - np.eye(3)
    released = np.array([[[0, 20, 31], [14, 0, 22], [25, 30, 0]]])
    evidence = channel_of(laplace(epsilon=1.0, m=5)).evidence(released)
    evidence = with_sure_zeros(evidence, np.broadcast_to(offset == 0, released.shape))
    fit = maximise(PoissonLikelihood.of(evidence), HierarchicalModel.of([(0,), (1,)], offset))
    assert (fit.means[0][offset == 0] == 0).all()
    assert fit.present.sum() == 6
    ratios = fit.means[0][0, 1] * fit.means[0][1, 2] * fit.means[0][2, 0]
    assert ratios == pytest.approx(fit.means[0][0, 2] * fit.means[0][1, 0] * fit.means[0][2, 1], rel=1e-6)
