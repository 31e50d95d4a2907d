"""Basic composition: what tables with their own epsilon and delta promise together, and one kind of table exactly.

    (sum of epsilon, sum of delta)                                           Rinott Theorem 7.1

Each table's delta is the exact one of its integers at its epsilon. When neighbours replace a record, one cell of each
table gains it and another loses it: the pair is composed exactly where that is quick, and by the same theorem,
(2 epsilon, delta forward + delta backward), where it is not.

Source: Rinott et al. (2018), Theorem 7.1; Dwork & Roth (2014), Theorem 3.16.

Zero-concentrated differential privacy of ideal laws: how it adds up, and what it says about (epsilon, delta).

    discrete or rounded Gaussian, one cell changed by 1:  rho = 1 / (2 sigma^2);  by k: k^2 rho
    discrete Laplace (pure epsilon-DP):                   rho = epsilon^2 / 2
    together:                                             rho = sum of rho
    delta(epsilon) = min over alpha > 1 of exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1/alpha)^alpha

A shipped table is cut, so its own rho is infinite; the claim is about the ideal law, and the shipped table's distance
to it is added to delta (`distance`). Charges may be chosen adaptively as long as their rho add up to at most a
cap fixed beforehand: the ledger sees to that.

Source: Bun & Steinke (2016); Canonne, Kamath & Steinke (2020) for delta; Feldman & Zrnic (2021) and Whitehouse et al.
(2023) for adaptive charges.

Privacy-loss distributions: many tables together, pessimistic, by the `dp-accounting` library.

The loss of an output is log P/Q. Losses of independent cells add up, so their laws are convolved; the library rounds
each loss up to a grid, and what it cuts it counts as failure, so its delta is never too small. Its arithmetic is
in double precision: `ALLOWANCE` is added to delta for that.

    delta(epsilon) = E max(0, 1 - e^(epsilon - loss))

The laws are those of the shipped integers, cut ends included: nothing is assumed about an ideal.

Source: Meiser & Mohammadi (2018); Koskela et al. (2020); Doroshenko et al. (2022); Google's dp-accounting.

How far a shipped noise table is from the ideal law that its design stands for: total variation, from above.

    distance = sum over all integers z of max(0, ideal(z) - shipped(z))

A claim about the ideal law holds for the shipped table when delta is raised: if two neighbours differ in J cells,

    delta(shipped) <= delta(ideal) + (1 + e^epsilon) J distance

because each of the two laws is moved by at most J distance, and the second is multiplied by e^epsilon.

Source: the definition; Canonne, Kamath & Steinke (2020) for the discrete Gaussian.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Any, NamedTuple

from discreet.errors import BadRequest, MissingExtra
from discreet.model.privacy_budget import LOSS_UNIT
from discreet.noise.families import ideal_distribution
from discreet.noise.ideal_distribution import IdealDistribution
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy.audit import curve
from discreet.privacy.audit import delta as exact_delta
from discreet.privacy.audit import epsilon as exact_epsilon
from discreet.privacy.claim import float_down
from discreet.privacy.hockey_stick import pair_masses

#: A pair of cells of tables with at most so many values is composed exactly.
WIDEST_EXACT_PAIR = 300
#: So many changed cells of one kind of table are composed exactly, or bounded by spreading ratios.
MOST_EXACT_CELLS = 8
WIDEST_EXACT_TABLE = 120


class TableCost(NamedTuple):
    """A noise table, the epsilon at which one of its cells is accounted, and how many margins use it."""

    table: NoiseTable
    epsilon: float
    times: int = 1


def table_delta(table: NoiseTable, epsilon: float, changes: int = 1) -> Fraction:
    """The delta of one table of disjoint cells at `changes` times epsilon.

    >>> from discreet.noise import laplace
    >>> exact = table_delta(laplace(epsilon=1.0, m=10, modulus=2**64), 1.0)
    >>> round(float(exact), 8)
    2.098e-05
    """
    if changes == 1:
        return exact_delta(table, epsilon=epsilon)
    point = curve(table, [epsilon])[0]
    added = point.delta_forward + point.delta_backward
    if len(table.rows) == 1 and len(table.rows[0].values) <= WIDEST_EXACT_PAIR:
        # The product of two laws is bounded from above where it is wide; both figures hold, so the smaller does.
        return min(added, exact_delta(table, epsilon=2 * Fraction(epsilon), neighbours="replace-one"))
    return added


def basic_composition(parts: Sequence[TableCost], changes: int = 1) -> tuple[Fraction, Fraction]:
    """Theorem 7.1 for many tables: epsilon and delta, both exact sums.

    Args:
        parts: The tables with the epsilon of one changed cell.
        changes: In how many cells of a table a record shows: 2 when it is replaced.
    """
    epsilon = sum((changes * part.times * Fraction(part.epsilon) for part in parts), Fraction(0))
    delta = sum((part.times * table_delta(part.table, part.epsilon, changes) for part in parts), Fraction(0))
    return epsilon, min(Fraction(1), delta)


def same_table_epsilon(parts: Sequence[TableCost], changes: int, delta: Fraction) -> float | None:
    """The epsilon of margins that all use one noise table, from the product of their laws; None where too large."""
    if len(parts) != 1 or len(parts[0].table.rows) != 1:
        return None
    table, _, times = parts[0]
    if times * changes > MOST_EXACT_CELLS or len(table.rows[0].values) > WIDEST_EXACT_TABLE:
        return None
    neighbours = "replace-one" if changes == 2 else "add-remove"
    return exact_epsilon(table, delta=delta, neighbours=neighbours, cells=times)


_WIDEST_LOG = 12.0


def ideal_rho(table: NoiseTable) -> Fraction | None:
    """The exact rho of one cell that changes by one, under the table's ideal law; None where it is not known."""
    law = ideal_distribution(table)
    return None if law is None else law.rho(Fraction(law.scale_of(table)))


def zcdp_delta(rho: float, epsilon: float) -> float:
    """The smallest delta that rho-zCDP is known to give at an epsilon; any alpha is valid, the best is taken.

    >>> zcdp_delta(0.5, 10.0) < math.exp(-(10.0 - 0.5) ** 2 / 2)
    True
    """
    if rho < 0 or epsilon < 0:
        raise BadRequest(f"rho = {rho} and epsilon = {epsilon}: both must be 0 or more.")
    if rho == 0:
        return 0.0

    from scipy.optimize import minimize_scalar  # noqa: PLC0415 - slow to import, and no table needs it

    def log_delta(log_order: float) -> float:
        above = math.exp(log_order)  # alpha - 1
        alpha = 1 + above
        return above * (alpha * rho - epsilon) - log_order + alpha * (log_order - math.log(alpha))

    guess = math.log(max(1e-3, (epsilon - rho) / (2 * rho))) if epsilon > rho else 0.0
    found = minimize_scalar(log_delta, bounds=(guess - _WIDEST_LOG, guess + _WIDEST_LOG), method="bounded")
    return min(1.0, math.exp(min(0.0, float(found.fun), log_delta(guess))) * (1 + 1e-12))


def rho_for(epsilon: float, delta: float) -> float:
    """The largest rho that keeps (epsilon, delta), rounded down.

    >>> round(rho_for(1.0, 1e-6), 4)
    0.0244
    """
    if not 0 < delta < 1 or epsilon <= 0:
        raise BadRequest(
            f"epsilon = {epsilon} and delta = {delta}.", "Epsilon above 0, delta between 0 and 1."
        )
    low, high = 0.0, epsilon
    while zcdp_delta(high, epsilon) <= delta:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_delta(middle, epsilon) <= delta else (low, middle)
    return low


def rho_at(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The rho that a budget in rho has at (epsilon, delta), in whole units: half of delta is kept for the distance.

    The cap of such a budget and what a version spends of it are the same function of their epsilon and delta, so
    that a version may spend all of it.
    """
    found = Fraction(rho_for(float_down(epsilon), float_down(delta / 2)))
    return found // LOSS_UNIT * LOSS_UNIT


def add_distance(delta: float, epsilon: float, cells: int, distance: Fraction) -> float:
    """A delta of the ideal law as one of the shipped table: each of the cells may be off by the distance."""
    moved = (1 + math.exp(min(epsilon, 700.0))) * cells * float(distance)
    return min(1.0, (delta + moved) * (1 + 1e-12))


#: Added to every delta for the rounding of double precision in transforms.
ALLOWANCE = 1e-12
FINEST_GRID = 2e-6
COARSEST_GRID = 1e-4


def available() -> bool:
    """Whether the library is installed."""
    return importlib.util.find_spec("dp_accounting") is not None


class LossDistribution:
    """The privacy loss of many tables at once.

    Args:
        tables: Each noise table and how many margins use it; one row each.
        changes: 1 when neighbours add or remove a record, 2 when they replace one: another cell then loses it.
        grid: The step to which losses are rounded up; by default fine enough for the number of tables.

    Raises:
        MissingExtra: The library is not installed.
    """

    def __init__(self, tables: Mapping[NoiseTable, int], changes: int = 1, grid: float | None = None) -> None:
        if not tables or any(len(table.rows) != 1 for table in tables):
            raise BadRequest(
                "Losses add up for noise tables of one row.", "Give at least one, each of one row."
            )
        library = _library()
        step = grid or _grid(tables, changes)
        each = [_of_table(library, table, changes, step).self_compose(n) for table, n in tables.items()]
        self._pld = reduce(lambda left, right: left.compose(right), each)

    def delta(self, epsilon: float) -> float:
        """An upper bound on delta at an epsilon."""
        return min(1.0, float(self._pld.get_delta_for_epsilon(epsilon)) + ALLOWANCE)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon whose bound on delta is within `delta`; infinite where none is."""
        if delta <= ALLOWANCE:
            return math.inf
        return float(self._pld.get_epsilon_for_delta(delta - ALLOWANCE))


def _library() -> Any:
    try:
        from dp_accounting.pld import privacy_loss_distribution  # noqa: PLC0415 - an optional extra
    except ImportError:
        raise MissingExtra(
            "Privacy-loss distributions need the package dp-accounting.", "Run: pip install 'discreet[pld]'"
        ) from None
    return privacy_loss_distribution


def _grid(tables: Mapping[NoiseTable, int], changes: int) -> float:
    """Every loss is rounded up by less than a step, so many tables need a small one."""
    return max(FINEST_GRID, min(COARSEST_GRID, 0.002 / (changes * sum(tables.values()))))


def _of_table(library: Any, table: NoiseTable, changes: int, step: float) -> Any:
    """The loss of one table: a cell that gains a record, and for replaced records one that loses it."""
    masses = pair_masses(table, (0, 1))
    whole = math.log(table.modulus)
    smaller = {place: math.log(p) - whole for place, (p, _) in enumerate(masses) if p}
    larger = {place: math.log(q) - whole for place, (_, q) in enumerate(masses) if q}

    def loss(lower: dict[int, float], upper: dict[int, float]) -> Any:
        return library.from_two_probability_mass_functions(
            lower, upper, pessimistic_estimate=True, value_discretization_interval=step, symmetric=False
        )

    gains = loss(smaller, larger)
    return gains if changes == 1 else gains.compose(loss(larger, smaller))


def distance_to_ideal(table: NoiseTable) -> Fraction | None:
    """An upper bound on the total variation between a table's row and its ideal law; None where none is known.

    >>> from discreet.noise import laplace
    >>> float(distance_to_ideal(laplace(epsilon=1.0, modulus=2**64))) < 1e-17
    True
    """
    law = ideal_distribution(table)
    if law is None or len(table.rows) != 1:
        return None
    return _distance(table.rows[0], law, law.scale_of(table))


@lru_cache(maxsize=4096)
def _distance(row: NoiseRow, law: IdealDistribution, scale: float) -> Fraction:
    """Remembered by the scale too: tables are equal whatever their parameters."""
    return min(Fraction(1), law.distance(row, scale))
