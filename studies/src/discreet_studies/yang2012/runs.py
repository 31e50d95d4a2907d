"""The simulations behind figures 1-6 of the paper: its mechanism on its four tables, many times.

At every ε the whole mechanism runs (coefficients, noise, linear program, rounding) and the whole table w' is
compared with the true one. All six figures read the same runs, so they are made once.

One set of runs serves two scales. Noise of the published scale at ε is noise of the right scale at

    ε' = ε · (true sensitivity) / (published sensitivity),

so a corrected curve is a published one moved along the axis, and no run is repeated.

Source: Yang, Fienberg & Rinaldo (2012), section 4: 200 values of ε, 0.005 to 1.995, fifty runs each.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from discreet.inference.hypothesis_tests.log_linear_model import LogLinearFit, fit_log_linear
from discreet.margins.holistic import Holistic, HolisticRelease
from discreet.margins.integer_noise import SeededNoise
from discreet.margins.margin_set import MarginSet, margin_tables, parse_margins
from discreet.margins.sensitivity import PAPER_TABLES, Basis, ContingencyTable, paper_epsilon, paper_table
from discreet.margins.study import largest_l1
from discreet_studies.exhibit import Effort

TITLES = {
    "edwards": "Edwards fungus",
    "czech": "Czech autoworkers",
    "rochdale": "Rochdale",
    "journey": "Journey to work",
}
#: Values of the paper's grid that the findings name; every effort runs them.
NAMED = (0.005, 0.105, 1.005, 1.995)
LARGEST = 2.0
#: Above this the program's optimum is infeasibility and not a solver's last digit (coefficients are whole
#: numbers over 2^(k/2) or Π k, so a real deviation is far larger).
INFEASIBLE = 1e-6


@dataclass(frozen=True, eq=False)
class Dataset:
    """One of the paper's tables with its model and the model's fit."""

    name: str
    table: ContingencyTable
    wanted: MarginSet
    fit: LogLinearFit

    @property
    def basis(self) -> Basis:
        """The basis that the paper uses: Fourier where every variable is binary."""
        return "fourier" if self.wanted.is_binary else "efron-stein"

    @property
    def title(self) -> str:
        """Its name for people."""
        return TITLES[self.name]

    def true_epsilon(self, epsilon: float, neighbours: str = "add-remove") -> float:
        """What the published scale for an ε really gives."""
        return paper_epsilon(self.wanted, self.basis, neighbours, epsilon)


@lru_cache(maxsize=8)
def dataset(name: str) -> Dataset:
    """A table of the paper, read and fitted once.

    >>> dataset("journey").basis, round(dataset("journey").true_epsilon(1.0), 4)
    ('efron-stein', 1.2988)
    """
    table = paper_table(name)
    wanted = parse_margins(PAPER_TABLES[name], table.names, table.shape)
    return Dataset(name, table, wanted, fit_log_linear(table.counts, wanted.margins))


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run. An empty released table has no likelihood: its last two numbers are not a number.

    Args:
        sample_size: Figure 1.
        largest_l1: Figure 2.
        b: Figures 5 and 6.
        statistic_shift: Figure 3, |G² of w' - G² of the data|.
        mle_l1: Figure 4, the L1 distance (twice the total variation) between the two estimates.
    """

    sample_size: float
    largest_l1: float
    b: float
    statistic_shift: float
    mle_l1: float


@dataclass(frozen=True, slots=True)
class Cloud:
    """The runs of one table at one ε: nominal (as published), and what its scale really gives."""

    dataset: str
    epsilon: float
    true_epsilon: float
    runs: tuple[Outcome, ...]


def grid(effort: Effort) -> tuple[float, ...]:
    """Some of the paper's 200 values of ε: the named ones, and others between them in nearly even ratios.

    >>> from discreet_studies.exhibit import Effort
    >>> grid(Effort(quick=True))
    (0.005, 0.015, 0.025, 0.045, 0.105, 0.225, 0.475, 1.005, 1.995)
    """
    paper = 0.005 + 0.01 * np.arange(200)
    between = (effort.of(13, 3), effort.of(13, 2), effort.of(4, 0))
    wished = [
        np.geomspace(low, high, more + 2) for (low, high), more in zip(pairwise(NAMED), between, strict=True)
    ]
    return tuple(sorted({round(float(paper[np.abs(paper - w).argmin()]), 3) for w in np.concatenate(wished)}))


def clouds(name: str, effort: Effort) -> tuple[Cloud, ...]:
    """All runs of one table, in rising ε."""
    first = effort.seed + 10_000 * list(PAPER_TABLES).index(name)
    return tuple(
        _cloud(name, epsilon, effort.of(50, 6), first + place)
        for place, epsilon in enumerate(nominal_epsilons(name, effort))
    )


def nominal_epsilons(name: str, effort: Effort) -> list[float]:
    """The published ε to run: the grid, and some outside the paper's range.

    A corrected curve is moved along the axis and must cover that range too.
    """
    ratio = dataset(name).true_epsilon(1.0)
    smallest, largest = NAMED[0] / ratio, LARGEST / ratio
    above = np.geomspace(LARGEST, max(largest, LARGEST), effort.of(5, 2))[1:]
    more = [smallest] if ratio > 1 else [float(e) for e in above]
    return sorted({*grid(effort), *more})


@lru_cache(maxsize=1024)
def _cloud(name: str, epsilon: float, reps: int, seed: int) -> Cloud:
    known = dataset(name)
    plan = Holistic(known.wanted, known.basis, epsilon, as_published=True)
    exact, source = margin_tables(known.table.counts, known.wanted), SeededNoise(seed)
    runs = tuple(_outcome(known, plan.release(exact, source)) for _ in range(reps))
    return Cloud(name, epsilon, plan.true_epsilon, runs)


@lru_cache(maxsize=8)
def without_noise(name: str) -> Outcome:
    """The mechanism with every noise zero: what program and rounding do on their own."""
    known = dataset(name)
    plan = Holistic(known.wanted, known.basis, 1.0, as_published=True)
    exact = margin_tables(known.table.counts, known.wanted)
    return _outcome(known, plan.release(exact, lambda _table, _name, size: np.zeros(size, dtype=np.int64)))


def _outcome(known: Dataset, released: HolisticRelease) -> Outcome:
    exact = margin_tables(known.table.counts, known.wanted)
    shift, distance = math.nan, math.nan
    if released.sample_size > 0:
        fit = fit_log_linear(released.table, known.wanted.margins)
        shift = abs(fit.statistic - known.fit.statistic)
        distance = float(np.abs(fit.probabilities - known.fit.probabilities).sum())
    return Outcome(released.sample_size, largest_l1(released.margins, exact), released.lp_b, shift, distance)
