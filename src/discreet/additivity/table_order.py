"""The order in which a table is fitted: its variables by their names, however it is laid out.

A solver that meets several best tables takes one by the order of its axes. With one order for all layouts of a table, the
same people have the same number in each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.model.shape import TableShape


@dataclass(frozen=True, slots=True)
class TableOrder:
    """The axes of a table, in the order in which it is fitted.

    >>> order = TableOrder((1, 0))
    >>> order.put(np.array([[1, 2, 3]])).tolist(), order.back(order.put(np.array([[1, 2, 3]]))).tolist()
    ([[1], [2], [3]], [[1, 2, 3]])
    """

    axes: tuple[int, ...]

    @classmethod
    def of(cls, shape: TableShape) -> Self:
        """By the names of the variables."""
        names = [dimension.name for dimension in shape.dimensions]
        return cls(tuple(sorted(range(len(names)), key=names.__getitem__)))

    def put(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Cells in this order."""
        return np.ascontiguousarray(cells.transpose(self.axes))

    def back(self, cells: NDArray[Any]) -> NDArray[Any]:
        """Cells of this order, as the table is laid out."""
        return np.ascontiguousarray(cells.transpose(np.argsort(self.axes)))
