"""The points at which the sizes of the noise-aware tests are measured: noise, shape, people a cell, model.

A point says how its tables are drawn. Margins are uneven: the effects of each row, column and layer are uniform on
1/2 .. 3/2, drawn anew for each table, and the means are their products, scaled to the people a cell. Under the
alternative every mean is multiplied by exp(effect U), U uniform on -1/2 .. 1/2.

Goes to: `tests_size`, the statistical tests, docs/methods/noise-aware-tests.md.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.inference.channel import NoiseByCell, by_cell
from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.noise import families
from discreet.noise.cell_distribution import SumDistribution
from discreet.noise.table import NoiseTable

#: Tables of a point whose p-values need no drawn tables.
TABLES = 4_000


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the grid.

    Args:
        noise: A name in `NOISES`.
        kind: `independence`, `no three-way interaction`, or `distribution`: given chances.
        multinomial: Whether the total is public.
        tables: How many tables are tested at most.
        effect: The strength of the alternative for the power; 0: no power.
    """

    noise: str
    shape: tuple[int, ...]
    people: int
    kind: str = "independence"
    multinomial: bool = False
    tables: int = TABLES
    effect: float = 0.0

    @property
    def name(self) -> str:
        """What the point is called in the command and in the table."""
        lengths = "x".join(map(str, self.shape))
        kind = "" if self.kind == "independence" else f"-{self.kind.split()[0]}"
        model = "-multinomial" if self.multinomial else ""
        return f"{self.noise}-{lengths}-{self.people}{kind}{model}"

    def distribution(self) -> NoiseTable | NoiseByCell:
        """The noise of its cells, as a test looks at it."""
        return by_cell(NOISES[self.noise](self.shape), self.shape)

    def model(self) -> HierarchicalModel:
        """Its hypothesis; a given distribution is uneven by a factor of 3."""
        axes = range(len(self.shape))
        if self.kind == "distribution":
            chances = np.linspace(0.5, 1.5, prod(self.shape)).reshape(self.shape)
            return HierarchicalModel.of([()], chances / chances.sum())
        size = 1 if self.kind == "independence" else 2
        return HierarchicalModel.of(list(combinations(axes, size)), np.ones(self.shape))

    def means(self, tables: int, rng: np.random.Generator, effect: float = 0.0) -> NDArray[np.float64]:
        """The means of some tables, under the hypothesis or off it."""
        means = np.broadcast_to(self.model().offset, (tables, *self.shape))
        if self.kind != "distribution":
            for axis, length in enumerate(self.shape):
                sides = [tables, *(1,) * len(self.shape)]
                sides[axis + 1] = length
                means = means * rng.uniform(0.5, 1.5, sides)
        means = means * np.exp(effect * rng.uniform(-0.5, 0.5, means.shape))
        cells = tuple(range(1, means.ndim))
        return np.asarray(means / means.mean(axis=cells, keepdims=True) * self.people)


def _alone(name: str, **parameters: float) -> Callable[[tuple[int, ...]], NoiseTable]:
    return lambda _shape: families.build(name, parameters)


def _summed(
    name: str, terms: tuple[int, ...], **parameters: float
) -> Callable[[tuple[int, ...]], NoiseByCell]:
    """Noise as `dp` has it: a cell adds up one released cell or some, here at random."""

    @cache
    def noise(shape: tuple[int, ...]) -> NoiseByCell:
        row = families.build(name, parameters, modulus=2**64).rows[0]
        kinds = np.random.default_rng(5).integers(0, len(terms), shape)
        return NoiseByCell.of([SumDistribution(row, each) for each in terms], kinds)

    return noise


NOISES: dict[str, Callable[[tuple[int, ...]], NoiseTable | NoiseByCell]] = {
    "maxent": _alone("maxent", D=5, V=3, js=2),
    "laplace.5": _alone("laplace", epsilon=0.5, m=10),
    "laplace1": _alone("laplace", epsilon=1.0, m=10),
    "laplace.1": _alone("laplace", epsilon=0.1, m=10),
    "normal": _alone("normal", epsilon=1.0, m=8),
    "abs": _alone("abs", epsilon=1.0, D=5),
    "pram": _alone("pram"),
    "dropadd": _alone("dropadd"),
    "dp-laplace": _summed("laplace", (1, 4), epsilon=0.5),
    "dp-wide": _summed("laplace", (1, 2, 6), epsilon=0.2),
    "dp-gaussian": _summed("gaussian", (1, 2), epsilon=0.5, delta=1e-6),
}


def _points(
    noise: str, shape: tuple[int, ...], *people: int, tables: int = TABLES, effect: float = 0.0
) -> list[Point]:
    return [Point(noise, shape, each, tables=tables, effect=effect) for each in people]


_TWO, _FIFTEEN, _SIX, _TEN, _TWENTY = (2, 2), (3, 5), (6, 8), (10, 10), (20, 20)
#: Fewer tables where most need a bootstrap that takes long.
_SLOW = 1_000
GRID: tuple[Point, ...] = (
    *_points("maxent", _TEN, 10, effect=0.6),
    *_points("laplace.5", _TEN, 10, effect=0.6),
    *_points("laplace.5", _SIX, 8, effect=0.8),
    Point("laplace.5", (100,), 10, "distribution", effect=0.6),
    Point("maxent", (100,), 10, "distribution", effect=0.6),
    Point("laplace.5", (12,), 10, "distribution"),
    *_points("maxent", _SIX, 8, effect=0.8),
    *_points("maxent", _TEN, 5, effect=1.0),
    *_points("maxent", _TEN, 50, effect=0.3),
    *_points("laplace.5", _TEN, 5, effect=1.0),
    *_points("laplace.5", _TEN, 50, effect=0.3),
    *_points("laplace.5", _SIX, 5),
    *_points("laplace1", _TEN, 5, effect=1.0),
    *_points("laplace1", _FIFTEEN, 10),
    *_points("laplace.5", _FIFTEEN, 10, 50),
    *_points("maxent", _FIFTEEN, 50, effect=0.8),
    *_points("normal", _TEN, 10, effect=0.6),
    *_points("abs", _SIX, 8),
    *_points("abs", _TEN, 5),
    *_points("pram", _SIX, 2, 8),
    *_points("dropadd", _SIX, 2, 8),
    *_points("laplace.1", _SIX, 50),
    *_points("dp-laplace", _SIX, 10, 50),
    *_points("dp-laplace", _TEN, 50, effect=0.3),
    *_points("dp-wide", _SIX, 50, effect=0.8),
    *_points("dp-gaussian", _SIX, 50),
    *_points("dp-laplace", _FIFTEEN, 10),
    *_points("maxent", _TWENTY, 2, 5, 10),
    *_points("laplace.5", _TWENTY, 5, 10),
    *_points("laplace1", _TWENTY, 5),
    Point("laplace.5", (3, 4, 5), 10, "no three-way interaction", tables=_SLOW),
    Point("maxent", (4, 4, 4), 8, "no three-way interaction", tables=_SLOW),
    Point("laplace.5", _FIFTEEN, 10, multinomial=True),
    Point("laplace.5", _SIX, 8, multinomial=True),
    *_points("maxent", _TWO, 1, 5, 10, 50),
    *_points("laplace.5", _TWO, 2, 5, 10),
    *_points("laplace1", _TWO, 5),
    Point("maxent", _TWO, 10, multinomial=True, tables=_SLOW),
    *_points("maxent", _FIFTEEN, 1, tables=_SLOW),
    *_points("maxent", _FIFTEEN, 5, 10),
    *_points("laplace.5", _FIFTEEN, 5, tables=2_000),
    *_points("maxent", _TEN, 1, 2, tables=_SLOW),
    *_points("laplace.5", _SIX, 2),
    *_points("laplace.5", _FIFTEEN, 1, tables=_SLOW),
    *_points("normal", _SIX, 5, tables=_SLOW),
    *_points("dp-gaussian", _SIX, 10),
)
