"""Confidence intervals for true counts: a cell, a sum, a share, a difference, a ratio.

An interval holds every true value that the release does not reject: neither tail, P(X >= x | n) nor P(X <= x | n), is as
small as half of 1 - level. So it covers the truth with at least the stated probability, for every table. For sums T of
noise over cells and X of released counts,

    sum:         X - t,  t between the tails of T;
    difference:  (X - T) of one group minus (X' - T') of the other;
    share:       a / (a + b),  a = max(X - T, 0),  b = max(X' - T', 0)   (ratio: a / b), by Fieller's method.

Groups must share no people.
Source: Neyman (1937); Fieller (1954).
"""

from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from discreet.errors import BadRequest
from discreet.inference.channel import SLACK, WIDEST, Counts, Distribution, Floats, channel_of, whole_numbers
from discreet.inference.confidence_intervals.noise_sum import NoiseSum, noise_sum
from discreet.inference.confidence_intervals.picked_cells import PickedCells, refuse_shared_noise
from discreet.model.messages.text import message
from discreet.model.noise_distribution import CellDistribution, depends_on_count

_BISECTIONS = 50
#: The part of alpha that may be spent on leaving out rare sums.
_LEFT_OUT = 1 / 500
#: Probability truncated from a tail; intervals allow for it.
_CUT = SLACK / 4
_MANY_PAIRS = 10_000
#: Maximum number of pairs that are sorted, and of numbers that are evaluated.
_MOST_PAIRS, _MOST_NUMBERS = 1_000_000, 4e7
_CHUNK = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """A group with its possible sums, and the largest tails of its noise for each.

    Args:
        line: The row of each sum in `up` and `down`.
        noise: Values of the noise; the first and the last include the tails beyond.
        up: P(noise >= value), one row per sum or one for all.
    """

    released: int
    sums: Counts
    line: Counts
    noise: Counts
    up: Floats
    down: Floats


def least_share(part: NoiseSum, rest: NoiseSum, alpha: float, *, inside: int = 0) -> float:
    """The smallest share a / (a + b) of a pair of sums that is not rejected.

    The hypothesis (a, b) is tested by Fieller's linear form, which is zero when it holds:

        b (X - a) - a (X' - b) = b T - a T'.

    It is rejected when P(b T - a T' >= b X - a X') or P(b T - a T' <= b X - a X') is at most alpha, with the largest tails
    of T and T' for these sums. If there are many pairs, sums whose own tail is below alpha / 500 are left out and alpha is
    reduced for it. A bisection finds a share below which every pair is rejected; from there pairs are tested in the order of
    their shares. The search may stop early, because every pair before that is rejected. `inside` is 1 where a is known to
    be a part of b, -1 where b is a part of a.

    Returns:
        The share; the smallest of all where every pair is rejected (noise with gaps).
    """
    many = (part.most - part.least) * (rest.most - rest.least) > _MANY_PAIRS
    left_out = alpha * _LEFT_OUT if many else 0.0
    one, two = _group(part, left_out), _group(rest, left_out)
    alpha = alpha - 2 * left_out - part.error - rest.error - SLACK
    start = _bisect(one, two, alpha)
    if len(one.sums) * len(two.sums) > _MOST_PAIRS:
        return start
    # From `start` on, the pairs in the order of their shares.
    a, b = (sums.astype(np.float64) for sums in np.meshgrid(one.sums, two.sums, indexing="ij"))
    allowed = (a + b > 0) & ((b - a) * inside >= 0)
    shares = np.divide(a, a + b, out=np.ones_like(a), where=a + b > 0)
    tried = allowed & (shares >= start * (1 - 1e-9))
    order = np.flatnonzero(tried)[np.argsort(shares[tried], kind="stable")]
    looked_at, place, size = 0, 0, 16
    width = len(one.noise) + len(two.noise)
    while place < len(order) and looked_at < _MOST_NUMBERS:
        i, j = np.unravel_index(order[place : place + size], shares.shape)
        # Both tails of the linear form exceed alpha.
        kept = np.flatnonzero(_linear_form_tail(one, two, i, j) > alpha)
        kept = kept[_linear_form_tail(two, one, j[kept], i[kept]) > alpha]
        if len(kept):
            return float(shares[i[kept[0]], j[kept[0]]])
        looked_at, place = looked_at + size * width, place + size
        size = min(2 * size, _CHUNK // width + 1)
    if place < len(order):
        return float(shares.flat[order[place]])
    return float(shares[allowed].min()) if allowed.any() else 0.0


def _group(found: NoiseSum, alpha: float) -> _Group:
    """A group without its rare sums, and without noise that is rare for each of the others."""
    sums = found.confidence_set(alpha) if alpha else found.sums
    own = sums[:, None] if found.by_sum else sums[:1, None]
    noise = np.arange(max(found.up.first, -found.down.last), min(found.up.last, -found.down.first) + 1)
    up, down = found.up.at(own, noise), found.down.at(own, -noise)
    inner = np.flatnonzero((up.max(axis=0) > _CUT) & (down.max(axis=0) > _CUT))
    up, down = up[:, inner[0] : inner[-1] + 1], down[:, inner[0] : inner[-1] + 1]
    up[:, 0] = down[:, -1] = 1.0
    line = np.arange(len(sums)) if found.by_sum else np.zeros(len(sums), dtype=np.int64)
    return _Group(found.released, sums, line, noise[inner[0] : inner[-1] + 1], up, down)


def _bisect(one: _Group, two: _Group, alpha: float) -> float:
    """A share p below which P((1 - p) a <= p b) is at most alpha for all sums."""
    a = _true_sums(one.released, Distribution(int(one.noise[0]), -np.diff(one.up.max(axis=0), append=0.0)))
    b = _true_sums(two.released, Distribution(int(two.noise[0]), np.diff(two.down.max(axis=0), prepend=0.0)))
    below = np.cumsum(a.chances)
    low, high = 0.0, 1.0
    if _chance_at_most(0.0, a, below, b) > alpha:
        return 0.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if _chance_at_most(middle, a, below, b) > alpha:
            high = middle
        else:
            low = middle
    return low


def _true_sums(released: int, noise: Distribution) -> Distribution:
    """The distribution of released minus noise, clipped at zero."""
    distribution = noise.mirror().shift(released)
    if distribution.first >= 0:
        return distribution
    if distribution.last <= 0:
        return Distribution(0, np.array([distribution.chances.sum()]))
    zero = -distribution.first
    return Distribution(
        0, np.append(distribution.chances[: zero + 1].sum(), distribution.chances[zero + 1 :])
    )


def _chance_at_most(share: float, a: Distribution, below: Floats, b: Distribution) -> float:
    """P((1 - share) a <= share b); a tie counts despite rounding."""
    if share >= 1:
        return 1.0
    most = np.floor(share / (1 - share) * b.values * (1 + 1e-12) + 1e-9) - a.first
    place = np.clip(most, -1, len(below) - 1).astype(np.int64)
    return float(b.chances @ np.where(place < 0, 0.0, below[place]))


def _linear_form_tail(one: _Group, two: _Group, i: Counts, j: Counts) -> Floats:
    """An upper bound of P(b T - a T' >= b X - a X') for the sums a and b at these indices."""
    a, b = one.sums[i][:, None], two.sums[j][:, None]
    low = np.diff(two.down, prepend=0.0, axis=1)[two.line[j]]
    # T >= X - a (X' - T') / b; in whole numbers, so that ties count.
    needed = one.released - (a * (two.released - two.noise)) // np.maximum(b, 1)
    place = np.clip(needed - one.noise[0], 0, len(one.noise) - 1)
    reached = np.where(needed > one.noise[-1], 0.0, one.up[one.line[i][:, None], place])
    reached = np.where(b > 0, reached, two.noise <= two.released)
    return np.asarray((low * reached).sum(axis=1))


DEFAULT_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval for a true value.

    Args:
        estimate: The value computed from the released counts.
        high: The upper end; infinite where a denominator may be zero.
        level: The interval covers the true value with at least this probability.
    """

    estimate: float
    low: float
    high: float
    level: float


def cell_intervals(
    released: ArrayLike, noise: CellDistribution, level: float = DEFAULT_LEVEL
) -> tuple[Counts, Counts]:
    """The smallest and largest true count of each cell, each cell by itself."""
    alpha = _half(level)
    channel = channel_of(noise)
    cells = whole_numbers(released)
    if channel.distributions.size > WIDEST:
        # The same where every count has one distribution: the quantiles are the same for all cells.
        distribution = Distribution(channel.lowest, channel.distributions[0])
        most, least = distribution.upper_quantile(alpha), -distribution.mirror().upper_quantile(alpha)
        # Counts are not negative: where likely noise leaves none, every possible count stays.
        high = np.where(cells >= least, cells - least, cells - distribution.first)
        if (high < 0).any():
            raise BadRequest(
                message("The count {count} cannot be released with this noise.", count=cells[high < 0][0]),
                message("Give the law that belongs to it."),
            )
        return np.maximum(cells - most, 0), high
    values, place = np.unique(cells, return_inverse=True)
    evidence = channel.evidence(values)
    index = channel.distribution_index(evidence.counts)
    at = np.arange(channel.distributions.shape[1])[::-1]
    upper = np.cumsum(channel.distributions[:, ::-1], axis=1)[:, ::-1][index, at]
    lower = np.cumsum(channel.distributions, axis=1)[index, at]
    kept = (evidence.chance > 0) & (upper > alpha - SLACK) & (lower > alpha - SLACK)
    # Noise with gaps may leave no count: then every possible one stays.
    kept = np.where(kept.any(axis=1, keepdims=True), kept, evidence.chance > 0)
    low = evidence.first + kept.argmax(axis=1)
    high = evidence.first + kept.shape[1] - 1 - kept[:, ::-1].argmax(axis=1)
    place = place.reshape(cells.shape)
    return low[place], high[place]


def cell_interval(released: int, noise: CellDistribution, level: float = DEFAULT_LEVEL) -> Interval:
    """The interval of one true count.

    >>> from discreet.noise import laplace
    >>> cell_interval(20, laplace(epsilon=1.0, m=8))
    Interval(estimate=20, low=17, high=23, level=0.95)
    """
    low, high = cell_intervals([released], noise, level)
    return Interval(released, int(low[0]), int(high[0]), level)


def distribution_interval(
    released: int, distribution: CellDistribution, level: float = DEFAULT_LEVEL
) -> Interval:
    """The interval of one true count of a release, from the distribution of its cell; a public count is exact.

    >>> from discreet.noise import laplace
    >>> from discreet.noise.cell_distribution import SumDistribution
    >>> distribution_interval(20, SumDistribution(laplace(epsilon=1.0, m=8).rows[0], 4))
    Interval(estimate=20, low=15, high=25, level=0.95)
    """
    if depends_on_count(distribution):
        return cell_interval(released, distribution, level)
    check_level(level)
    reach = distribution.distributions[0].half_width(level)
    return Interval(released, max(0, released - reach), max(0, released + reach), level)


def sum_interval(
    cells: ArrayLike | PickedCells, noise: CellDistribution | None = None, level: float = DEFAULT_LEVEL
) -> Interval:
    """The interval of the true sum of cells that share no people.

    Args:
        cells: Released counts, or cells picked from a release (`picked`), which have their noise.
        noise: The noise table of counts.
        level: The minimum coverage probability.

    >>> from discreet.noise import laplace
    >>> sum_interval([20] * 100, laplace(epsilon=1.0, m=8))
    Interval(estimate=2000, low=1973, high=2027, level=0.95)
    """
    return _of_sums(noise_sum(cells, noise), level)


def _of_sums(found: NoiseSum, level: float) -> Interval:
    kept = found.confidence_set(_half(level))
    return Interval(found.released, int(kept[0]), int(kept[-1]), level)


def difference_interval(
    cells: ArrayLike | PickedCells,
    others: ArrayLike | PickedCells,
    noise: CellDistribution | None = None,
    level: float = DEFAULT_LEVEL,
) -> Interval:
    """The interval of the true sum of some cells minus that of others.

    >>> from discreet.noise import laplace
    >>> difference_interval([30], [20], laplace(epsilon=1.0, m=8))
    Interval(estimate=10, low=6, high=14, level=0.95)
    """
    _refuse_shared(cells, others)
    return _of_sums(noise_sum(cells, noise, minus=others), level)


def ratio_interval(
    cells: ArrayLike | PickedCells,
    others: ArrayLike | PickedCells,
    noise: CellDistribution | None = None,
    level: float = DEFAULT_LEVEL,
) -> Interval:
    """The interval of the true sum of some cells divided by that of others.

    >>> from discreet.noise import laplace
    >>> found = ratio_interval([300], [100], laplace(epsilon=1.0, m=8))
    >>> round(found.low, 3), round(found.high, 3)
    (2.913, 3.093)
    """
    alpha = _half(level)
    one, two = _two_sums(cells, others, noise)
    low, high = least_share(one, two, alpha), 1 - least_share(two, one, alpha)
    return Interval(_quotient(one.released, two.released), _odds(low), _odds(high), level)


def share_interval(
    part: ArrayLike | PickedCells,
    noise: CellDistribution | None = None,
    *,
    rest: ArrayLike | PickedCells | None = None,
    whole: ArrayLike | PickedCells | None = None,
    level: float = DEFAULT_LEVEL,
) -> Interval:
    """The interval of the true share of a part.

    Args:
        part: The cells of the part, as counts or picked from a release.
        noise: The noise table of counts.
        rest: The cells of the rest; the whole is then part and rest together.
        whole: The whole, where it was released with independent noise.
        level: The minimum coverage probability.

    >>> from discreet.noise import laplace
    >>> found = share_interval([30], laplace(epsilon=1.0, m=8), rest=[70])
    >>> round(found.low, 3), round(found.high, 3)
    (0.278, 0.32)
    """
    if (rest is None) == (whole is None):
        raise BadRequest(
            message("A share needs the rest or the whole, and not both."), message("Give one of them.")
        )
    alpha = _half(level)
    one, two = _two_sums(part, rest if whole is None else whole, noise)
    inside = 0 if whole is None else 1
    low = least_share(one, two, alpha, inside=inside)
    high = 1 - least_share(two, one, alpha, inside=-inside)
    above, below = max(one.released, 0), max(two.released, 0)
    if whole is None:
        return Interval(_quotient(above, above + below), low, high, level)
    return Interval(min(_quotient(above, below), 1.0), min(_odds(low), 1.0), min(_odds(high), 1.0), level)


def _refuse_shared(cells: ArrayLike | PickedCells, others: ArrayLike | PickedCells) -> None:
    if isinstance(cells, PickedCells) and isinstance(others, PickedCells):
        refuse_shared_noise(cells, others)


def _two_sums(
    cells: ArrayLike | PickedCells, others: ArrayLike | PickedCells | None, noise: CellDistribution | None
) -> tuple[NoiseSum, NoiseSum]:
    others = () if others is None else others
    _refuse_shared(cells, others)
    return noise_sum(cells, noise), noise_sum(others, noise)


def check_level(level: float) -> None:
    """Refuse a confidence level that is not between 0 and 1."""
    if not 0 < level < 1:
        raise BadRequest(
            message("The level is {level}.", level=level), message("It lies between 0 and 1, as in 0.95.")
        )


def _half(level: float) -> float:
    check_level(level)
    return (1 - level) / 2


def _quotient(above: float, below: float) -> float:
    return above / below if below > 0 else inf


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else inf
