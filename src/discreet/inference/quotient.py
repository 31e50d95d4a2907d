"""The smallest quotient of two true sums that a release does not speak against: shares and ratios.

With a and b the true sums of two groups, X and X' their released sums, T and T' their noise, the share
p = a / (a + b) is tested by the linear form that is zero when it is true, which is Fieller's way:

    b (X - a) - a (X' - b) = b T - a T'.

The pair (a, b) is kept when P(b T - a T' >= b X - a X') > alpha and P(b T - a T' <= b X - a X') > alpha, with the largest
tails of T and T' for these two sums. The smallest share of a kept pair is the lower end; the upper end is the same for
b / (a + b).

1. Where there are many pairs, sums whose own tail is below alpha / 500 are left out, and the level pays for that.
2. With tails that hold for all the rest, P((1 - p) a <= p b) grows with p. So a bisection finds a p below which every
   pair is rejected.
3. From there on the pairs are tried one by one, in the order of their shares. Where that would take too long the search
   stops; what it passed is rejected, so it may stop anywhere.

Source: Fieller (1954); Neyman (1937).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.inference.law import SLACK, Law

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.inference.noise_sum import NoiseSum

_BISECTIONS = 50
#: The part of alpha that may be spent on leaving out sums.
_LEFT_OUT = 1 / 500
#: What is cut from a tail; intervals allow for it.
_CUT = SLACK / 4
_MANY_PAIRS = 10_000
#: The most pairs that are put in order, and the most numbers that are looked at.
_MOST_PAIRS, _MOST_NUMBERS = 1_000_000, 4e7
_CHUNK = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """A group with its possible sums, and the largest tails of its noise for each.

    Args:
        released: The released sum.
        sums: The sums that are not left out.
        line: The line of each sum in `up` and `down`.
        noise: Values of the noise; what lies above is counted with the last, what lies below with the first.
        up: P(noise >= value), one line a sum or one for all.
        down: P(noise <= value).
    """

    released: int
    sums: NDArray[np.int64]
    line: NDArray[np.int64]
    noise: NDArray[np.int64]
    up: NDArray[np.float64]
    down: NDArray[np.float64]


def least_share(part: NoiseSum, rest: NoiseSum, alpha: float, *, inside: int = 0) -> float:
    """The smallest share a / (a + b) of a pair of sums that is kept.

    Args:
        part: The noise of the sum a.
        rest: The noise of the sum b.
        alpha: Half of what the level leaves.
        inside: 1 where a is known to be a part of b, -1 where b is a part of a.

    Returns:
        The share; the smallest of all where no pair is kept (noise with gaps).
    """
    many = (part.most - part.least) * (rest.most - rest.least) > _MANY_PAIRS
    left_out = alpha * _LEFT_OUT if many else 0.0
    one, two = _group(part, left_out), _group(rest, left_out)
    alpha = alpha - 2 * left_out - part.error - rest.error - SLACK
    start = _bisected(one, two, alpha)
    if len(one.sums) * len(two.sums) > _MOST_PAIRS:
        return start
    return _first_kept(one, two, alpha, start, inside)


def _group(found: NoiseSum, alpha: float) -> _Group:
    """A group without its rare sums, and without noise that is rare for each of the others."""
    sums = found.not_rare(alpha) if alpha else found.sums
    own = sums[:, None] if found.by_sum else sums[:1, None]
    noise = np.arange(max(found.up.first, -found.down.last), min(found.up.last, -found.down.first) + 1)
    up, down = found.up.at(own, noise), found.down.at(own, -noise)
    inner = np.flatnonzero((up.max(axis=0) > _CUT) & (down.max(axis=0) > _CUT))
    up, down = up[:, inner[0] : inner[-1] + 1], down[:, inner[0] : inner[-1] + 1]
    up[:, 0] = down[:, -1] = 1.0
    line = np.arange(len(sums)) if found.by_sum else np.zeros(len(sums), dtype=np.int64)
    return _Group(found.released, sums, line, noise[inner[0] : inner[-1] + 1], up, down)


def _bisected(one: _Group, two: _Group, alpha: float) -> float:
    """A share p below which P((1 - p) a <= p b) is at most alpha, whatever the sums are."""
    a = _true_sums(one.released, Law(int(one.noise[0]), -np.diff(one.up.max(axis=0), append=0.0)))
    b = _true_sums(two.released, Law(int(two.noise[0]), np.diff(two.down.max(axis=0), prepend=0.0)))
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


def _true_sums(released: int, noise: Law) -> Law:
    """The law of released minus noise, what lies below zero counted as zero."""
    law = noise.reflected().moved(released)
    if law.first >= 0:
        return law
    if law.last <= 0:
        return Law(0, np.array([law.chances.sum()]))
    zero = -law.first
    return Law(0, np.append(law.chances[: zero + 1].sum(), law.chances[zero + 1 :]))


def _chance_at_most(share: float, a: Law, below: NDArray[np.float64], b: Law) -> float:
    """P((1 - share) a <= share b); a tie counts, whatever the rounding."""
    if share >= 1:
        return 1.0
    most = np.floor(share / (1 - share) * b.values * (1 + 1e-12) + 1e-9) - a.first
    place = np.clip(most, -1, len(below) - 1).astype(np.int64)
    return float(b.chances @ np.where(place < 0, 0.0, below[place]))


def _first_kept(one: _Group, two: _Group, alpha: float, start: float, inside: int) -> float:
    """The smallest share, from `start` on, of a pair that is kept; where the search stops before, that is less."""
    a, b = (sums.astype(np.float64) for sums in np.meshgrid(one.sums, two.sums, indexing="ij"))
    allowed = (a + b > 0) & ((b - a) * inside >= 0)
    shares = np.divide(a, a + b, out=np.ones_like(a), where=a + b > 0)
    tried = allowed & (shares >= start * (1 - 1e-9))
    order = np.flatnonzero(tried)[np.argsort(shares[tried], kind="stable")]
    looked_at, place, size = 0, 0, 16
    width = len(one.noise) + len(two.noise)
    while place < len(order) and looked_at < _MOST_NUMBERS:
        i, j = np.unravel_index(order[place : place + size], shares.shape)
        kept = np.flatnonzero(_kept(one, two, i, j, alpha))
        if len(kept):
            return float(shares[i[kept[0]], j[kept[0]]])
        looked_at, place = looked_at + size * width, place + size
        size = min(2 * size, _CHUNK // width + 1)
    if place < len(order):
        return float(shares.flat[order[place]])
    return float(shares[allowed].min()) if allowed.any() else 0.0


def _kept(
    one: _Group, two: _Group, i: NDArray[np.int64], j: NDArray[np.int64], alpha: float
) -> NDArray[np.bool_]:
    """Whether neither tail of the linear form is as small as alpha, pair by pair."""
    kept = _tail(one, two, i, j) > alpha
    kept[kept] = _tail(two, one, j[kept], i[kept]) > alpha
    return kept


def _tail(one: _Group, two: _Group, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
    """P(b T - a T' >= b X - a X'), or more, for the sums a and b at these places."""
    a, b = one.sums[i][:, None], two.sums[j][:, None]
    low = np.diff(two.down, prepend=0.0, axis=1)[two.line[j]]
    # T >= X - a (X' - T') / b; in whole numbers, so that ties count.
    needed = one.released - (a * (two.released - two.noise)) // np.maximum(b, 1)
    place = np.clip(needed - one.noise[0], 0, len(one.noise) - 1)
    reached = np.where(needed > one.noise[-1], 0.0, one.up[one.line[i][:, None], place])
    reached = np.where(b > 0, reached, two.noise <= two.released)
    return np.asarray((low * reached).sum(axis=1))
