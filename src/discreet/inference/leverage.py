"""How much each fitted mean owes to the fit: the leverages of a log-linear model, for many tables at once.

With X the design of the model (one line a cell, one column a margin cell), mu the means, I the information on each
mean, and W = mu^2 I,

    G = (X' W X)^-1,   s(cell) = x' G x, the variance of the fitted log mean,   leverage(cell) = W s.

Leverages add up to the number of parameters. Each line of X has one 1 a generator, so that s is a sum of entries of
G and X' W X a sum of margins: no product with X is written out.

Source: McCullagh & Nelder (1989), section 12.7.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.inference.hierarchical_model import HierarchicalModel

    Floats = NDArray[np.float64]

#: Added to the scaled X' W X, which is singular since margins overlap; what is computed does not depend on it.
_RIDGE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Leverage:
    """The inverse information of a batch of fitted tables.

    Args:
        inverse: G of each table.
        places: For each cell and generator the column of X that has its 1.
    """

    inverse: Floats
    places: NDArray[np.int64]

    @classmethod
    def of(cls, model: HierarchicalModel, weights: Floats) -> Self:
        """From the weights W of the cells, tables along the first axis, cells in one line."""
        places, columns = margin_cells(model)
        pairs = (places[:, :, None] * columns + places[:, None, :]).reshape(len(places), -1)
        inner = (_membership(pairs, columns**2) @ weights.T).T.reshape(-1, columns, columns)
        scale = np.sqrt(np.einsum("tii->ti", inner))
        scale = np.where(scale > 0, scale, 1.0)
        unit = scale[:, :, None] * scale[:, None, :]
        return cls(np.linalg.inv(inner / unit + _RIDGE * np.eye(columns)) / unit, places)

    def log_variance(self) -> Floats:
        """s: the variance of each fitted log mean."""
        found = np.zeros((len(self.inverse), len(self.places)))
        for one in self.places.T:
            for other in self.places.T:
                found += self.inverse[:, one, other]
        return found

    def explained(self, covariance: Floats) -> Floats:
        """The variance of a sum over cells that its regression on the parameters' scores explains.

        Args:
            covariance: For each cell that of its term and the derivative of its log-chance in log mu.
        """
        total = (_membership(self.places, self.inverse.shape[1]) @ covariance.T).T
        return np.asarray(np.einsum("ti,tij,tj->t", total, self.inverse, total))


def margin_cells(model: HierarchicalModel) -> tuple[NDArray[np.int64], int]:
    """For each cell its margin cell of each generator, numbered through, and how many there are."""
    design = model.design(np.ones(model.shape, dtype=np.bool_))
    places = design.indices.reshape(design.shape[0], len(model.generators))
    return places.astype(np.int64), int(design.shape[1])


def _membership(places: NDArray[np.int64], columns: int) -> sparse.csr_array:
    """One line a column, with a 1 for each of its cells."""
    cells = np.repeat(np.arange(len(places)), places.shape[1])
    entries = (np.ones(places.size), (places.ravel(), cells))
    return sparse.csr_array(entries, shape=(columns, len(places)))
