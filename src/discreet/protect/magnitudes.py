"""Sums and means of numeric variables under the cell key method.

    n~   = the contributors, with the noise of counts
    S    = the sum with the noise of `noise/magnitude.py`
    mean = S / n,   sum = S n~ / n       (`counts = "independent"`: sum = S, mean = S / n~)

so that a sum is its mean times the released number of contributors: an exact mean would give away counts. The component
of rank j has its own key, independent of the key of the count and of other measures:

    key(j) = the first 32 bits of AES-256(K, sum of record keys || j),   K = key(MAGNITUDE, lineage, measure)

The 65th bit is the sign that replaces that of v = 0. The other definitions rotate the digits of the cell key instead.
Values are withheld where fewer than `least_contributors` were released; 0 released contributors have the sum 0.

Source: SDC Handbook, 5.7; SuperSTAR manual; docs/methods/magnitudes.md; docs/decisions/0017-magnitudes.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.model.exact import MeasureSums
from discreet.model.magnitude import NumericMeasure, Sensitive
from discreet.noise.magnitude import CELLKEY, DISCREET, Floats, Keys, noise_of, rotated, round_half_away
from discreet.records.keys import encipher, pair_blocks

_BITS = 32


@dataclass(frozen=True, slots=True, eq=False)
class NoisySums:
    """Sums and means that may be published, in units of the last decimal.

    Args:
        contributors: With the noise of counts, not below zero.
        withheld: Cells of too few released contributors.
    """

    contributors: NDArray[np.int64]
    sums: NDArray[np.int64]
    means: NDArray[np.int64]
    withheld: NDArray[np.bool_]


def protect_sums(
    exact: MeasureSums, contributors: NDArray[np.int64], measure: NumericMeasure, key: bytes, digits: int
) -> NoisySums:
    """Perturb the sums of every cell.

    `contributors` have the noise of counts; `key` is that of the measure, and `digits` are the decimals of declared
    record keys.
    """
    declared, released = measure.protection, np.maximum(contributors, 0).ravel()
    people = exact.contributors.ravel()
    places = np.flatnonzero(people)
    inside = exact.map(lambda each: each.reshape(people.size, *each.shape[exact.contributors.ndim :])[places])
    contributions = _contributions(inside, measure)
    noise = noise_of(measure)
    keys = _keys(inside.key_sums, contributions.shape[1], declared.definition, key, digits)
    sensitive = sensitive_cells(inside.totals, inside.largest, declared.sensitive)
    noisy = noise.perturb(inside.totals.astype(np.float64), contributions, keys, sensitive)
    counts, own = inside.contributors, released[places]
    sums, means = np.zeros((2, people.size), dtype=np.int64)
    if declared.counts == "released":
        sums[places] = round_half_away(noisy * own / counts)
        means[places] = round_half_away(noisy / counts)
    else:
        sums[places] = round_half_away(np.where(own > 0, noisy, 0.0))
        means[places] = round_half_away(noisy / np.maximum(own, 1))
    few = released < declared.least_contributors
    shape = exact.contributors.shape
    return NoisySums(released.reshape(shape), sums.reshape(shape), means.reshape(shape), few.reshape(shape))


def sensitive_cells(
    totals: NDArray[np.int64], largest: NDArray[np.int64], rules: Sensitive | None
) -> NDArray[np.bool_]:
    """The cells that a rule of dominance finds; for contributions that are not negative.

    >>> sensitive_cells(np.array([100, 100]), np.array([[90, 8], [50, 40]]), Sensitive(0.5, p_percent=10)).tolist()
    [True, False]
    """
    found = np.zeros(totals.shape, dtype=np.bool_)
    if rules is None:
        return found
    sums, ordered = totals.astype(np.float64), largest.astype(np.float64)
    if rules.p_percent is not None:
        found |= sums - ordered[:, 0] - ordered[:, 1] < rules.p_percent / 100 * ordered[:, 0]
    if rules.dominance is not None:
        number, percent = rules.dominance
        found |= ordered[:, :number].sum(axis=1) > percent / 100 * sums
    return found


def _contributions(exact: MeasureSums, measure: NumericMeasure) -> Floats:
    """The contributions that are perturbed, largest first; NaN where there are fewer."""
    declared = measure.protection
    totals = np.abs(exact.totals.astype(np.float64))
    if declared.magnifier == "sum":
        return totals[:, None]
    if declared.magnifier == "mean":
        return (totals / exact.contributors)[:, None]
    ranks = np.arange(len(declared.factors))
    largest = exact.largest[:, : ranks.size].astype(np.float64)
    return np.where(ranks < exact.contributors[:, None], largest, np.nan)


def _keys(sums: NDArray[np.uint64], components: int, definition: str, key: bytes, digits: int) -> Keys:
    if definition == DISCREET:
        words = [encipher(key, pair_blocks(sums, rank)).view("<u8") for rank in range(components)]
        numbers = [(own[:, 0] & np.uint64(2**_BITS - 1)) / float(2**_BITS) for own in words]
        signs = [np.where(own[:, 1] & np.uint64(1), 1.0, -1.0) for own in words]
        return Keys(np.stack(numbers, axis=1), np.stack(signs, axis=1))
    texts = [f"{own:0{digits}d}" for own in (sums % np.uint64(10**digits)).tolist()]
    found = rotated(texts, components, same_key=False, trim=definition == CELLKEY)
    return Keys(found, np.ones_like(found))
