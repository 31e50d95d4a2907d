"""PRAM: post-randomisation of counts by transition matrices, one for small and one for large counts.

Row i of a matrix over 0..L is the truncated Laplace distribution of j - i; mass that would fall outside 0..L goes to the
neighbouring cell i-1 or i+1 on that side, or to the other one. Counts below m use the small matrix (zero stays zero); larger
ones the matrix of their residual modulo 2m+1, so rows repeat.

    invariant form: M* = M Q,  Q_kj = t_j M_jk / (t M)_k,  t M* = t;      unbiased estimate: t̂ = t* M⁻¹.

Source: Shlomo, Krenzke & Li (2019), sections 2.2 and 3.2 (Tables 2 and 3); Willenborg & De Waal (2001).
"""

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest, InfeasibleDesign
from discreet.model.messages.text import nearest
from discreet.noise.design import require_epsilon
from discreet.noise.families.laplace import ideal_laplace
from discreet.noise.family import Family, Parameter
from discreet.noise.ideal_distribution import IdealRow, IdealTable, point_row, row_from_weights
from discreet.noise.quantise import table_maker

_SIGNS = ("printed", "invariant")
_WIDEST = 500


def ideal_pram(epsilon: float = 2.0, m: int = 7, sign: str = "printed") -> IdealTable:
    """Small-count rows 0..m-1, then a repeating block of 2m+1 rows.

    Args:
        epsilon: Rate of the Laplace distribution behind the matrices.
        m: Cap of the change.
        sign: For a large count with residual r that draws v: "printed" adds r - v, as the paper says;
            "invariant" adds v - r, which keeps t M* = t but gives the counts 14|15 disjoint releases (δ = 1).
            With "printed" that pair has δ = 0.016 at ε = 2, but 13|14 and 15|16 have the 0.88 of 0|1.
    """
    require_epsilon(epsilon)
    if sign not in _SIGNS:
        raise BadRequest(f'sign "{sign}" is not known.', nearest(sign, _SIGNS))
    if not 2 <= m <= _WIDEST:
        raise InfeasibleDesign(f"m = {m}: PRAM's cap must lie between 2 and {_WIDEST}.")
    small, large = _small_weights(epsilon, m), _large_weights(epsilon, m)
    base, direction = 2 * m + 1, 1 if sign == "invariant" else -1
    rows = [point_row(), *(_noise_row(small[i], i, 1) for i in range(1, m))]
    rows += [_noise_row(large[count % base], count % base, direction) for count in range(m, m + base)]
    notes = ("Truncation at the ends of the matrices biases the noise there.",)
    return IdealTable(tuple(rows), base, "pram", {"epsilon": epsilon, "m": m, "sign": sign}, notes)


def small_matrix(epsilon: float = 2.0, m: int = 7) -> NDArray[np.float64]:
    """The transition matrix of the counts 0..m-1 (Table 2 of the paper for ε = 2, m = 7)."""
    return _as_matrix(_small_weights(epsilon, m))


def large_matrix(epsilon: float = 2.0, m: int = 7) -> NDArray[np.float64]:
    """The transition matrix of the residuals 0..2m (Table 3 of the paper for ε = 2, m = 7)."""
    return _as_matrix(_large_weights(epsilon, m))


def invariant_matrix(matrix: NDArray[np.float64], frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """The two-stage invariant form M* with t M* = t.

    The second stage draws an original value given the first stage's result, by Bayes. M* depends on the
    data: use it for assessment only, not under a differential-privacy claim.

    Args:
        matrix: A transition matrix M, rows adding up to one.
        frequencies: t, the number of cells with each value; not negative.
    """
    t = np.asarray(frequencies, dtype=np.float64)
    if t.shape != (len(matrix),) or (t < 0).any():
        raise BadRequest(f"The frequencies must be {len(matrix)} numbers, none below zero.")
    reached = t @ matrix
    joint = (t[:, None] * matrix).T
    # The row of a value that no cell can reach does not matter: take the identity.
    back = np.where(
        reached[:, None] > 0, joint / np.where(reached > 0, reached, 1.0)[:, None], np.eye(len(t))
    )
    return np.asarray(matrix @ back, dtype=np.float64)


def unbiased_estimate(released: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """t̂ = t* M⁻¹, the unbiased estimate of the original frequencies of cell values."""
    if not np.linalg.cond(matrix) < 1e12:
        raise BadRequest(
            "The transition matrix has no usable inverse: the noise hides the frequencies entirely."
        )
    return np.asarray(np.linalg.solve(matrix.T, np.asarray(released, dtype=np.float64)), dtype=np.float64)


def _small_weights(epsilon: float, m: int) -> list[list[int]]:
    distribution = _laplace_weights(epsilon, m)
    return [[1] + [0] * (m - 1), *(_cap_row(distribution, i, m - 1) for i in range(1, m))]


def _large_weights(epsilon: float, m: int) -> list[list[int]]:
    distribution = _laplace_weights(epsilon, m)
    return [_cap_row(distribution, i, 2 * m) for i in range(2 * m + 1)]


def _laplace_weights(epsilon: float, m: int) -> dict[int, int]:
    row = ideal_laplace(epsilon, m).last
    return dict(zip(row.values, row.exact_weights(), strict=True))


def _cap_row(distribution: dict[int, int], i: int, last: int) -> list[int]:
    """Row i over 0..last: mass outside goes to the neighbour on that side, or to the other one."""
    row = [distribution.get(j - i, 0) for j in range(last + 1)]
    below = sum(weight for z, weight in distribution.items() if i + z < 0)
    above = sum(weight for z, weight in distribution.items() if i + z > last)
    row[i - 1 if i > 0 else i + 1] += below
    row[i + 1 if i < last else i - 1] += above
    return row


def _noise_row(weights: list[int], i: int, direction: int) -> IdealRow:
    """The noise ±(j - i) with the weight of column j."""
    distribution = {direction * (j - i): weight for j, weight in enumerate(weights) if weight}
    values = sorted(distribution)
    return row_from_weights(values, [distribution[value] for value in values])


def _as_matrix(weights: list[list[int]]) -> NDArray[np.float64]:
    return np.array([[weight / sum(row) for weight in row] for row in weights])


pram = table_maker("pram", ideal_pram)

FAMILY = Family(
    "pram",
    "Post-randomisation matrices for small and large counts.",
    (
        Parameter("epsilon", "rate of the Laplace law that the matrices start from"),
        Parameter("m", "cap of the change", int),
        Parameter("sign", "how a large count moves: printed or invariant", str),
    ),
    ideal_pram,
    page="methods/pram.md",
    make=pram,
    place=60,
    colour="#E69F00",
)
