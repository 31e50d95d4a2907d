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

from discreet.errors import BadRequest, DiscreetError
from discreet.inference import hierarchical_model
from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.plain_fit import fit_log_linear, plain_fit
from discreet.inference.ratios import naive_ratios
from discreet.margins.closure import parse_margins
from discreet.margins.tables import PAPER_TABLES, paper_table

FIGURES = json.loads((Path(__file__).parents[1] / "oracles" / "yang2012.json").read_text("utf-8"))["figures"]
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


@settings(max_examples=20, deadline=None)
@given(sparse_tables())
def test_the_naive_test_and_a_fit_by_itself_say_the_same(drawn):
    counts, generators = drawn
    fit = fit_log_linear(counts, generators)
    statistic, df = naive_ratios(counts[None], HierarchicalModel.of(generators, np.ones(counts.shape)))
    assert statistic[0] == fit.statistic
    assert df[0] == fit.df_adjusted


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


def test_independence_has_its_closed_form():
    counts = np.array([[10, 20, 30], [5, 5, 30]])
    fit = fit_log_linear(counts, [(0,), (1,)])
    expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum() ** 2
    assert fit.probabilities == pytest.approx(expected)
    assert (fit.df, fit.df_adjusted) == (2, 2)


def test_the_saturated_model_fits_and_has_no_degrees_of_freedom():
    fit = fit_log_linear(np.arange(1, 9).reshape(2, 2, 2), [(0, 1, 2)])
    assert fit.statistic == pytest.approx(0, abs=1e-9)
    assert (fit.df, fit.df_adjusted) == (0, 0)


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
def test_empty_and_negative_tables_are_refused(counts):
    with pytest.raises(BadRequest, match="not negative and not empty"):
        fit_log_linear(counts, [(0,)])
