"""Noise as data: the integer noise table, its families and its design.

>>> laplace(epsilon=1.5, m=7).modulus
4294967296
"""

from __future__ import annotations

from discreet.mechanism.abs_by_epsilon import abs_noise
from discreet.mechanism.discrete_gaussian import gaussian
from discreet.mechanism.discrete_laplace import laplace
from discreet.mechanism.drop_add import dropadd
from discreet.mechanism.exponential import exponential
from discreet.mechanism.hellinger_type import hellinger
from discreet.mechanism.maximum_entropy import maxent
from discreet.mechanism.noise_table import NoiseRow, NoiseTable
from discreet.mechanism.pram_matrices import pram
from discreet.mechanism.quantisation_report import quantisation_report
from discreet.mechanism.truncated_normal import normal

__all__ = [
    "NoiseRow",
    "NoiseTable",
    "abs_noise",
    "dropadd",
    "exponential",
    "gaussian",
    "hellinger",
    "laplace",
    "maxent",
    "normal",
    "pram",
    "quantisation_report",
]
