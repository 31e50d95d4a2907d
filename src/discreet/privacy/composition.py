"""Exact composition over cells: a person in d overlapping cells, and neighbours that replace one person.

Cells have independent keys, so the joint distribution is a product and privacy losses add up. Add-remove with d cells
composes d changes in one direction; replace-one takes a person out of d cells and puts another into d others: d forward and
d backward changes. Outputs of equal ratio are merged, which keeps products small.

If there are too many pairs of counts to try all combinations, the dominating pair replaces them (the hull of their
trade-offs); if a product has too many outputs, its ratios are spread over fewer. Both only increase delta, and
`Composed.exact` is true where neither was needed.

Source: Rinott et al. (2018), Theorem 4.2, corrected: pointwise bounds do not add up, mass does, so truncated
Laplace noise at epsilon/d in d cells has delta 1 - (1 - p(m))^d. Zhu, Dong & Wang (2022), Theorem 10;
Doroshenko et al. (2022), "connect the dots", for spreading.

The Gaussian trade-off: one number μ for all Gaussian noise of a release.

Independent Gaussian measurements whose answers shift by Δ_i in units of their standard deviation are as hard to
distinguish as N(0,1) and N(μ,1) with μ² = Σ Δ_i². The trade-off of that pair has a closed form:

    δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ).

Composition is tight: no zCDP bound, no advanced composition. The claim covers the Gaussian distribution and all
post-processing, rounding included. The cost of the grid and the truncation of the shipped integers is added elsewhere
(`margins`, `protect`). It does not cover the discrete Gaussian, whose divergence may be a little above this curve between
its steps.

Source: Balle & Wang (2018), Theorem 8; Dong, Roth & Su (2022), Corollary 1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement, pairwise
from itertools import product as cartesian

from discreet.errors import BadRequest, InfeasibleDesign
from discreet.noise.design import require_epsilon
from discreet.noise.table import NoiseTable
from discreet.privacy.hockey_stick import Frontier, Masses, Profile, by_ratio, masses_by_pair, upper_hull

#: Larger products are bounded by the dominating pair.
LARGEST_WORK = 400_000
#: A product with more ratios is coarsened, upward, to `KEPT_RATIOS`.
MOST_OUTPUTS = 6_000
KEPT_RATIOS = 1_000


@dataclass(frozen=True, slots=True)
class Composed:
    """The frontier of many cells, both ways, and whether it is exact or an upper bound."""

    forward: Frontier
    backward: Frontier
    exact: bool


def product(left: Sequence[Masses], right: Sequence[Masses]) -> list[Masses]:
    """The joint outputs of two independent cells; those of equal ratio are merged.

    >>> product([(1, 2), (3, 2)], [(1, 1)])
    [(3, 2), (1, 2)]
    """
    joint = by_ratio((p1 * p2, q1 * q2) for p1, q1 in left for p2, q2 in right)
    return [each for each in joint if each != (0, 0)]


def coarsen(masses: list[Masses], most: int = KEPT_RATIOS) -> list[Masses]:
    """Keep some of the ratios and split every output between two of them.

    An output (p, q) with a ratio between r1 and r2 is the union of one of ratio r1 and one of ratio r2 (two equations
    for two amounts), so the original is a post-processing of the result and no divergence decreases. The remainder of
    rounding to integers goes to outputs that only one of the distributions can produce.
    """
    ordered = by_ratio(masses)
    unmatched, matched = ordered[0][0], [(p, q) for p, q in ordered[1:] if p > 0]
    kept = _evenly_spaced(matched, most)
    spread = [list(matched[place]) for place in kept]
    for k, (start, end) in enumerate(pairwise(kept)):
        inside = matched[start + 1 : end]
        total = (sum(p for p, _ in inside), sum(q for _, q in inside))
        _share(total, matched[start], matched[end], spread[k], spread[k + 1])
    every_p, every_q = (sum(side) for side in zip(*masses, strict=True))
    lost_p = every_p - unmatched - sum(p for p, _ in spread)
    lost_q = every_q - sum(q for _, q in spread)
    return [(unmatched + lost_p, 0), *((p, q) for p, q in spread), (0, lost_q)]


def _evenly_spaced(matched: Sequence[Masses], most: int) -> list[int]:
    """Indices of ratios that are evenly spaced on a logarithmic scale, the first and the last included."""
    if not matched:
        return []
    logs = [math.log(p) - math.log(q) for p, q in matched]
    width = (logs[0] - logs[-1]) / max(1, most - 2) or 1.0
    bins = {round((logs[0] - each) / width): place for place, each in reversed(list(enumerate(logs)))}
    return sorted({0, len(matched) - 1, *bins.values()})


def _share(total: Masses, high: Masses, low: Masses, above: list[int], below: list[int]) -> None:
    """Split (p, q) between a higher and a lower ratio, rounded down."""
    (p, q), (p1, q1), (p2, q2) = total, high, low
    determinant = p1 * q2 - p2 * q1
    up, down = p * q2 - p2 * q, p1 * q - p * q1
    for side in (0, 1):
        above[side] += up * high[side] // determinant
        below[side] += down * low[side] // determinant


def dominating(each: Sequence[Sequence[Masses]], total: int) -> list[Masses]:
    """A pair of distributions that dominates all given pairs."""
    points = [(0, 0, None), (total, total, None)]
    for masses in each:
        a = b = 0
        for p, q in by_ratio(masses):
            a, b = a + p, b + q
            points.append((a, b, None))
    hull = [(0, 0, None), *upper_hull(points)]
    edges = [(a2 - a1, b2 - b1) for (a1, b1, _), (a2, b2, _) in pairwise(hull)]
    return [*(edge for edge in edges if edge != (0, 0)), (0, total - hull[-1][1])]


#: Cells of one kind: the masses of every pair of neighbouring counts, the number of such cells, and the keys of one cell.
Cells = tuple[Sequence[Sequence[Masses]], int, int]


@lru_cache(maxsize=16)
def compose(table: NoiseTable, *, forward: int, backward: int, first: int = 0, group: int = 1) -> Composed:
    """The frontier of `forward` cells that rise by a person and `backward` cells that lose one."""
    rising = [each for _, each in masses_by_pair(table, first, group)]
    falling = [[(q, p) for p, q in each] for each in rising]
    return compose_cells(((rising, forward, table.modulus), (falling, backward, table.modulus)))


def compose_cells(kinds: Sequence[Cells]) -> Composed:
    """The frontier of independent cells of several kinds, at the worst counts of each."""
    combinations = math.prod(math.comb(len(masses) + times - 1, times) for masses, times, _ in kinds)
    outputs = math.prod(max(map(len, masses)) ** times for masses, times, _ in kinds)
    exact = combinations * min(outputs, LARGEST_WORK) <= LARGEST_WORK
    tried = [masses if exact else [dominating(masses, total)] for masses, _, total in kinds]
    choices = (
        combinations_with_replacement(masses, times)
        for masses, (_, times, _) in zip(tried, kinds, strict=True)
    )
    joint = [_joint([cell for kind in chosen for cell in kind]) for chosen in cartesian(*choices)]
    total = math.prod(keys**times for _, times, keys in kinds)
    there = Frontier.of((None, Profile.of(each, total)) for each, _ in joint)
    back = Frontier.of((None, Profile.of([(q, p) for p, q in each], total)) for each, _ in joint)
    single = all(len(masses) == 1 or times == 0 for masses, times, _ in kinds)
    return Composed(there, back, (exact or single) and all(whole for _, whole in joint))


def _joint(cells: Sequence[Sequence[Masses]]) -> tuple[list[Masses], bool]:
    joint, whole = [(1, 1)], True
    for each in cells:
        joint = product(joint, each)
        if len(joint) > MOST_OUTPUTS:
            joint, whole = coarsen(joint), False
    return joint, whole


#: The cancellation error of δ, a difference of nearly equal numbers, is at most this over μ, relatively.
_CANCELLED = 1e-12


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The least δ of μ-Gaussian noise at an ε.

    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    if mu <= 0:
        return 0.0
    from scipy.special import log_ndtr  # noqa: PLC0415 - slow to import, and no table needs it

    upper = float(log_ndtr(mu / 2 - epsilon / mu))
    lower = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return math.exp(upper) * -math.expm1(min(0.0, lower - upper))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest μ that is (ε, δ), found from below so that δ is never exceeded.

    >>> round(gaussian_mu(1.0, 1e-6), 6)
    0.236704
    """
    require_budget(epsilon, delta)
    if delta <= 0:
        raise InfeasibleDesign("Gaussian noise needs a delta above 0.", "Give a delta, or use Laplace noise.")
    from scipy.optimize import brentq  # noqa: PLC0415 - slow to import, and no table needs it

    high = 1.0
    while gaussian_delta(high, epsilon) < delta:
        high *= 2
    low = high / 2
    while gaussian_delta(low, epsilon) > delta:
        low /= 2
    mu = float(brentq(lambda m: gaussian_delta(m, epsilon) - delta, low, high, xtol=1e-14, rtol=1e-14))
    while gaussian_delta(mu, epsilon) > delta:
        mu *= 1 - 1e-14
    return mu


def gaussian_delta_above(mu: float, epsilon: float) -> float:
    """δ at an ε, rounded up by more than double precision loses, for claims.

    >>> gaussian_delta_above(1.0, 1.0) > gaussian_delta(1.0, 1.0)
    True
    """
    if mu < 0 or epsilon < 0:
        raise BadRequest(f"mu = {mu} and epsilon = {epsilon}: both must be 0 or more.")
    lost = max(1e-9, _CANCELLED / mu) if mu else 0.0
    return min(1.0, gaussian_delta(mu, epsilon) * (1 + lost))


def total_mu(variances: list[float], changes: int = 1) -> float:
    """The μ of tables with Gaussian noise of these variances, each with `changes` cells changed by one.

    >>> total_mu([4.0, 4.0])
    0.7071067811865476
    """
    return math.sqrt(changes * math.fsum(1 / variance for variance in variances))


def require_budget(epsilon: float, delta: float) -> None:
    """Refuse an ε or a δ that is out of range."""
    require_epsilon(epsilon)
    if not 0 <= delta < 1:
        raise InfeasibleDesign(f"delta = {delta}: it must be at least 0 and below 1.")
