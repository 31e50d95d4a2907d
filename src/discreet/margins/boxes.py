"""Second moments of cells that are boxes: some categories of every chain, added up over a table's cells.

A box adds up the cells of a table over a set B_j of categories of each chain j, at a level L_j. It is a linear function of
the noisy residuals that factorises, and so do its variance and the covariance of two boxes:

    Cov = Σ_S v_S Π_j ⟨u_j, u'_j⟩,     u_j = the indicator of B_j seen at the level of S, centred within blocks,

a category of the level of S weighing the sum of the shares of its descendants in B_j. Parts finer than one of the boxes
add nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.margins.chain import Chain
    from discreet.margins.residual_space import ResidualSpace

    #: For one chain: the level, and the categories of that level that are added up.
    Side = tuple[int, NDArray[np.int64]]


def squared_lengths(
    chain: Chain, level: int, kept: NDArray[np.int64], target: NDArray[np.int64], outputs: int
) -> list[NDArray[np.float64]]:
    """For each level above, the squared length of every output's indicator there, centred within blocks.

    Args:
        chain: The attribute.
        level: Of the categories.
        kept: The categories that count.
        target: The output that each of them is added to.
        outputs: How many outputs there are.
    """
    found = []
    for above in range(level + 1):
        seen = chain.ancestors(level, above)[kept]
        output, at, weight = _gathered(target, seen, chain.shares(level, above)[kept], chain.size(above))
        squares = np.bincount(output, weight**2, minlength=outputs)
        if above:
            sizes, blocks = chain.block_sizes(above), chain.parents[above - 1][at]
            output, at, weight = _gathered(output, blocks, weight, chain.size(above - 1))
            squares -= np.bincount(output, weight**2 / sizes[at], minlength=outputs)
        found.append(np.maximum(squares, 0.0))
    return found


def _gathered(
    output: NDArray[np.int64], at: NDArray[np.int64], weight: NDArray[np.float64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Weights of the same output and place, added up."""
    key, place = np.unique(output * size + at, return_inverse=True)
    added = np.bincount(place, weight, minlength=key.size).astype(np.float64)
    return np.asarray(key // size), np.asarray(key % size), added


def covariances(
    space: ResidualSpace, variances: Sequence[float], boxes: Sequence[Sequence[Side]]
) -> NDArray[np.float64]:
    """The covariance matrix of boxes.

    Args:
        space: The parts.
        variances: Of each part, in the order of the parts.
        boxes: Each box as one side for every chain.
    """
    gram = [_gram(chain, [box[place] for box in boxes]) for place, chain in enumerate(space.chains)]
    total = np.zeros((len(boxes), len(boxes)))
    for part, variance in zip(space.parts, variances, strict=True):
        product = np.full_like(total, variance)
        for own, level in zip(gram, part, strict=True):
            product *= own[level]
        total += product
    return total


def _gram(chain: Chain, sides: Sequence[Side]) -> list[NDArray[np.float64]]:
    """For each level the inner products of all sides there; zero for sides that are coarser."""
    found = []
    for above in range(chain.levels + 1):
        seen = np.zeros((len(sides), chain.size(above)))
        for row, (level, kept) in zip(seen, sides, strict=True):
            if above <= level:
                np.add.at(row, chain.ancestors(level, above)[kept], chain.shares(level, above)[kept])
        seen = chain.centred(seen, 1, above)
        found.append(seen @ seen.T)
    return found
