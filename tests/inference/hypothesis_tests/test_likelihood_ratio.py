"""The outcome of a test: its document, its sentence on the naive test, and its tail."""

import json
import math

import pytest

from discreet.inference.hypothesis_tests.independence import independence_test
from discreet.inference.hypothesis_tests.likelihood_ratio import (
    LikelihoodRatio,
    NaiveTest,
    chi_square,
    read_likelihood_ratio,
)
from discreet.noise import laplace


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
