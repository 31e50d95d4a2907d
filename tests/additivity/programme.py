"""The oracle of fitted tables: the integer programme of the whole table, solved by HiGHS."""

from __future__ import annotations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from discreet.additivity.axis_tree import Additive, AxisTree


def least_change_by_programme(noisy, structure, *, bounded=True, kept=None, whole=True) -> float:
    """The least Σ |x - noisy| over all cells of a table that adds up, by up and down as variables of their own."""
    wish = noisy.ravel()
    lines = [line for axis in range(noisy.ndim) for line in _sums(structure, axis)]
    sums = csr_array(np.array(lines, dtype=float).reshape(-1, wish.size))
    down = wish if bounded else np.full(wish.size, np.inf)
    low = np.maximum(0, -wish) if bounded else np.zeros(wish.size)
    high = np.full(wish.size, np.inf)
    if kept is not None:
        held = kept.ravel()
        low, high, down = (np.where(held, 0, each) for each in (low, high, np.maximum(down, 0)))
    matrix = csr_array(np.hstack([sums.toarray(), -sums.toarray()]))
    found = milp(
        np.ones(2 * wish.size),
        constraints=LinearConstraint(matrix, -(sums @ wish), -(sums @ wish)),
        bounds=Bounds(
            np.concatenate([low, np.zeros(wish.size)]), np.concatenate([high, np.maximum(down, 0)])
        ),
        integrality=np.full(2 * wish.size, int(whole)),
        options={"mip_rel_gap": 0},
    )
    return float(found.fun)


def _sums(structure: Additive, axis: int):
    places = np.moveaxis(np.arange(int(np.prod(structure.shape))).reshape(structure.shape), axis, 0)
    parents = structure.axes[axis].parents
    for whole in sorted({parent for parent in parents if parent >= 0}):
        parts = [place for place, parent in enumerate(parents) if parent == whole]
        for at in range(places[0].size):
            line = np.zeros(places.size)
            line[[places[part].ravel()[at] for part in parts]] = 1
            line[places[whole].ravel()[at]] = -1
            yield line


def some_tree(random, leaves: int, kind: str = "any") -> AxisTree:
    """No total, a total, or a hierarchy under a total."""
    kind = str(random.choice(["none", "plain", "deep"])) if kind == "any" else kind
    if kind != "deep":
        return AxisTree.plain(leaves, total=kind == "plain")
    groups = max(1, leaves // 2)
    places = tuple(leaves + int(place) for place in random.integers(0, groups, leaves))
    return AxisTree((*places, *(leaves + groups,) * groups, -1))


def some_table(random, structure: Additive, noise: int = 4) -> np.ndarray:
    """Few or many people, and noise on every cell."""
    shape = tuple(tree.leaves.size for tree in structure.axes)
    true = structure.add_up(random.poisson(random.choice([0.5, 3, 20]), shape))
    return true + random.integers(-noise, noise + 1, true.shape)
