"""Noise as data: the integer noise table, its families and its design.

>>> laplace(epsilon=1.5, m=7).modulus
4294967296
"""

from __future__ import annotations

from discreet.noise.exponential import exponential
from discreet.noise.families.abs import abs_noise
from discreet.noise.families.dropadd import dropadd
from discreet.noise.families.gaussian import gaussian
from discreet.noise.families.hellinger import hellinger
from discreet.noise.families.laplace import laplace
from discreet.noise.families.maxent import maxent
from discreet.noise.families.normal import normal
from discreet.noise.families.pram import pram
from discreet.noise.quantisation_report import quantisation_report
from discreet.noise.table import NoiseRow, NoiseTable

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
