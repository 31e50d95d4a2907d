"""The plan of a joint universe: every residual of the declared tables with its grid and noise table, and the claim.

    attributes  the levels of a hierarchy that the universe uses, coarse to fine, are one attribute; so is any other variable
    variances   those of the least weighted error at μ = 1, over μ²          (`margins/residual_space.py`)
    grid        a count is worth g integer steps, so that the noise spans enough of them (`margins/integer_noise.py`)

The claim follows from the integers that ship, for a unit of r records:

    μ²      = r² x worst-case squared L2 sensitivity, in fractions
    δ(ε)    = δ of N(0,1) against N(μ,1), x (1 + loss by the grid) + (1 + e^ε) x distance of all tables
    ε       = the least with δ(ε) ≤ δ, + loss by the lattices

The plan has the largest μ for which that is the budget's (ε, δ).

Source: docs/methods/dp-joint.md has the proofs.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadDescription
from discreet.margins import integer_noise, residual_space
from discreet.margins.residual_space import Attribute, Levels, ResidualSpace
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import ancestors
from discreet.model.privacy_budget import Terms
from discreet.model.universe import Margin, Universe
from discreet.noise.families.rounded_normal import rounded_normal
from discreet.noise.table import NoiseTable
from discreet.privacy.accounting import rho_at
from discreet.privacy.claim import float_down, float_up
from discreet.privacy.composition import gaussian_delta_above, gaussian_mu


def attribute_names(dataset: Dataset, universe: Universe) -> tuple[tuple[str, ...], ...]:
    """The variables of a universe as attributes: levels of one hierarchy together, coarse to fine; any other variable alone.

    Raises:
        BadDescription: A variable is a level of two hierarchies of which the universe uses more levels.
    """
    used = universe.variables
    attributes = [tuple(n for n in h.levels if n in used) for h in dataset.hierarchies]
    attributes = [attribute for attribute in dict.fromkeys(attributes) if len(attribute) > 1]
    alone = [(name,) for name in used if not any(name in attribute for attribute in attributes)]
    listed = [name for attribute in attributes for name in attribute]
    if len(set(listed)) < len(listed):
        twice = next(name for name in listed if listed.count(name) > 1)
        raise BadDescription(
            f'"{twice}" is a level of two hierarchies, and a joint universe takes it apart along one.',
            'Leave the other levels out of the universe, or write margins = "own".',
        )
    return tuple(sorted([*attributes, *alone]))


def levels_of(names: tuple[tuple[str, ...], ...], margin: Margin) -> Levels:
    """A margin as a level of every attribute."""
    return tuple(next((attribute.index(n) + 1 for n in margin if n in attribute), 0) for attribute in names)


def margin_of(names: tuple[tuple[str, ...], ...], part: Levels) -> Margin:
    """The margin of a level of every attribute."""
    return tuple(sorted(attribute[level - 1] for attribute, level in zip(names, part, strict=True) if level))


def attribute_of(dataset: Dataset, names: tuple[str, ...]) -> Attribute:
    """The levels of an attribute, each with the parents of its categories."""
    parents = [np.zeros(len(dataset.variable(names[0])), dtype=np.int64)]
    for coarse, fine in pairwise(names):
        up = ancestors(dataset, fine, coarse)
        parents.append(np.zeros(0, dtype=np.int64) if up is None else up)
    return Attribute(tuple(parents))


@dataclass(frozen=True, eq=False)
class JointErrors:
    """The errors of the cells of a joint universe, known before any noise table is made.

    Args:
        names: For each attribute the variable of every level, coarse to fine.
        variances: Of each residual before centring, in counts, in the order of `space.parts`.
    """

    names: tuple[tuple[str, ...], ...]
    space: ResidualSpace
    variances: tuple[float, ...]

    def of_cells(self, margin: Margin) -> list[tuple[float, int]]:
        """The variances of the cells of a declared table, each with the number of cells."""
        attributes = zip(self.space.attributes, levels_of(self.names, margin), strict=True)
        kinds = [_kinds(attribute, level) for attribute, level in attributes]
        return list(_cell_variances(kinds, list(zip(self.space.parts, self.variances, strict=True))))

    def expected_error(self, margin: Margin) -> float:
        """The mean over its cells of E|value - true count|: √(2/π) sd."""
        found = self.of_cells(margin)
        cells = sum(number for _, number in found)
        return math.sqrt(2 / math.pi) * math.fsum(math.sqrt(v) * n for v, n in found) / cells

    def standard_deviation(self, margin: Margin) -> float:
        """The root of the mean variance of its cells."""
        found = self.of_cells(margin)
        return math.sqrt(math.fsum(v * n for v, n in found) / sum(number for _, number in found))

    def most_exact(self, margin: Margin) -> float:
        """The largest probability that a cell shows its true count: that its noise is below one half."""
        least = min(v for v, _ in self.of_cells(margin))
        return 1.0 if least == 0 else math.erf(0.5 / math.sqrt(2 * least))


#: For one attribute at one level: the share of each level above in a category's variance, and the number of such categories.
Kinds = list[tuple[tuple[float, ...], int]]


def _kinds(attribute: Attribute, level: int) -> Kinds:
    columns = [residual_space.own_share(attribute, level, above) for above in range(level + 1)]
    found, numbers = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    return [(tuple(row), number) for row, number in zip(found.tolist(), numbers.tolist(), strict=True)]


def _cell_variances(kinds: list[Kinds], parts: list[tuple[Levels, float]]) -> Iterator[tuple[float, int]]:
    """Variances of cells by the kinds of their categories, one attribute after the other."""
    if not kinds:
        yield math.fsum(v for _, v in parts), 1
        return
    for factors, number in kinds[0]:
        rest = [(part[1:], v * factors[part[0]]) for part, v in parts if part[0] < len(factors)]
        merged: dict[Levels, float] = {}
        for part, variance in rest:
            merged[part] = merged.get(part, 0.0) + variance
        for variance, others in _cell_variances(kinds[1:], list(merged.items())):
            yield variance, number * others


#: Gaussian tables end after this many standard deviations: 2^64 keys have none beyond.
_REACH = 9.5
#: A smaller δ counts as this: floats end there.
_NOTHING = 1e-280
#: Rounding of floats on the way from μ to a variance never removes noise.
_NOT_LESS = 1 + 1e-12


_normal_table = lru_cache(maxsize=256)(rounded_normal)


@dataclass(frozen=True, slots=True)
class Residual:
    """One measured part of the universe.

    Args:
        margin: Its variables, sorted: the finest level of each attribute that it uses.
        grid: The number of integer steps per count.
        noise: The noise of a cell, in steps; None for an invariant, which is equal for all neighbours (`JointPlan` checks).
    """

    margin: Margin
    levels: Levels
    grid: int
    noise: NoiseTable | None

    @property
    def variance(self) -> Fraction:
        """The variance of a cell before centring, in counts, of the ideal distribution."""
        return Fraction(0) if self.noise is None else Fraction(self.noise.parameters["V"]) / self.grid**2

    @property
    def sigma(self) -> float:
        """The standard deviation of a cell before centring, in steps of the grid."""
        return math.sqrt(float(self.variance)) * self.grid


@dataclass(frozen=True, eq=False)
class JointPlan:
    """Every residual of a universe."""

    names: tuple[tuple[str, ...], ...]
    space: ResidualSpace
    residuals: tuple[Residual, ...]

    def __post_init__(self) -> None:
        exact = [each.levels for each in self.residuals if each.noise is None]
        free = {part for part, own in zip(self.space.parts, self.space.free, strict=True) if own}
        if not free.issuperset(exact):
            raise ValueError("only what is equal for all neighbours may have no noise")

    @cached_property
    def by_levels(self) -> dict[Levels, Residual]:
        return {each.levels: each for each in self.residuals}

    @cached_property
    def places(self) -> dict[Levels, slice]:
        """The places of each residual among the stored integers."""
        ends = np.cumsum([self.space.cells(part) for part in self.space.parts]).tolist()
        return dict(zip(self.space.parts, map(slice, [0, *ends], ends), strict=True))

    @cached_property
    def steps(self) -> float:
        """The smallest standard deviation of a residual's noise, in steps."""
        return min((each.sigma for each in self.residuals if each.noise is not None), default=math.inf)

    @cached_property
    def variances(self) -> tuple[float, ...]:
        return tuple(float(each.variance) for each in self.residuals)

    @cached_property
    def errors(self) -> JointErrors:
        return JointErrors(self.names, self.space, self.variances)

    def levels(self, margin: Margin) -> Levels:
        return levels_of(self.names, margin)

    def table_epsilon(self, margin: Margin, terms: Terms) -> float:
        """The ε of one table alone at the δ of the terms: that of the residuals it is made of."""
        table = self.levels(margin)
        own = [
            v if residual_space.is_within(part, table) else 0.0
            for part, v in zip(self.space.parts, self.variances, strict=True)
        ]
        mu = terms.records_per_unit * math.sqrt(self.space.cost([Fraction(v) for v in own])) * _NOT_LESS
        return least_epsilon(lambda epsilon: gaussian_delta_above(mu, epsilon), float_down(terms.delta))

    def table_of(self, variance: float) -> NoiseTable:
        """The noise of a released cell of a variance, as a noise table; for 0, that of the cell with the least noise."""
        margins = (margin_of(self.names, each) for each in self.space.tables)
        return _normal_table(
            variance or min(v for each in margins for v, _ in self.errors.of_cells(each) if v)
        )

    def loss(self, terms: Terms) -> Fraction:
        """μ² of all residuals together, for one unit."""
        return terms.records_per_unit**2 * self.space.cost([each.variance for each in self.residuals])

    def distance(self, terms: Terms) -> Fraction:
        """Total variation distance of the shipped noise from the ideal one, for the cells of one unit, lattices included."""
        lattices = sum(self._lattice(each) for each in self.residuals)
        return Fraction(lattices) + sum(
            (
                _noises(self.space, each.levels, terms) * cut_distance(each.noise)
                for each in self.residuals
                if each.noise is not None
            ),
            Fraction(0),
        )

    def _lattice(self, residual: Residual) -> float:
        return (
            0.0
            if residual.noise is None
            else residual_space.lattice_loss(self.space, residual.levels, residual.sigma)
        )

    def epsilon(self, terms: Terms, delta: float) -> tuple[float, float]:
        """The least ε that holds at a δ, and the δ that it has there; infinite if none holds."""
        mu = math.sqrt(self.loss(terms)) * _NOT_LESS
        if self.steps < integer_noise.FEWEST_STEPS:
            return math.inf, 1.0
        distance, lattice = float_up(self.distance(terms)), sum(map(self._lattice, self.residuals))

        def delta_at(epsilon: float) -> float:
            distribution, cut = gaussian_delta_above(mu, epsilon), (1 + math.exp(epsilon)) * distance
            if distribution < _NOTHING:
                return _NOTHING + cut
            grid = 1 + integer_noise.GRID * (integer_noise.grid_steps(epsilon, mu) / self.steps) ** 2
            return distribution * grid + cut

        epsilon = least_epsilon(delta_at, delta)
        return epsilon + lattice, delta_at(epsilon) if math.isfinite(epsilon) else 1.0


def least_epsilon(delta_at: Callable[[float], float], delta: float, doublings: int = 16) -> float:
    """The least ε whose δ is at most `delta`, rounded up, below 0.01 · 2^doublings; infinite if there is none."""
    high = next((e for e in (0.01 * 2**n for n in range(doublings)) if delta_at(e) <= delta), math.inf)
    low = high / 2 if high > 0.01 else 0.0
    for _ in range(100 if math.isfinite(high) else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_at(middle) <= delta else (middle, high)
    return high


@lru_cache(maxsize=64)
def joint_errors(dataset: Dataset, universe: Universe, terms: Terms) -> JointErrors:
    """The errors of the plan that `make_joint` would make, without its noise tables."""
    names, space, unit, mu = _design(dataset, universe, terms)
    scale = (terms.records_per_unit / mu) ** 2
    return JointErrors(names, space, tuple((unit * scale).tolist()))


@lru_cache(maxsize=16)
def make_joint(dataset: Dataset, universe: Universe, terms: Terms) -> JointPlan:
    """The plan with the least weighted mean absolute error at the budget's (ε, δ), or at its ρ under zCDP."""
    names, space, unit, mu = _design(dataset, universe, terms)
    residuals = []
    for part, variance in zip(space.parts, unit.tolist(), strict=True):
        grid, noise = 1, None
        if variance:
            grid, sigma = _steps(space, part, variance, mu, terms)
            ((_, noise),) = integer_noise.gaussian_tables(sigma)
        residuals.append(Residual(margin_of(names, part), part, grid, noise))
    return JointPlan(names, space, tuple(residuals))


def _design(
    dataset: Dataset, universe: Universe, terms: Terms
) -> tuple[tuple[tuple[str, ...], ...], ResidualSpace, NDArray[np.float64], float]:
    """The attributes' names, the space, the variances at cost 1, and the μ of one unit."""
    _refuse(terms)
    names, space = _space(dataset, universe, terms)
    weights = np.array(
        [0.0 if universe.knows(m) else float(universe.weight_of(m, dataset)) for m in _tables(universe)]
    )
    unit = space.optimum(weights / weights.sum())
    if terms.composition == "zcdp" and terms.delta:
        return names, space, unit, math.sqrt(2 * float_down(rho_at(terms.epsilon, terms.delta)))
    # The largest μ of one unit at the budget, after reserving δ for grid, lattices and the cut of the tables.
    epsilon, delta = float_down(terms.epsilon) - integer_noise.LATTICE_LOSS, float_down(terms.delta)
    mu, set_aside = 0.0, 0.0
    for _ in range(3):
        left = (delta - (1 + math.exp(epsilon)) * set_aside) / (1 + integer_noise.GRID) * (1 - 1e-9)
        if left <= 0:
            raise BadDescription(
                f"delta = {delta:g} is less than the cut of the noise tables costs for {len(unit)} residuals.",
                'Take a larger delta, or write margins = "own" or "sums" with Laplace noise.',
            )
        mu = gaussian_mu(epsilon, left)
        set_aside = 2 * integer_noise.LATTICE_LOSS * delta + math.fsum(
            _noises(space, part, terms)
            * (2 * _REACH * _steps(space, part, v, mu, terms)[1] + 3)
            / integer_noise.KEYS
            for part, v in zip(space.parts, unit.tolist(), strict=True)
            if v > 0
        )
    return names, space, unit, mu


def read_joint(
    dataset: Dataset, universe: Universe, terms: Terms, stored: Mapping[Margin, tuple[int, NoiseTable | None]]
) -> JointPlan:
    """The plan with stored grids and noise tables; exactly the residuals of the universe must be there."""
    names, space = _space(dataset, universe, terms)
    residuals = [
        Residual(margin_of(names, part), part, *stored[margin_of(names, part)]) for part in space.parts
    ]
    if len(residuals) != len(stored):
        raise KeyError("residuals")
    return JointPlan(names, space, tuple(residuals))


def _space(
    dataset: Dataset, universe: Universe, terms: Terms
) -> tuple[tuple[tuple[str, ...], ...], ResidualSpace]:
    names = attribute_names(dataset, universe)
    attributes = tuple(attribute_of(dataset, levels) for levels in names)
    tables = tuple(levels_of(names, each) for each in _tables(universe))
    held = tuple(map(max, zip(*(levels_of(names, each.margin) for each in universe.known), strict=True)))
    return names, ResidualSpace(attributes, tables, terms.neighbours, held)


def _tables(universe: Universe) -> tuple[Margin, ...]:
    """The declared tables; a public total is a part of every other one."""
    return (*universe.noisy, *(each.margin for each in universe.known if each.margin))


def _refuse(terms: Terms) -> None:
    if terms.delta == 0:
        raise BadDescription(
            'margins = "joint" has Gaussian noise, which cannot promise delta 0.',
            'Give a delta, such as 1e-9. Where it must be tiny, write margins = "own" with Laplace noise.',
        )
    if terms.neighbours == "replace-one" and not terms.known_total:
        raise BadDescription(
            'margins = "joint" for replace-one neighbours tells the number of records, which is not declared public.',
            'Write invariants = ["n"] in [protection.budget], or margins = "own".',
        )


def cut_distance(table: NoiseTable) -> Fraction:
    """An upper bound on the total variation distance of a Gaussian table from its ideal: one key per value, and the tails.

    `privacy/accounting.py` computes it exactly in a hundred times the time, and a claim hardly depends on it.
    """
    return Fraction(2 * table.largest + 3, integer_noise.KEYS)


def _noises(space: ResidualSpace, part: Levels, terms: Terms) -> int:
    return min(space.cells(part), terms.changes * terms.records_per_unit * space.block_cells(part))


def _steps(space: ResidualSpace, part: Levels, unit: float, mu: float, terms: Terms) -> tuple[int, float]:
    sigma = math.sqrt(unit) * terms.records_per_unit / mu * _NOT_LESS
    grid = (
        integer_noise.fine_grid(sigma, float_down(terms.epsilon), mu) | 1
    )  # odd: no coarse value ends in one half
    most = integer_noise.LATTICE_LOSS * min(1.0, float_down(terms.delta)) / len(space.parts)
    while residual_space.lattice_loss(space, part, grid * sigma) > most:
        grid += 2
    return grid, grid * sigma
