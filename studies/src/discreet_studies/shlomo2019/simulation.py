"""The simulation of section 3.4: survey-weighted 7 x 7 tables, protected in three ways.

    log μ(i, j) = 6.5 + α(i) + β(j) + c γ(i, j),   α, β, γ uniform on -1/2..1/2,   c = 0.2 or 0.02;
    weights uniform on 20..40;   sample count = round(population / weight).

The paper prints "μ =" without a logarithm and "Uniform(0.5,0.5)"; this is the literal reading of its text. Effects
uniform on -1..1 are simulated beside it (`Exhibit.readings`). PRAM uses the invariant matrices M* of each table.
Weighted counts move by the overall or by the cell's average weight.

Source: Shlomo, Krenzke & Li (2019), sections 2.1-2.3 and 3.4.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.inference.hypothesis_tests.p_value import with_noise
from discreet.noise import dropadd, laplace, pram
from discreet.noise.families.pram import invariant_matrix, large_matrix, small_matrix
from discreet.survey.weight_forms import SurveyDesign
from discreet_studies.average_weights import cell_average, overall_average
from discreet_studies.exhibit import Effort

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SIDE = 7
ETA = 6.5
#: Effects are uniform on ± this: as the text must mean, and another reading that gives its 44,000 people.
HALF_WIDTH = 0.5
WIDER = 1.0
WEIGHTS = (20.0, 40.0)
INTERACTION = {"dependent": 0.2, "independent": 0.02}
PRINTED_RUNS = 500
METHODS = ("DP", "PRAM", "Q")
EPSILON = 2.0
CAP = 7
_BASE = 2 * CAP + 1
_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class Protected:
    """Tables protected in one way: sample counts, and weighted counts by either average weight."""

    sample: Ints
    overall: Floats
    cell: Floats


@dataclass(frozen=True, slots=True)
class Simulation:
    """Many tables of one kind: the original sample and population counts, and their protected forms."""

    sample: Ints
    population: Ints
    protected: dict[str, Protected]


@lru_cache(maxsize=4)
def simulation(kind: str, effort: Effort, half_width: float = HALF_WIDTH) -> Simulation:
    """The tables of one kind, "dependent" or "independent"; kept, since six exhibits look at them."""
    number = effort.of(10_000, PRINTED_RUNS)
    rng = np.random.default_rng([effort.seed, 34, list(INTERACTION).index(kind)])
    population = population_tables(rng, number, INTERACTION[kind], half_width)
    weights = rng.uniform(*WEIGHTS, population.shape)
    # A cell of fewer than half a weight would have nobody in the sample and no weight: keep one person.
    sample = np.maximum(np.rint(population / weights), 1).astype(np.int64)
    noisy = {
        "DP": np.maximum(with_noise(sample, laplace(epsilon=EPSILON, m=CAP), rng), 0),
        "PRAM": invariant_pram(sample, rng),
        "PRAM, M as printed": with_noise(sample, pram(epsilon=EPSILON, m=CAP), rng),
        "Q": with_noise(sample, dropadd(m=CAP), rng),
    }
    return Simulation(
        sample, population, {name: _weighted(sample, tables, population) for name, tables in noisy.items()}
    )


def population_tables(rng: np.random.Generator, number: int, interaction: float, half_width: float) -> Ints:
    """Poisson population tables with uniform effects."""
    effects = rng.uniform(-half_width, half_width, (number, SIDE, 1))
    columns = rng.uniform(-half_width, half_width, (number, 1, SIDE))
    together = interaction * rng.uniform(-half_width, half_width, (number, SIDE, SIDE))
    return rng.poisson(np.exp(ETA + effects + columns + together))


def invariant_pram(sample: Ints, rng: np.random.Generator) -> Ints:
    """PRAM with the invariant matrices of each table: t M* = t for small values and for residuals."""
    small, large = small_matrix(EPSILON, CAP), large_matrix(EPSILON, CAP)
    drawn = rng.random(sample.shape)
    released = sample.copy()
    for table, chance, out in zip(sample, drawn, released, strict=True):
        is_small = table < CAP
        out[is_small] = _moved(table[is_small], small, chance[is_small])
        residual = table[~is_small] % _BASE
        out[~is_small] += _moved(residual, large, chance[~is_small]) - residual
    return released


def _moved(values: Ints, matrix: Floats, chance: Floats) -> Ints:
    """Values drawn from the rows of M*, the invariant form of the matrix for these values' frequencies."""
    frequencies = np.bincount(values, minlength=len(matrix)).astype(np.float64)
    cumulative = invariant_matrix(matrix, frequencies).cumsum(axis=1)
    return np.asarray((chance[:, None] > cumulative[values][:, :-1]).sum(axis=1), dtype=np.int64)


def _weighted(sample: Ints, noisy: Ints, population: Ints) -> Protected:
    """Weighted counts: a cell's weights add up to its population count, so W_k is that count."""
    scale = 10**_DECIMALS
    overall, cell = np.empty(sample.shape), np.empty(sample.shape)
    for i in range(len(sample)):
        sums = population[i] * scale
        design = SurveyDesign(int(sample[i].sum()), int(sums.sum()), _DECIMALS, int(sums.max()))
        overall[i] = overall_average(noisy[i], sample[i], sums, design) / scale
        cell[i] = cell_average(noisy[i], sample[i], sums, design) / scale
    return Protected(noisy, np.maximum(overall, 0.0), np.maximum(cell, 0.0))
