"""The outcome of a test: its document, its sentence on the naive test, and its tail."""

import json
import math

import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet.inference.channel import by_cell
from discreet.inference.hypothesis_tests.independence import independence_test
from discreet.inference.hypothesis_tests.likelihood_ratio import (
    LikelihoodRatio,
    NaiveTest,
    chi_square,
    counts_behind,
    likelihood_ratios,
    read_likelihood_ratio,
    spread_of,
)
from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.noise import laplace, maxent


def test_a_document_has_what_is_promised():
    document = independence_test([[52, 31], [30, 55]], laplace(epsilon=0.5, m=7)).document()
    wanted = {"statistic", "df", "p_value", "naive", "model", "method", "converged"}
    assert wanted <= set(document)
    assert {"statistic", "p_value"} <= set(document["naive"])


def test_an_outcome_is_read_back_from_its_document():
    for table in ([[52, 31], [30, 55]], [[0, 0], [30, 55]]):
        found = independence_test(table, laplace(epsilon=0.5, m=7))
        read = read_likelihood_ratio(json.loads(json.dumps(found.document())))
        assert read == found
        assert read.why == found.why


def outcome(p_value, naive, spread=2.0):
    return LikelihoodRatio(
        "nothing differs", 1.0, 1, p_value, NaiveTest(9.0, 1, naive), "poisson", "chi-square", True, spread
    )


@pytest.mark.parametrize(
    ("p_value", "naive", "words"),
    [
        (0.4, 0.01, "the naive test would reject"),
        (0.01, 0.4, "the noise had hidden a departure"),
        (0.01, 0.01, "both reject"),
        (0.05, 0.051, "had hidden"),
        (0.4, 0.4, "neither rejects"),
    ],
)
def test_the_sentence_says_which_of_the_two_rejects(p_value, naive, words):
    assert words in outcome(p_value, naive).why
    assert "no noise" in outcome(p_value, naive, spread=0.0).why


def test_the_tail_is_one_where_nothing_is_left_to_test():
    assert chi_square([5.0, 5.0, -1e-12], [0, 1, 3]) == pytest.approx([1.0, math.erfc(math.sqrt(2.5)), 1.0])


def test_the_spread_of_a_law_is_its_standard_deviation():
    noise = laplace(epsilon=0.5, m=7)
    assert spread_of(noise) == pytest.approx(math.sqrt(noise.rows[0].variance()))


MODEL = HierarchicalModel.of([(0,), (1,)], np.ones((2, 3)))
TABLES = np.array([[[30, 41, 22], [52, 28, 31]], [[12, 9, 20], [15, 22, 8]]])


def test_one_of_a_batch_is_that_table_alone():
    noise = maxent(D=5, V=3, js=2)
    both = likelihood_ratios(TABLES, noise, MODEL)
    alone = likelihood_ratios(TABLES[1:], noise, MODEL)
    assert both.statistic[1:] == pytest.approx(alone.statistic)
    assert both.means[1:] == pytest.approx(alone.means)
    assert both.df[1:].tolist() == alone.df.tolist() == [2]


def test_how_many_counts_are_looked_at():
    assert counts_behind(maxent(D=5, V=3, js=2)) == 11
    wide = by_cell(laplace(epsilon=0.025, modulus=2**64), (2, 3))
    assert counts_behind(wide) == 256
    assert counts_behind(wide, given=True) > 2000


def test_a_public_total_of_wide_noise_and_many_cells_is_refused():
    noise = laplace(epsilon=0.025, modulus=2**64)
    model = HierarchicalModel.of([(0,), (1,)], np.ones((10, 10)))
    with pytest.raises(BadRequest, match="multinomial model of 100 cells"):
        likelihood_ratios(np.full((1, 10, 10), 50), noise, model, 5000)
