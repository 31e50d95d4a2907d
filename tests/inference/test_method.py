import numpy as np
import pytest

from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.method import chosen_method, p_value, reason
from discreet.inference.noise_by_cell import by_cell
from discreet.inference.null_law import NullLaw, null_law
from discreet.inference.ratios import ratios
from discreet.noise import laplace

NOISE = laplace(epsilon=0.5, m=10)


def law(mean, doubt, variance, df, crowded=False):
    numbers = (np.array([float(each)]) for each in (mean, doubt, variance))
    return NullLaw(*numbers, np.array([df]), np.array([crowded]))


@pytest.mark.parametrize(
    ("known", "cells", "method", "draws"),
    [
        (law(8.01, 0.0, 16.1, 8), 15, "chi-square", 499),
        (law(40, 1.0, 85, 35), 48, "moments", 499),
        (law(9.5, 0.1, 20, 8), 15, "moments", 499),
        (law(9.5, 2.0, 20, 8), 15, "bootstrap", 499),
        (law(1.3, 0.0, 3.0, 1), 4, "bootstrap", 499),
        (law(30, 0.3, 70, 24, True), 60, "bootstrap", 499),
        (law(500, 90, 800, 400), 1_000, "bootstrap", 99),
        (law(500, 90, 800, 400), 40_000, "moments", 499),
    ],
)
def test_the_first_method_that_holds_is_taken(known, cells, method, draws):
    assert chosen_method(known, NOISE, cells, 499, "poisson") == (method, draws)


@pytest.mark.parametrize(
    ("epsilon", "method", "draws"), [(1, "bootstrap", 499), (0.05, "bootstrap", 99), (0.01, "moments", 499)]
)
def test_the_wider_the_laws_the_less_is_drawn(epsilon, method, draws):
    """Wrong alternative: the work counted by the window through which a wide law is looked at, whatever its width."""
    noise = by_cell(laplace(epsilon=epsilon, m=int(30 / epsilon)), (5, 2))
    assert chosen_method(law(9.5, 2.0, 20, 8), noise, 10, 499, "poisson") == (method, draws)


@pytest.mark.parametrize(
    ("method", "known", "words"),
    [
        (
            "chi-square",
            law(8.01, 0.0, 16.1, 8),
            "nearly the mean and the variance of the chi-square law, 8 and 16",
        ),
        ("chi-square", law(40, 1, 85, 35), "does not hold"),
        ("moments", law(40, 1, 85, 35), "40.0 and 85.0, not 35 and 70. The p-value comes from a multiple"),
        ("moments", law(40, 50, 85, 35), "errs on the safe side"),
        ("bootstrap", law(40, 50, 85, 35), "99 tables drawn from the hypothesis"),
    ],
)
def test_the_reader_is_told_where_the_p_value_comes_from_and_why(method, known, words):
    assert words in reason(method, known, 99)


def test_the_methods_agree_where_all_hold():
    table = np.array([[[520, 310, 411], [300, 250, 290], [180, 133, 166]]])
    model = HierarchicalModel.of([(0,), (1,)], np.ones((3, 3)))
    found = ratios(table, NOISE, model)
    known = null_law(found, model, NOISE)
    values = [
        p_value(method, found, known, model, NOISE, total=None, replicates=499, seed=1)
        for method in ("chi-square", "moments", "bootstrap")
    ]
    assert values[1] == pytest.approx(values[0], abs=0.01)
    assert values[2] == pytest.approx(values[0], abs=0.07)
