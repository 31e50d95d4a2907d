"""What the papers measure of a perturbed table: losses, distances, association and conditional entropy.

Every function takes many tables at once, tables along the first axis, and gives one number a table.

    l1 = Σ|a-b|,   l2 = Σ(a-b)²,   l3 = Σ|√a-√b|,   HD = √(½ Σ(√a-√b)²),
    V = √(X² / (n min(r-1, c-1))),   RM = 1 - H(a|b)/H(a).

Comes from: original and perturbed tables. Goes to: the simulated exhibits.
Source: Rinott et al. (2018), section 4.2; Shlomo, Krenzke & Li (2019), section 3.5; Antal et al. (2014), eq. 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy
from scipy.stats import chi2

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Association:
    """Pearson's test of many two-way tables as if their counts were exact."""

    statistic: Floats
    df: NDArray[np.int64]
    people: Floats
    rank: NDArray[np.int64]

    @property
    def p_value(self) -> Floats:
        """From the chi-square law."""
        return np.asarray(chi2.sf(self.statistic, self.df))

    @property
    def cramers_v(self) -> Floats:
        """Cramér's V."""
        return np.asarray(np.sqrt(self.statistic / (self.people * self.rank)))


def pearson(tables: ArrayLike) -> Association:
    """Pearson's X² of each table; empty rows and columns are left out of its degrees of freedom.

    >>> pearson([[[10, 20], [20, 10]]]).statistic.round(4).tolist()
    [6.6667]
    """
    counts = np.asarray(tables, dtype=np.float64)
    rows, columns = counts.sum(axis=2, keepdims=True), counts.sum(axis=1, keepdims=True)
    people = counts.sum(axis=(1, 2))
    expected = rows * columns / people[:, None, None]
    terms = np.divide((counts - expected) ** 2, expected, out=np.zeros_like(counts), where=expected > 0)
    r, c = (rows[:, :, 0] > 0).sum(axis=1), (columns[:, 0] > 0).sum(axis=1)
    return Association(terms.sum(axis=(1, 2)), (r - 1) * (c - 1), people, np.minimum(r, c) - 1)


def losses(original: ArrayLike, perturbed: ArrayLike) -> dict[str, Floats]:
    """The three loss functions; no count may be below zero.

    >>> {name: loss.tolist() for name, loss in losses([[4, 9]], [[0, 9]]).items()}
    {'l1': [4.0], 'l2': [16.0], 'l3': [2.0]}
    """
    a, b = np.asarray(original, dtype=np.float64), np.asarray(perturbed, dtype=np.float64)
    return {
        "l1": _per_table(np.abs(a - b)),
        "l2": _per_table((a - b) ** 2),
        "l3": _per_table(np.abs(np.sqrt(a) - np.sqrt(b))),
    }


def hellinger_distance(original: ArrayLike, perturbed: ArrayLike) -> Floats:
    """Hellinger's distance of counts as the paper has it: not normalised to shares.

    >>> hellinger_distance([[1, 4]], [[0, 9]]).tolist()
    [1.0]
    """
    a, b = np.asarray(original, dtype=np.float64), np.asarray(perturbed, dtype=np.float64)
    return np.sqrt(0.5 * _per_table((np.sqrt(a) - np.sqrt(b)) ** 2))


def entropy_risk(original: ArrayLike, perturbed: ArrayLike) -> Floats:
    """RM = 1 - H(a|b)/H(a): 1 if the released table leaves no uncertainty about the original one.

    Tables of unequal totals are first scaled to the product of both. RM = 1 does not imply equal tables.

    >>> entropy_risk([[3, 5, 2]], [[3, 5, 2]]).tolist()
    [1.0]
    """
    a, b = np.asarray(original, dtype=np.float64), np.asarray(perturbed, dtype=np.float64)
    a, b = a.reshape(len(a), -1), b.reshape(len(b), -1)
    a, b = a * b.sum(axis=1, keepdims=True), b * a.sum(axis=1, keepdims=True)
    total = a.sum(axis=1)
    both = np.minimum(a, b)
    missing = total - both.sum(axis=1)
    kept = _entropy_terms(both, b)
    lost = _entropy_terms(a - both, np.broadcast_to(missing[:, None], a.shape))
    added = _entropy_terms(b - both, b)
    uncertainty = (kept + lost + added) / total
    return np.asarray(1 - uncertainty / (_entropy_terms(a, total[:, None]) / total))


def _entropy_terms(part: Floats, whole: Floats) -> Floats:
    """-Σ part log(part/whole), with log 0 as 0."""
    ratio = np.divide(part, whole, out=np.zeros_like(part), where=(part > 0) & (whole > 0))
    return np.asarray(-xlogy(part, np.where(ratio > 0, ratio, 1.0)).sum(axis=1))


def _per_table(terms: Floats) -> Floats:
    return np.asarray(terms.reshape(len(terms), -1).sum(axis=1))
