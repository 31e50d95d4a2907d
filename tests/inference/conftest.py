"""One noise table of every family, and none at all."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from discreet.noise import NoiseRow, NoiseTable, families
from discreet.noise.table import keep_zero

ORACLES = Path(__file__).parents[1] / "oracles"
PARAMETERS = {
    "laplace": {"epsilon": 0.5, "m": 7},
    "normal": {"epsilon": 1.0, "m": 8},
    "hellinger": {"epsilon": 3.0, "largest": 40, "top": 60},
    "maxent": {"D": 5, "V": 3, "js": 2},
    "abs": {"epsilon": 1.0, "D": 5},
    "pram": {},
    "dropadd": {},
    "gaussian": {"epsilon": 1.0, "delta": 1e-6},
    "rounded-normal": {"V": 2.0},
    "exponential": {"epsilon": 3.0, "largest": 40},
    "staircase": {"epsilon": 1.0, "width": 2, "m": 9},
    "least-variance": {"epsilon": 1.0, "delta": 0.25, "D": 5, "js": 2},
}
assert set(PARAMETERS) == set(families.names())
NAMES = sorted([*PARAMETERS, "laplace, zero kept"])
NO_NOISE = NoiseTable(1, (NoiseRow((0,), (1,)),), family="none")


@cache
def table(name):
    """The table of a name, built when a test first asks for it."""
    if name == "laplace, zero kept":
        return keep_zero(table("laplace"))
    return families.build(name, PARAMETERS[name])


_CHANCES = {}


def chances(noise, count):
    """The probabilities of the noise of a true count, by value; those of each row are made once."""
    row = noise.row(count)
    if id(row) not in _CHANCES:
        _CHANCES[id(row)] = row, {value: float(p) for value, p in row.probabilities().items()}
    return _CHANCES[id(row)][1]


@pytest.fixture(params=NAMES)
def any_noise(request):
    return table(request.param)


@pytest.fixture
def no_noise():
    return NO_NOISE


@pytest.fixture(scope="session")
def oracle():
    return json.loads((ORACLES / "noise_aware_tests.json").read_text("utf-8"))
