"""How large the noise of a sum of released cells may be: two laws between which its true law lies.

Where only one row of the noise table can lie behind a released count, the cell's noise has that law, exactly.
Where several can (small counts; tables with repeating blocks), the true row is unknown, and the noise is
bounded in two ways that hold for every one of them:

- by the law with the largest upper tail of all rows, P(noise >= z) = max over rows;
- for sums, by Chernoff: P(sum >= t) <= exp(-h t + sum over cells of max over rows of log E exp(h noise)).

The first is sharp for few cells, the second for many: unbiased rows then cost little. The smaller tail counts.
Under `dp` the noise does not depend on the count, and the law of a sum is a convolution.

Comes from: `channel`. Goes to: `intervals`.
Source: Chernoff (1952); the counts that could lie behind a released one always include the true one, so both
bounds hold for the true noise whatever was released.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadRequest
from discreet.inference.channel import channel_of, whole_numbers
from discreet.inference.law import CUT, Law, law_of_sum
from discreet.inference.picked_cells import PickedCells
from discreet.model.noise_law import depends_on_count
from discreet.noise.sum_law import added_up
from discreet.noise.table import NO_NOISE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.model.noise_law import CellLaw

_DEPTH = np.log(1e12)
_TILTS = np.geomspace(1e-5, 20.0, 240)
_UNDERFLOW = -600.0


@dataclass(frozen=True, slots=True)
class NoiseSum:
    """The noise of a sum of cells.

    Args:
        released: The sum of the released counts.
        least: The smallest true sum that is possible at all.
        most: The largest.
        low: A law with at least the lower tail of the noise.
        high: A law with at least its upper tail; the same law where the noise is known exactly.
        error: By how much these laws may be wrong, in total variation, beyond what every interval allows for.
    """

    released: int
    least: int
    most: int
    low: Law
    high: Law
    error: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether the law of the noise is known exactly."""
        return self.low is self.high


def noise_sum(cells: ArrayLike | PickedCells, noise: CellLaw | None = None) -> NoiseSum:
    """The noise of the sum of some released cells that share no people.

    Args:
        cells: Released counts, or cells picked from a release, which know their noise.
        noise: The noise table of counts.

    >>> from discreet.noise import laplace
    >>> found = noise_sum([4, 9, 2], laplace(epsilon=1.0, m=5))
    >>> found.exact, found.released, found.high.last
    (True, 15, 15)
    """
    if isinstance(cells, PickedCells):
        return _picked_sum(cells)
    if noise is None:
        raise BadRequest("Plain counts have no noise table.", "Give `noise`, the law of their noise.")
    return _sum_by_count(whole_numbers(cells), noise)


def _sum_by_count(cells: NDArray[np.int64], noise: CellLaw) -> NoiseSum:
    """The noise of cells of one noise table, of which the true counts choose the rows."""
    channel = channel_of(noise)
    values, times = np.unique(cells.ravel(), return_counts=True)
    evidence = channel.evidence(values)
    possible = evidence.chance > 0
    index = channel.law_index(evidence.counts)
    rows = [np.unique(index[cell][possible[cell]]) for cell in range(len(values))]
    least = evidence.first + possible.argmax(axis=1)
    most = evidence.first + possible.shape[1] - 1 - possible[:, ::-1].argmax(axis=1)
    high = _upper(channel.laws, channel.lowest, rows, times)
    exact = all(len(row) == 1 for row in rows)
    low = high if exact else _upper(channel.laws[:, ::-1], -channel.highest, rows, times).reflected()
    return NoiseSum(int(values @ times), int(least @ times), int(most @ times), low, high)


def _picked_sum(cells: PickedCells) -> NoiseSum:
    """Cells whose noise depends on the count go table by table; all others have a law of their sum."""
    by_count = [depends_on_count(law) for law in cells.laws]
    tables = dict.fromkeys(law for law, depends in zip(cells.laws, by_count, strict=True) if depends)
    parts = [_sum_by_count(cells.counts[[law == table for law in cells.laws]], table) for table in tables]
    if not all(by_count):
        parts.append(_sum_of_laws(cells, ~np.array(by_count)))
    return parts[0] if len(parts) == 1 else _together(parts)


def _sum_of_laws(cells: PickedCells, chosen: NDArray[np.bool_]) -> NoiseSum:
    """The law of a sum of noises that do not depend on counts: a convolution."""
    noisy = (cells.laws[at] for at in np.flatnonzero(chosen) if cells.laws[at] != NO_NOISE)
    sums = added_up(law.laws[0] for law in noisy)
    released = int(cells.counts[chosen].sum())
    parts = [Law(*law.law()).kept(CUT) for law in sums] or [Law(0, np.ones(1))]
    whole = law_of_sum(parts, [1] * len(parts)) if len(parts) > 1 else parts[0]
    error = sum(law.error for law in sums) + CUT * len(sums)
    least, most = max(0, released - whole.last), max(0, released - whole.first)
    return NoiseSum(released, least, most, whole, whole, error)


def _together(parts: list[NoiseSum]) -> NoiseSum:
    """The noise of independent sums, added up."""
    high = law_of_sum([part.high for part in parts], [1] * len(parts))
    exact = all(part.exact for part in parts)
    low = high if exact else law_of_sum([part.low for part in parts], [1] * len(parts))
    released, least, most = (
        sum(getattr(part, name) for part in parts) for name in ("released", "least", "most")
    )
    return NoiseSum(released, least, most, low, high, sum(part.error for part in parts))


def _upper(
    laws: NDArray[np.float64], lowest: int, rows: list[NDArray[np.int64]], times: NDArray[np.int64]
) -> Law:
    """A law with at least the upper tail of the sum, whichever of its rows serves each cell."""
    envelopes = [_envelope(laws[row], lowest) for row in rows]
    sharp = law_of_sum(envelopes, times.tolist())
    open_cells = [place for place, row in enumerate(rows) if len(row) > 1]
    if not open_cells:
        return sharp
    known = [place for place, row in enumerate(rows) if len(row) == 1]
    bound = _chernoff(laws, lowest, [rows[p] for p in open_cells], times[open_cells])
    if known:
        exact = law_of_sum([envelopes[p] for p in known], times[known].tolist())
        bound = law_of_sum([bound, exact], [1, 1])
    return _smaller_tail(sharp, bound)


def _envelope(laws: NDArray[np.float64], lowest: int) -> Law:
    """The law whose upper tail is the largest of several."""
    tail = np.cumsum(laws[:, ::-1], axis=1)[:, ::-1].max(axis=0)
    chances = tail - np.append(tail[1:], 0.0)
    return Law(lowest, np.maximum(chances, 0.0)).trimmed()


def _chernoff(
    laws: NDArray[np.float64], lowest: int, rows: list[NDArray[np.int64]], times: NDArray[np.int64]
) -> Law:
    """The law whose upper tail is Chernoff's bound of the sum, whichever row serves each cell."""
    generating = _log_generating(laws, lowest)
    total = np.zeros(len(_TILTS))
    for row, often in zip(rows, times, strict=True):
        total += often * generating[row].max(axis=0)
    start, end = int(np.floor((total / _TILTS).min())), int(np.ceil(((total + _DEPTH) / _TILTS).min()))
    points = np.arange(start, end + 1)
    tail = np.ones(len(points))
    for tilt, log_mean in zip(_TILTS, total, strict=True):
        np.minimum(tail, np.exp(np.minimum(log_mean - tilt * points, 0.0)), out=tail)
    tail[0] = 1.0
    return Law(start, tail - np.append(tail[1:], 0.0))


def _log_generating(laws: NDArray[np.float64], lowest: int) -> NDArray[np.float64]:
    """The log of E exp(h noise) of each law at each tilt h, or something larger."""
    values = lowest + np.arange(laws.shape[1])
    largest = values[laws.shape[1] - 1 - (laws[:, ::-1] > 0).argmax(axis=1)]
    with np.errstate(divide="ignore"):
        relative = np.log(laws @ np.exp(np.outer(values - values[-1], _TILTS)))
    exact = relative + values[-1] * _TILTS
    # Where the sum underflows, exp(h largest value) is no less than the mean of exp(h noise).
    return np.asarray(np.where(relative > _UNDERFLOW, exact, largest[:, None] * _TILTS))


def _smaller_tail(one: Law, other: Law) -> Law:
    """The law with the smaller of two upper tails."""
    first, last = min(one.first, other.first), max(one.last, other.last)
    tails = []
    for law in (one, other):
        tail = np.zeros(last - first + 1)
        tail[: law.first - first] = 1.0
        tail[law.first - first : law.last - first + 1] = law.at_least()
        tails.append(tail)
    smaller = np.minimum(*tails)
    return Law(first, smaller - np.append(smaller[1:], 0.0)).trimmed()
