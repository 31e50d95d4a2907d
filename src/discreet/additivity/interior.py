"""Additivity `interior`: every total is the sum of the noisy leaf cells under it.

    total = Σ noisy leaf cells

Leaf cells keep their values, the same in every table that shows them. Totals give up theirs: two tables that
cross age with different variables show different totals by age, and the noise of a total grows with the
number of cells under it (variance n·V for n cells of variance V).

Sums of released cells are post-processing: whatever the leaf cells promise, the table promises. In `cellkey`
fewer numbers come out than with totals of their own, never more.

Comes from: `protect`. Goes to: the release's values.
Source: Shlomo, Krenzke & Li (2019), section 2, option 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.additivity.axis_tree import Additive


def sums_of_interior(noisy: NDArray[np.int64], structure: Additive) -> NDArray[np.int64]:
    """The table whose leaf cells are the noisy ones and whose totals are their sums.

    >>> import numpy as np
    >>> from discreet.additivity.axis_tree import Additive, AxisTree
    >>> sums_of_interior(np.array([4, 5, 11]), Additive((AxisTree.plain(2),))).tolist()
    [4, 5, 9]
    """
    structure.check(noisy)
    return structure.add_up(structure.leaf_cells(noisy))
