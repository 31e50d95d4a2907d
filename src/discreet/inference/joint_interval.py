"""Intervals for cells of a joint table: sums, differences, shares and ratios from unrounded values and their covariances.

All cells of a joint universe share the noise of its residuals, and the covariance of any of them is known exactly. For
weights w and unrounded values x with covariance V,

    sum, difference   w'x ± z √(w'Vw)
    share, ratio      all p with  (a - p b)² ≤ z² (V_aa - 2 p V_ab + p² V_bb)          (Fieller)

where z is the normal quantile at the level plus `LATTICE`, which a sum over the coarsest grid that is planned may miss.
True sums are whole, so limits of sums are rounded inwards.

Source: Fieller (1954); docs/methods/dp-joint.md.
"""

from __future__ import annotations

from itertools import combinations
from math import ceil, floor, inf, sqrt
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadRequest
from discreet.inference.intervals import Interval
from discreet.inference.picked_cells import cell_members, cell_place, refuse_shared_people
from discreet.model.release import NOT_APPLICABLE
from discreet.model.told import told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.model.release import Release

    Codes = tuple[str, ...]

#: What the chance of an interval may miss by, since noise lies on a grid of at least 8 steps a standard deviation.
LATTICE = 1 / (24 * 8**2)


def joint_sum(release: Release, cells: Sequence[Codes], minus: Sequence[Codes], level: float) -> Interval:
    """The interval of the true sum of cells, less that of others."""
    x, covariance = _moments(release, [cells, minus] if minus else [cells])
    signs = np.array([1.0, -1.0])[: x.size]
    value, reach = float(signs @ x), _quantile(level) * sqrt(max(float(signs @ covariance @ signs), 0.0))
    low, high = ceil(value - reach), floor(value + reach)
    if high < low:  # no whole number is so near: the nearest is
        low = high = round(value)
    if not minus:
        low, high = max(low, 0), max(high, 0)
    return Interval(round(value), low, high, level)


def joint_quotient(
    release: Release, cells: Sequence[Codes], base: Sequence[Codes], level: float, *, share: bool
) -> Interval:
    """The interval of the ratio of two true sums; of a share, which lies between 0 and 1."""
    x, v = _moments(release, [cells, base])
    most = 1.0 if share else inf
    low, high = _fieller(x, v, _quantile(level))
    estimate = max(float(x[0]), 0.0) / float(x[1]) if x[1] > 0 else inf
    return Interval(min(estimate, most), min(max(low, 0.0), most), min(max(high, 0.0), most), level)


def _fieller(x: NDArray[np.float64], v: NDArray[np.float64], z: float) -> tuple[float, float]:
    """The smallest and the largest quotient; without a limit where the base may be zero."""
    square = float(x[1] ** 2 - z**2 * v[1, 1])
    linear = float(x[0] * x[1] - z**2 * v[0, 1])
    constant = float(x[0] ** 2 - z**2 * v[0, 0])
    inside = linear**2 - square * constant
    if square <= 0 or x[1] <= 0 or inside < 0:
        return 0.0, inf
    return (linear - sqrt(inside)) / square, (linear + sqrt(inside)) / square


def _moments(
    release: Release, groups: Sequence[Sequence[Codes]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sum of each group and their covariances; a cell that cannot occur is exactly 0."""
    if release.unrounded is None:
        raise ValueError("only a joint table has unrounded values")
    places = [[cell_place(release, codes) for codes in group] for group in groups]
    for group in places:
        refuse_shared_people(combinations([cell_members(release, place) for place in group], 2))
    listed = [place for group in places for place in group]
    possible = np.array([release.status[place] != NOT_APPLICABLE for place in listed])
    member = np.repeat(np.eye(len(groups)), [len(group) for group in groups], axis=1) * possible
    covariance = release.law.covariance(listed)
    if covariance is None:
        raise ValueError("only cells of a joint table have a covariance")
    values = np.array([release.unrounded[place] for place in listed])
    return member @ values, member @ covariance @ member.T


def _quantile(level: float) -> float:
    if not 0 < level < 1:
        raise BadRequest(
            told("The level is {level}.", level=level), told("It lies between 0 and 1, as in 0.95.")
        )
    from scipy.special import ndtri  # noqa: PLC0415 - slow to import, and few intervals need it

    return float(ndtri((1 + min(level + LATTICE, (1 + level) / 2)) / 2))
