"""Accounting: the (epsilon, delta) of many tables together, by basic composition, zCDP and privacy-loss distributions.

Basic composition adds up: (sum of epsilon, sum of delta), each delta being the exact one of the table's integers. If
neighbours replace a record, one cell of each table gains it and another loses it: the pair is composed exactly where that is
fast, else by the same theorem, (2 epsilon, delta forward + delta backward).

    discrete or rounded Gaussian, one cell changed by 1:  rho = 1 / (2 sigma^2);  by k: k^2 rho
    discrete Laplace (pure epsilon-DP):                   rho = epsilon^2 / 2
    together:                                             rho = sum of rho
    delta(epsilon) = min over alpha > 1 of exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1/alpha)^alpha

A shipped table is truncated, so its own rho is infinite; a zCDP claim is about the ideal distribution, and the distance of
the shipped table to it, sum over z of max(0, ideal(z) - shipped(z)), is added to delta: if neighbours differ in J cells,

    delta(shipped) <= delta(ideal) + (1 + e^epsilon) J distance

because each of the two distributions moves by at most J distance, and the second is multiplied by e^epsilon. Charges may be
adaptive as long as their rho add up to at most a cap fixed beforehand, which the ledger enforces.

Privacy-loss distributions, delta(epsilon) = E max(0, 1 - e^(epsilon - loss)), are those of the shipped integers. The library
`dp-accounting` (extra `pld`) rounds losses up and counts truncated mass as failure, so its delta is never too small.

Source: Rinott et al. (2018), Theorem 7.1; Dwork & Roth (2014), Theorem 3.16; Bun & Steinke (2016); Canonne, Kamath & Steinke
(2020) for delta; Feldman & Zrnic (2021) and Whitehouse et al. (2023) for adaptive charges; Meiser & Mohammadi (2018);
Koskela et al. (2020); Doroshenko et al. (2022).
"""

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

#: Pairs of cells of wider tables are bounded.
WIDEST_EXACT_PAIR = 300
#: Limits of the exact composition of margins with one noise table.
MOST_EXACT_CELLS = 8
WIDEST_EXACT_TABLE = 120


class TableCost(NamedTuple):
    """A noise table, the epsilon at which one of its cells is accounted, and the number of margins that use it."""

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
        # The product is an upper bound where it is wide; both figures hold, so the smaller does.
        return min(added, exact_delta(table, epsilon=2 * Fraction(epsilon), neighbours="replace-one"))
    return added


def basic_composition(parts: Sequence[TableCost], changes: int = 1) -> tuple[Fraction, Fraction]:
    """Theorem 7.1 for many tables: epsilon and delta, both exact sums; `changes` is 2 if a record is replaced."""
    epsilon = sum((changes * part.times * Fraction(part.epsilon) for part in parts), Fraction(0))
    delta = sum((part.times * table_delta(part.table, part.epsilon, changes) for part in parts), Fraction(0))
    return epsilon, min(Fraction(1), delta)


def same_table_epsilon(parts: Sequence[TableCost], changes: int, delta: Fraction) -> float | None:
    """The exact epsilon of margins that all use one noise table; None where the product is too large."""
    if len(parts) != 1 or len(parts[0].table.rows) != 1:
        return None
    table, _, times = parts[0]
    if times * changes > MOST_EXACT_CELLS or len(table.rows[0].values) > WIDEST_EXACT_TABLE:
        return None
    neighbours = "replace-one" if changes == 2 else "add-remove"
    return exact_epsilon(table, delta=delta, neighbours=neighbours, cells=times)


_WIDEST_LOG = 12.0


def ideal_rho(table: NoiseTable) -> Fraction | None:
    """The exact rho of one cell that changes by one, under the table's ideal distribution; None where it is not known."""
    distribution = ideal_distribution(table)
    return None if distribution is None else distribution.rho(Fraction(distribution.scale_of(table)))


def zcdp_delta(rho: float, epsilon: float) -> float:
    """The smallest delta known for rho-zCDP at an epsilon; any alpha is valid, the best is taken.

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
    """The rho of a budget at (epsilon, delta), in whole units; half of delta is reserved for the distance.

    The cap of a budget in rho and the cost of a version are the same function of epsilon and delta, so that a version may
    spend all of it.
    """
    found = Fraction(rho_for(float_down(epsilon), float_down(delta / 2)))
    return found // LOSS_UNIT * LOSS_UNIT


def add_distance(delta: float, epsilon: float, cells: int, distance: Fraction) -> float:
    """A delta of the ideal distribution as one of the shipped table: each of the cells may be off by the distance."""
    moved = (1 + math.exp(min(epsilon, 700.0))) * cells * float(distance)
    return min(1.0, (delta + moved) * (1 + 1e-12))


#: Added to every delta for rounding in double precision.
ALLOWANCE = 1e-12
FINEST_GRID = 2e-6
COARSEST_GRID = 1e-4


def available() -> bool:
    """Whether `dp-accounting` is installed."""
    return importlib.util.find_spec("dp_accounting") is not None


class LossDistribution:
    """The privacy loss of many tables together.

    Args:
        tables: Each noise table, of one row, and the number of margins that use it.
        changes: 1 if neighbours add or remove a record, 2 if they replace one.
        grid: The step to which losses are rounded up; by default fine enough for the number of tables.

    Raises:
        MissingExtra: The library is not installed.
    """

    def __init__(self, tables: Mapping[NoiseTable, int], changes: int = 1, grid: float | None = None) -> None:
        if not tables or any(len(table.rows) != 1 for table in tables):
            raise BadRequest(
                "Losses add up for noise tables of one row.", "Give at least one, each of one row."
            )
        try:
            from dp_accounting.pld import privacy_loss_distribution as library  # noqa: PLC0415 - an optional extra
        except ImportError:
            raise MissingExtra(
                "Privacy-loss distributions need the package dp-accounting.",
                "Run: pip install 'discreet[pld]'",
            ) from None
        fine = 0.002 / (changes * sum(tables.values()))
        step = grid or max(FINEST_GRID, min(COARSEST_GRID, fine))
        each = [_of_table(library, table, changes, step).self_compose(n) for table, n in tables.items()]
        self._pld = reduce(lambda left, right: left.compose(right), each)

    def delta(self, epsilon: float) -> float:
        return min(1.0, float(self._pld.get_delta_for_epsilon(epsilon)) + ALLOWANCE)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon whose bound on delta is within `delta`; infinite if there is none."""
        if delta <= ALLOWANCE:
            return math.inf
        return float(self._pld.get_epsilon_for_delta(delta - ALLOWANCE))


def _of_table(library: Any, table: NoiseTable, changes: int, step: float) -> Any:
    """The loss of one table: a cell that gains a record, and for replaced records one that loses it."""
    smaller, larger = (
        {place: math.log(keys) - math.log(table.modulus) for place, keys in enumerate(side) if keys}
        for side in zip(*pair_masses(table, (0, 1)), strict=True)
    )

    def loss(lower: dict[int, float], upper: dict[int, float]) -> Any:
        return library.from_two_probability_mass_functions(
            lower, upper, pessimistic_estimate=True, value_discretization_interval=step, symmetric=False
        )

    gains = loss(smaller, larger)
    return gains if changes == 1 else gains.compose(loss(larger, smaller))


def distance_to_ideal(table: NoiseTable) -> Fraction | None:
    """An upper bound on the total variation between a table's row and its ideal distribution; None where unknown.

    >>> from discreet.noise import laplace
    >>> float(distance_to_ideal(laplace(epsilon=1.0, modulus=2**64))) < 1e-17
    True
    """
    distribution = ideal_distribution(table)
    if distribution is None or len(table.rows) != 1:
        return None
    return _distance(table.rows[0], distribution, distribution.scale_of(table))


@lru_cache(maxsize=4096)
def _distance(row: NoiseRow, distribution: IdealDistribution, scale: float) -> Fraction:
    """Cached by the scale too: tables are equal whatever their parameters."""
    return min(Fraction(1), distribution.distance(row, scale))
