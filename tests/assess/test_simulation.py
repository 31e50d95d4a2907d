"""The noise-aware test of simulated releases is the reader's own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import chi2_contingency
from scipy.stats.contingency import association

from discreet.assess.simulation import (
    CHUNK,
    MOST_TESTED,
    analyse,
    degrees_of_freedom,
    releases,
    releases_to_test,
    simulate,
    summary,
    total_variation,
)
from discreet.assess.subject import Subject
from discreet.inference import independence_tests
from discreet.inference.channel import by_cell
from discreet.inference.hypothesis_tests import log_linear_model as plain_fit
from discreet.inference.hypothesis_tests.likelihood_ratio import chi_square, likelihood_ratios, naive_ratios
from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.inference.hypothesis_tests.null_distribution import NullDistribution, null_distribution
from discreet.margins.margin_set import parse_margins
from discreet.margins.sensitivity import paper_table
from discreet.noise import laplace, maxent
from discreet.noise.table import NoiseRow, NoiseTable

COUNTS = np.array([[[12, 30, 4], [25, 61, 9]]])

SUBJECT = Subject(COUNTS, np.ones(COUNTS.shape, dtype=bool))

NOISES = [laplace(epsilon=1.0, m=9), maxent(D=5, V=3, js=2)]


def equal(first, second):
    return all(
        a.keys() == b.keys() and all(np.array_equal(a[k], b[k], equal_nan=True) for k in a)
        for a, b in zip(first, second, strict=True)
    )


def test_the_outcome_does_not_depend_on_the_number_of_workers():
    once = simulate(SUBJECT, NOISES, 2 * CHUNK + 7, seed=5, workers=1)
    assert equal(once, simulate(SUBJECT, NOISES, 2 * CHUNK + 7, seed=5, workers=4))
    drawn = once[0]["l1"]
    assert len(drawn) == 2 * CHUNK + 7
    assert not np.array_equal(drawn[:CHUNK], drawn[CHUNK : 2 * CHUNK]), "chunks differ"
    assert not equal(once, simulate(SUBJECT, NOISES, 2 * CHUNK + 7, seed=6))


def test_the_outcome_of_a_setting_does_not_depend_on_the_others():
    assert equal(
        simulate(SUBJECT, NOISES, 30, seed=5)[1:], simulate(SUBJECT, [NOISES[1]], 30, seed=5, workers=2)
    )


def test_progress_tells_every_chunk():
    told = []
    simulate(SUBJECT, NOISES, CHUNK + 1, seed=1, progress=lambda done, of: told.append((done, of)))
    assert told == [(k, 4) for k in range(5)]


def test_impossible_cells_get_no_noise():
    possible = np.array([[[True, True, True], [True, True, False]]])
    drawn = releases(Subject(COUNTS * possible, possible), NOISES[0], 50, seed=1)
    assert (drawn[:, 0, 1, 2] == 0).all()
    assert drawn[:, 0, 0, 0].std() > 0


def test_without_noise_every_measure_says_so():
    nothing = NoiseTable(1, (NoiseRow((0,), (1,)),))
    (draws,) = simulate(SUBJECT, [nothing], 3, seed=1)
    for name in ("l1", "l2", "l3", "hellinger", "perturbed", "false_zeros", "total_variation"):
        assert (draws[name] == 0).all()
    assert draws["rm"] == pytest.approx(1)
    assert draws["aware_ratio"] == pytest.approx(draws["likelihood_ratio"], abs=1e-6)


def test_a_summary_has_its_monte_carlo_error_and_leaves_out_what_is_unknown():
    found = summary(np.array([1.0, 3.0, np.nan]))
    assert (found.mean, found.releases) == (2, 2)
    assert found.error == pytest.approx(1.0)
    assert summary(np.array([np.nan])) is None


ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "assessment.json").read_text("utf-8"))
TABLE = np.array([[120, 60, 40], [70, 90, 50], [30, 45, 80]])
EVERYWHERE = np.ones((1, 3, 3), dtype=bool)


def test_statistics_and_v_are_those_of_scipy():
    found = analyse(TABLE[None, None], EVERYWHERE)
    pearson = chi2_contingency(TABLE, correction=False)
    ratio = chi2_contingency(TABLE, correction=False, lambda_="log-likelihood")
    assert found.pearson == pytest.approx(pearson.statistic)
    assert found.ratio == pytest.approx(ratio.statistic)
    assert found.df == pearson.dof
    assert found.p_value == pytest.approx(pearson.pvalue, rel=1e-9)
    assert found.association == pytest.approx(association(TABLE, method="cramer"))


def test_empty_rows_and_columns_are_left_out_and_negative_counts_are_zero():
    wider, plain = np.zeros((4, 5), dtype=np.int64), analyse(TABLE[None, None], EVERYWHERE)
    wider[np.ix_([0, 2, 3], [0, 1, 4])] = TABLE
    wider[1, 2] = -4
    found = analyse(wider[None, None], np.ones((1, 4, 5), dtype=bool))
    assert found.df == plain.df
    assert found.association == pytest.approx(plain.association)


def test_layers_add_up():
    layers = np.stack([TABLE, TABLE.T + 3])
    found = analyse(layers[None], np.ones((2, 3, 3), dtype=bool))
    parts = [analyse(layer[None, None], EVERYWHERE) for layer in layers]
    assert found.pearson == pytest.approx(sum(part.pearson for part in parts))
    assert found.df == sum(part.df for part in parts)
    assert found.fitted.sum() == pytest.approx(1)


@pytest.mark.slow
@given(arrays(np.int64, (3, 4), elements=st.integers(0, 40)), arrays(np.bool_, (3, 4)))
def test_impossible_cells_give_quasi_independence(counts, possible):
    """Against the plain tests of `inference`, where no row or column empties without a cause of its own."""
    counts = np.where(possible, counts, 0)
    if (counts[possible] == 0).any() or not possible.any():
        return
    found = analyse(counts[None, None], possible[None])
    model = HierarchicalModel.of(((0,), (1,)), possible.astype(float))
    ratio, df = naive_ratios(counts[None], model)
    assert found.ratio == pytest.approx(ratio, abs=1e-6)
    assert found.df == df


def test_degrees_of_freedom_of_a_pattern_are_counted_by_its_parts():
    """Two blocks of 2 x 2 that do not touch: 8 cells, 4 + 4 parameters, two parts: 2 degrees of freedom."""
    possible = np.kron(np.eye(2), np.ones((2, 2))).astype(bool)
    assert degrees_of_freedom(np.where(possible, 5.0, 0.0)[None], possible).tolist() == [2]


def test_total_variation_of_mles_is_that_of_fitted_log_linear_models():
    other = TABLE + np.array([[5, -9, 0], [0, 3, 3], [-7, 0, 8]])
    found = analyse(np.stack([TABLE, other])[:, None], EVERYWHERE)
    fits = [plain_fit.fit_log_linear(table, [(0,), (1,)]).probabilities for table in (TABLE, other)]
    slow = np.abs(fits[0] - fits[1]).sum() / 2
    assert slow > 0.01
    assert total_variation(found.fitted[0], found.fitted)[1] == pytest.approx(slow, abs=1e-9)


@pytest.mark.parametrize("name", ["edwards", "czech"])
def test_total_variation_from_the_uniform_distribution_is_the_recomputed_one(name):
    paper, oracle = paper_table(name), ORACLE["total_variation_from_uniform"]
    fit = plain_fit.fit_log_linear(
        paper.counts, parse_margins(oracle["model"][name], paper.names, paper.shape).margins
    )
    uniform = np.full(paper.shape, 1 / paper.counts.size)
    assert total_variation(uniform, fit.probabilities[None]) == pytest.approx(oracle[name], abs=1e-6)


def test_a_table_with_one_side_fits_itself_and_an_empty_one_has_no_fit():
    found = analyse(np.array([[[[3], [1]]], [[[0], [0]]]]), np.ones((1, 2, 1), dtype=bool))
    assert found.fitted[0].ravel().tolist() == [0.75, 0.25]
    assert np.isnan(found.fitted[1]).all()
    assert found.df.tolist() == [0, 0]
    assert found.p_value.tolist() == [1, 1]
    assert np.isnan(found.association).all()


def test_the_noise_aware_test_is_the_readers_own():
    (draws,) = simulate(SUBJECT, NOISES[:1], 10, seed=4)
    own = independence_tests(releases(SUBJECT, NOISES[0], 10, seed=4)[:, 0], NOISES[0])
    assert draws["aware_p_value"] == pytest.approx(own.p_value)
    assert draws["likelihood_ratio"] == pytest.approx(own.naive_statistic)


def test_layers_of_the_noise_aware_test_add_up():
    counts = np.concatenate([COUNTS, COUNTS[:, ::-1] + 5])
    layered = Subject(counts, np.ones(counts.shape, dtype=bool))
    (draws,) = simulate(layered, NOISES[:1], 5, seed=2)
    drawn = releases(layered, NOISES[0], 5, seed=2)
    parts = [independence_tests(drawn[:, k], NOISES[0]).statistic for k in (0, 1)]
    assert draws["aware_ratio"] == pytest.approx(sum(parts))
    assert np.isnan(draws["corrected_v"]).all()


def test_a_table_with_one_side_has_no_test():
    one = Subject(np.array([[[5], [9]]]), np.ones((1, 2, 1), dtype=bool))
    (draws,) = simulate(one, NOISES[:1], 4, seed=1)
    assert "p_value" not in draws
    assert "aware_p_value" not in draws
    assert releases_to_test(one, NOISES[0], 100) == 0


def test_how_many_releases_are_tested_depends_on_sizes_only():
    large = Subject(np.full((1, 300, 300), 5), np.ones((1, 300, 300), dtype=bool))
    assert releases_to_test(SUBJECT, NOISES[0], 1000) == MOST_TESTED
    assert releases_to_test(SUBJECT, NOISES[0], 3) == 3
    assert releases_to_test(large, NOISES[0], 100) == 0


@pytest.mark.slow
@pytest.mark.parametrize("noise", [laplace(epsilon=0.2, modulus=2**64), laplace(epsilon=0.5, m=10)])
def test_the_distribution_is_the_statistics_own_under_dp_too_and_not_the_chi_square_distribution(noise):
    counts = np.random.default_rng(2).poisson(8, (2, 5, 6))
    wide = Subject(counts, np.ones(counts.shape, dtype=bool))
    assert releases_to_test(wide, noise, 3) == 3
    (draws,) = simulate(wide, [noise], 3, seed=6)
    drawn = releases(wide, noise, 3, seed=6)
    model = HierarchicalModel.of([(0,), (1,)], np.ones((5, 6)))
    looked_at = by_cell(noise, (5, 6))
    found = [likelihood_ratios(drawn[:, layer], looked_at, model) for layer in (0, 1)]
    distribution = NullDistribution.of_sum(null_distribution(each, model, looked_at) for each in found)
    statistic = sum(each.statistic for each in found)
    assert draws["aware_p_value"] == pytest.approx(distribution.by_distribution(statistic))
    assert draws["aware_p_value"] != pytest.approx(chi_square(statistic, distribution.df), rel=0.1)
