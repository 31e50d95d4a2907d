"""A hierarchical log-linear model: which margins a table's means must match, and which cells take part.

A model is named by its generators, the largest sets of variables that interact. Its means have the form

    log mu(cell) = log offset(cell) + sum over generators g of theta_g(cell's categories in g),

and one cycle of iterative proportional fitting rescales each generator's margin to a target. Where cells
vanish, the likelihood has no maximum among positive means; the extended one lies on a face, found by a linear
programme: cells of weight u = A theta > 0 where u = 0 on all others.

Source: Bishop, Fienberg & Holland (1975), chapter 3; Fienberg & Rinaldo (2012) for extended estimates.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import sparse

from discreet.errors import BadRequest, DiscreetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

_TOLERANCE = 1e-13
MOST_CYCLES = 20_000


@dataclass(frozen=True, slots=True)
class HierarchicalModel:
    """A hierarchical log-linear model for tables of one shape.

    Args:
        shape: The categories of each variable.
        generators: Sets of axes that interact, none within another.
        offset: What the means are multiples of; 0 where a cell cannot occur.
    """

    shape: tuple[int, ...]
    generators: tuple[tuple[int, ...], ...]
    offset: Floats

    @classmethod
    def of(cls, generators: Sequence[Sequence[int]], offset: Floats) -> Self:
        """The model of some generators; those within another are left out.

        Raises:
            BadRequest: An axis that the table does not have.

        >>> HierarchicalModel.of([(0,), (0, 1), (2,)], np.ones((2, 2, 2))).generators
        ((0, 1), (2,))
        """
        sets = sorted({tuple(sorted(set(generator))) for generator in generators} or {()})
        wrong = [axis for axes in sets for axis in axes if not 0 <= axis < offset.ndim]
        if wrong:
            raise BadRequest(
                f"The model names axis {wrong[0]} of a table with {offset.ndim}.",
                f"Axes run from 0 to {offset.ndim - 1}.",
            )
        kept = tuple(a for a in sets if not any(a != b and set(a) <= set(b) for b in sets))
        return cls(offset.shape, kept, offset)

    @property
    def possible(self) -> Flags:
        """Which cells can occur."""
        return self.offset > 0

    @property
    def two_main_effects(self) -> bool:
        """Whether it is plain independence of a full two-way table, where everything has a short form."""
        return len(self.shape) == 2 and self.generators == ((0,), (1,)) and bool(self.possible.all())

    def cycle(self, mu: Floats, target: Floats) -> Floats:
        """One cycle of proportional fitting of each table of a batch to the margins of its target."""
        for axes in self._summed():
            margin, wanted = mu.sum(axis=axes, keepdims=True), target.sum(axis=axes, keepdims=True)
            mu = mu * np.divide(wanted, margin, out=np.zeros_like(wanted), where=margin > 0)
        return mu

    def fitted(self, target: Floats, start: Floats | None = None) -> Floats:
        """The means that match the target's margins: proportional fitting of each table of a batch.

        It ends when a cycle changes nothing, or after `MOST_CYCLES`; `off_by` tells how far it came.

        Args:
            target: Counts.
            start: The offset, with zeros where cells vanish.
        """
        mu = np.broadcast_to(self.offset if start is None else start, target.shape).astype(np.float64)
        for _ in range(MOST_CYCLES):
            before, mu = mu, self.cycle(mu, target)
            if np.abs(mu - before).max() <= _TOLERANCE * (1 + mu.max()):
                break
        return mu

    def off_by(self, mu: Floats, target: Floats) -> Floats:
        """For each table of a batch the largest error of a margin, as a part of the largest cell of a margin."""
        worst, largest = np.zeros(len(mu)), np.ones(len(mu))
        for axes in self._summed():
            wanted = target.sum(axis=axes).reshape(len(mu), -1)
            found = mu.sum(axis=axes).reshape(len(mu), -1)
            worst = np.maximum(worst, np.abs(found - wanted).max(axis=1))
            largest = np.maximum(largest, wanted.max(axis=1))
        return np.asarray(worst / largest)

    def _summed(self) -> list[tuple[int, ...]]:
        """For each generator the axes of a batch that its margin adds up."""
        return [tuple(a + 1 for a in range(len(self.shape)) if a not in g) for g in self.generators]

    def degrees_of_freedom(self, present: Flags) -> int:
        """Cells that take part minus parameters that they determine."""
        if present.all():
            return prod(self.shape) - self._parameters()
        design = self.design(present)
        gram = design @ design.T if design.shape[0] <= design.shape[1] else design.T @ design
        return int(present.sum()) - int(np.linalg.matrix_rank(gram.toarray(), hermitian=True))

    def _parameters(self) -> int:
        """Free parameters when every cell takes part: one for each contrast of each interaction."""
        interactions = {
            part for g in self.generators for size in range(len(g) + 1) for part in combinations(g, size)
        }
        return sum(prod(self.shape[axis] - 1 for axis in part) for part in interactions)

    def design(self, present: Flags) -> sparse.csr_array:
        """One line a cell that takes part, one column a margin cell of each generator: 1 where it belongs."""
        places = np.argwhere(present)
        blocks = []
        for generator in self.generators:
            lengths = tuple(self.shape[axis] for axis in generator)
            column = (
                np.ravel_multi_index(tuple(places[:, list(generator)].T), lengths)
                if generator
                else np.zeros(len(places), dtype=np.int64)
            )
            entries = (np.ones(len(places)), (np.arange(len(places)), column))
            blocks.append(sparse.csr_array(entries, shape=(len(places), prod(lengths))))
        return sparse.csr_array(sparse.hstack(blocks))

    def vanishing(self, empty: Flags) -> Flags:
        """Which of the empty cells of one table have mean zero in the extended estimate.

        Args:
            empty: Cells that may vanish; the others have positive means.

        Raises:
            DiscreetError: The linear programme was not solved.
        """
        if not (empty & self.possible).any():
            return np.zeros(self.shape, dtype=np.bool_)
        if self.two_main_effects:
            return np.asarray(empty.all(axis=1, keepdims=True) | empty.all(axis=0, keepdims=True)) & empty
        gone = self._in_empty_margins(empty) & self.possible
        left = self.possible & ~gone
        return gone | self._face(empty & left, left) if (empty & left).any() else gone

    def _in_empty_margins(self, empty: Flags) -> Flags:
        """Cells of which some margin has nobody: they vanish, and no programme is needed to see it."""
        nobody = empty | ~self.possible
        found = np.zeros(self.shape, dtype=np.bool_)
        for axes in self._summed():
            found |= nobody.all(axis=tuple(axis - 1 for axis in axes), keepdims=True)
        return found

    def _face(self, empty: Flags, left: Flags) -> Flags:
        """Which of the empty cells vanish, where `left` are the cells that take part."""
        from scipy.optimize import linprog  # noqa: PLC0415 - slow to import, and seldom needed

        inside = empty[left]
        design = self.design(left)
        parameters, zeros = design.shape[1], int(inside.sum())
        # The largest number of s <= u = A theta with s <= 1: a cone, so each s that can be positive is 1.
        below = sparse.hstack([-design[inside], sparse.eye_array(zeros)])
        level = sparse.hstack([design[~inside], sparse.csr_array((len(inside) - zeros, zeros))])
        found = linprog(
            np.append(np.zeros(parameters), -np.ones(zeros)),
            A_ub=below,
            b_ub=np.zeros(zeros),
            A_eq=level,
            b_eq=np.zeros(len(inside) - zeros),
            bounds=[(None, None)] * parameters + [(0, 1)] * zeros,
        )
        if found.status != 0:
            raise DiscreetError(
                f"The cells that vanish were not found: {found.message}", "Please report the table."
            )
        vanishing = np.zeros(self.shape, dtype=np.bool_)
        vanishing[empty] = found.x[parameters:] > 0.5
        return vanishing
