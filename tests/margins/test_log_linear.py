from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from discreet.errors import BadRequest, DiscreetError
from discreet.margins.closure import margin_table, margin_tables, parse_margins
from discreet.margins.log_linear import (
    facial_set,
    fit_log_linear,
    parameters,
    proportional_fit,
    total_variation,
)

from .conftest import margin_sets, summing_matrix


@pytest.mark.parametrize("name", ["edwards", "czech", "rochdale", "journey"])
def test_the_papers_models_have_their_recomputed_statistics(papers, figures, name):
    table, wanted = papers[name]
    fit = fit_log_linear(table.counts, wanted)
    oracle = figures[f"fit.{name}"]
    assert fit.statistic == pytest.approx(oracle["G2"], abs=1e-4)
    assert fit.pearson == pytest.approx(oracle["X2"], abs=1e-4)
    assert (fit.df, fit.df_adjusted) == (oracle["df_nominal"], oracle["df_adjusted"])
    assert fit.support.sum() == oracle["support_cells"]
    uniform = np.full(table.shape, 1 / table.counts.size)
    distance = figures[f"tv_uniform.{name}"]
    assert total_variation(fit.probabilities, uniform) == pytest.approx(distance["TV"], abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(margin_sets(variables=(2, 3), categories=(2, 4), cells=40), st.integers(0, 999))
def test_the_facial_set_is_what_cell_by_cell_programs_find(wanted, seed):
    """Slow: one program for each cell asks how large it can be in a table with these margins."""
    counts = np.random.default_rng(seed).poisson(0.6, wanted.shape).astype(float)
    if not counts.sum():
        counts[(0,) * counts.ndim] = 1
    design = np.vstack([summing_matrix(wanted, m) for m in wanted.margins])
    slow = []
    for cell in range(counts.size):
        goal = np.zeros(counts.size)
        goal[cell] = -1
        solved = linprog(goal, A_eq=design, b_eq=design @ counts.ravel(), bounds=(0, None))
        slow.append(-solved.fun > 1e-7)
    assert facial_set(counts, wanted).ravel().tolist() == slow


@settings(max_examples=25, deadline=None)
@given(margin_sets(variables=(2, 3), categories=(2, 4), cells=40), st.integers(0, 999))
def test_fitted_tables_have_the_margins_of_the_data(wanted, seed):
    counts = np.random.default_rng(seed).poisson(1.5, wanted.shape)
    counts[(0,) * counts.ndim] += 1
    fit = fit_log_linear(counts, wanted)
    for margin, table in margin_tables(counts, wanted).items():
        fitted = margin_table(fit.probabilities, margin) * counts.sum()
        assert fitted == pytest.approx(table.astype(float), abs=1e-6)
    assert not fit.probabilities[~fit.support].any()
    assert 0 <= fit.df_adjusted <= fit.df


def test_independence_has_its_closed_form():
    counts = np.array([[10, 20, 30], [5, 5, 30]])
    fit = fit_log_linear(counts, parse_margins("A,B", "AB", (2, 3)))
    expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum() ** 2
    assert fit.probabilities == pytest.approx(expected)
    assert (fit.df, fit.df_adjusted, fit.rounds) == (2, 2, 1)


def test_the_saturated_model_fits_and_has_no_degrees_of_freedom():
    counts = np.arange(1, 9).reshape(2, 2, 2)
    wanted = parse_margins("ABC", "ABC", (2, 2, 2))
    fit = fit_log_linear(counts, wanted)
    assert fit.statistic == pytest.approx(0, abs=1e-9)
    assert (fit.df, parameters(wanted)) == (0, 8)


def test_margins_that_contradict_each_other_are_not_fitted_for_ever():
    margins = {(0,): np.array([5.0, 5.0]), (1,): np.array([6.0, 6.0])}
    with pytest.raises(DiscreetError, match="contradict"):
        proportional_fit(margins, np.ones((2, 2), dtype=bool))


def test_empty_and_negative_tables_are_refused():
    wanted = parse_margins("A,B", "AB", (2, 2))
    for counts in (np.zeros((2, 2)), np.array([[1, -1], [1, 1]]), np.ones((2, 3))):
        with pytest.raises(BadRequest):
            fit_log_linear(counts, wanted)
