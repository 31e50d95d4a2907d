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

from discreet.assess.two_way import analyse, freedom, total_variation
from discreet.inference import plain_fit
from discreet.inference.association import cramers_v
from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.ratios import naive_ratios
from discreet.margins.closure import parse_margins
from discreet.margins.tables import paper_table
from discreet.noise.table import NoiseRow, NoiseTable

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


def test_empty_rows_and_columns_are_left_out():
    wider = np.zeros((4, 5), dtype=np.int64)
    wider[np.ix_([0, 2, 3], [0, 1, 4])] = TABLE
    found, plain = (
        analyse(wider[None, None], np.ones((1, 4, 5), dtype=bool)),
        analyse(TABLE[None, None], EVERYWHERE),
    )
    assert found.df == plain.df
    assert found.association == pytest.approx(plain.association)


def test_layers_add_up():
    layers = np.stack([TABLE, TABLE.T + 3])
    found = analyse(layers[None], np.ones((2, 3, 3), dtype=bool))
    parts = [analyse(layer[None, None], EVERYWHERE) for layer in layers]
    assert found.pearson == pytest.approx(sum(part.pearson for part in parts))
    assert found.df == sum(part.df for part in parts)
    assert found.fitted.sum() == pytest.approx(1)


def test_negative_counts_are_taken_as_zero():
    table = TABLE.copy()
    table[0, 0] = -4
    clipped = np.maximum(table, 0)
    assert analyse(table[None, None], EVERYWHERE).pearson == analyse(clipped[None, None], EVERYWHERE).pearson


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
    assert freedom(np.where(possible, 5.0, 0.0)[None], possible).tolist() == [2]


def test_v_is_that_of_the_readers_naive_estimate():
    nothing = NoiseTable(1, (NoiseRow((0,), (1,)),))
    assert analyse(TABLE[None, None], EVERYWHERE).association[0] == pytest.approx(
        cramers_v(TABLE, nothing).naive
    )


def test_total_variation_of_mles_is_that_of_fitted_log_linear_models():
    other = TABLE + np.array([[5, -9, 0], [0, 3, 3], [-7, 0, 8]])
    found = analyse(np.stack([TABLE, other])[:, None], EVERYWHERE)
    fits = [plain_fit.fit_log_linear(table, [(0,), (1,)]).probabilities for table in (TABLE, other)]
    slow = np.abs(fits[0] - fits[1]).sum() / 2
    assert slow > 0.01
    assert total_variation(found.fitted[0], found.fitted)[1] == pytest.approx(slow, abs=1e-9)


def test_total_variation_is_worked_by_hand():
    """Margins (1/2, 1/2) x (1/2, 1/2) against (3/4, 1/4) x (1/2, 1/2): a quarter of the mass moves."""
    tables = np.array([[[5, 5], [5, 5]], [[6, 9], [4, 1]]])[:, None]
    found = analyse(tables, np.ones((1, 2, 2), dtype=bool))
    assert total_variation(found.fitted[0], found.fitted) == pytest.approx([0, 0.25])


@pytest.mark.parametrize("name", ["edwards", "czech"])
def test_total_variation_from_the_uniform_law_is_the_recomputed_one(name):
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
