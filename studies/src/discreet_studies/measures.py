"""What the papers measure of a perturbed table: losses, distances, association and conditional entropy.

Every function takes many tables at once, tables along the first axis, and gives one number a table.

    l1 = Σ|a-b|,   l2 = Σ(a-b)²,   l3 = Σ|√a-√b|,   HD = √(½ Σ(√a-√b)²),
    V = √(X² / (n min(r-1, c-1))),   RM = 1 - H(a|b)/H(a).

Source: Rinott et al. (2018), section 4.2; Shlomo, Krenzke & Li (2019), section 3.5; Antal et al. (2014), eq. 4.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.assess.risk_utility import conditional_entropy, entropy
from discreet.assess.simulation import NaiveAnalysis, analyse

Floats = NDArray[np.float64]


def pearson(tables: ArrayLike) -> NaiveAnalysis:
    """The naive analysis of each two-way table; empty rows and columns are left out of its degrees of freedom.

    >>> pearson([[[10, 20], [20, 10]]]).pearson.round(4).tolist()
    [6.6667]
    """
    counts = np.asarray(tables, dtype=np.int64)[:, None]
    return analyse(counts, np.ones(counts.shape[1:], dtype=np.bool_))


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
    a, b = (np.asarray(table, dtype=np.int64) for table in (original, perturbed))
    a, b = a.reshape(len(a), -1), b.reshape(len(b), -1)
    return 1 - conditional_entropy(a, b) / entropy(a)


def _per_table(terms: Floats) -> Floats:
    return np.asarray(terms.reshape(len(terms), -1).sum(axis=1))
