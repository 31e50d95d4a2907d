"""Inference for readers: intervals, tests and posteriors from a release and its noise distribution, never exact counts.

>>> from discreet.noise import laplace
>>> sum_interval([20] * 100, laplace(epsilon=1.0, m=8))
Interval(estimate=2000, low=1973, high=2027, level=0.95)
"""

from discreet.inference.channel import (
    NoiseByCell,
    Posterior,
    Prior,
    flat,
    negative_binomial_prior,
    poisson_prior,
    posterior,
)
from discreet.inference.confidence_intervals.count_intervals import (
    Interval,
    cell_interval,
    cell_intervals,
    difference_interval,
    ratio_interval,
    share_interval,
    sum_interval,
)
from discreet.inference.confidence_intervals.picked_cells import PickedCells, picked
from discreet.inference.hypothesis_tests.cramers_v import CramersV, cramers_v
from discreet.inference.hypothesis_tests.goodness_of_fit import (
    ProportionTest,
    distribution_test,
    proportion_test,
)
from discreet.inference.hypothesis_tests.independence import (
    IndependenceTests,
    independence_test,
    independence_tests,
    log_linear_test,
)
from discreet.inference.hypothesis_tests.likelihood_ratio import LikelihoodRatio

__all__ = [
    "CramersV",
    "IndependenceTests",
    "Interval",
    "LikelihoodRatio",
    "NoiseByCell",
    "PickedCells",
    "Posterior",
    "Prior",
    "ProportionTest",
    "cell_interval",
    "cell_intervals",
    "cramers_v",
    "difference_interval",
    "distribution_test",
    "flat",
    "independence_test",
    "independence_tests",
    "log_linear_test",
    "negative_binomial_prior",
    "picked",
    "poisson_prior",
    "posterior",
    "proportion_test",
    "ratio_interval",
    "share_interval",
    "sum_interval",
]
