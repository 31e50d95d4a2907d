"""Privacy-loss distributions: many tables together, pessimistic, by the `dp-accounting` library.

The loss of an output is log P/Q. Losses of independent cells add up, so their laws are convolved; the library rounds
each loss up to a grid, and what it cuts it counts as failure, so its delta is never too small. Its arithmetic is
in double precision: `ALLOWANCE` is added to delta for that.

    delta(epsilon) = E max(0, 1 - e^(epsilon - loss))

The laws are those of the shipped integers, cut ends included: nothing is assumed about an ideal.

Source: Meiser & Mohammadi (2018); Koskela et al. (2020); Doroshenko et al. (2022); Google's dp-accounting.
"""

from __future__ import annotations

import importlib.util
import math
from functools import reduce
from typing import TYPE_CHECKING, Any

from discreet.errors import BadRequest, MissingExtra
from discreet.privacy.frontier import pair_masses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.noise.table import NoiseTable

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
