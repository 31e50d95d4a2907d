"""Hierarchical log-linear models: their margins, and their maximum likelihood fit to exact and to noisy counts.

A model is given by its generators, the largest sets of variables that interact:

    log mu(cell) = log offset(cell) + sum over generators g of theta_g(cell's categories in g).

`plain_fit` fits counts as they are, by iterative proportional fitting; `maximise` fits released counts with the noise in the
likelihood, by expectation maximisation. Where zeros leave no positive estimate, the extended estimate has mean zero outside
the facial set: the cells that are positive in some table with the same margins.
Source: Bishop, Fienberg & Holland (1975), chapter 3; Fienberg & Rinaldo (2012) for extended estimates; Yang, Fienberg &
Rinaldo (2012), section 2; Dempster, Laird & Rubin (1977); Varadhan & Roland (2008), scheme S3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import xlogy

from discreet.errors import BadRequest, DiscreetError
from discreet.inference.channel import Evidence, Floats
from discreet.inference.hypothesis_tests.likelihood import TINY, WideEvidence

Flags = NDArray[np.bool_]

_TOLERANCE = 1e-13
MOST_CYCLES = 20_000


@dataclass(frozen=True, slots=True)
class HierarchicalModel:
    """A hierarchical log-linear model for tables of one shape.

    Args:
        generators: Sets of axes that interact, none within another.
        offset: The factor of each mean; 0 where a cell cannot occur.
    """

    shape: tuple[int, ...]
    generators: tuple[tuple[int, ...], ...]
    offset: Floats

    @classmethod
    def of(cls, generators: Sequence[Sequence[int]], offset: Floats) -> Self:
        """The model of some generators; those within another are dropped.

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
        return self.offset > 0

    def cycle(self, mu: Floats, target: Floats) -> Floats:
        """One cycle of proportional fitting of each table of a batch to the margins of its target."""
        for axes in self._margin_axes():
            margin, wanted = mu.sum(axis=axes, keepdims=True), target.sum(axis=axes, keepdims=True)
            mu = mu * np.divide(wanted, margin, out=np.zeros_like(wanted), where=margin > 0)
        return mu

    def fit(self, target: Floats, start: Floats | None = None) -> Floats:
        """The means that match the target's margins, by proportional fitting of each table of a batch.

        It ends when a cycle changes nothing, or after `MOST_CYCLES`; `off_by` measures the remaining error.

        The start is the offset, with zeros outside the facial set.
        """
        mu = np.broadcast_to(self.offset if start is None else start, target.shape).astype(np.float64)
        for _ in range(MOST_CYCLES):
            before, mu = mu, self.cycle(mu, target)
            if np.abs(mu - before).max() <= _TOLERANCE * (1 + mu.max()):
                break
        return mu

    def off_by(self, mu: Floats, target: Floats) -> Floats:
        """For each table of a batch the largest error of a margin, relative to the largest cell of a margin."""
        worst, largest = np.zeros(len(mu)), np.ones(len(mu))
        for axes in self._margin_axes():
            wanted = target.sum(axis=axes).reshape(len(mu), -1)
            found = mu.sum(axis=axes).reshape(len(mu), -1)
            worst = np.maximum(worst, np.abs(found - wanted).max(axis=1))
            largest = np.maximum(largest, wanted.max(axis=1))
        return np.asarray(worst / largest)

    def _margin_axes(self) -> list[tuple[int, ...]]:
        """For each generator the axes of a batch over which its margin is summed."""
        return [tuple(a + 1 for a in range(len(self.shape)) if a not in g) for g in self.generators]

    def degrees_of_freedom(self, present: Flags) -> int:
        """The cells present minus the parameters that they determine."""
        if present.all():
            # One parameter for each contrast of each interaction.
            interactions = {
                part for g in self.generators for size in range(len(g) + 1) for part in combinations(g, size)
            }
            return prod(self.shape) - sum(
                prod(self.shape[axis] - 1 for axis in part) for part in interactions
            )
        design = self.design(present)
        gram = design @ design.T if design.shape[0] <= design.shape[1] else design.T @ design
        return int(present.sum()) - int(np.linalg.matrix_rank(gram.toarray(), hermitian=True))

    def design(self, present: Flags) -> sparse.csr_array:
        """One row per present cell, one column per margin cell of each generator: 1 where the cell belongs to it."""
        places = np.argwhere(present)
        blocks = []
        for generator in self.generators:
            lengths = tuple(self.shape[axis] for axis in generator)
            column = np.zeros(len(places), dtype=np.int64)
            if generator:
                column = np.ravel_multi_index(tuple(places[:, list(generator)].T), lengths)
            entries = (np.ones(len(places)), (np.arange(len(places)), column))
            blocks.append(sparse.csr_array(entries, shape=(len(places), prod(lengths))))
        return sparse.csr_array(sparse.hstack(blocks))

    def vanishing(self, empty: Flags) -> Flags:
        """Which of the empty cells of one table have mean zero in the extended estimate.

        All other cells have positive means.
        """
        if not (empty & self.possible).any():
            return np.zeros(self.shape, dtype=np.bool_)
        if len(self.shape) == 2 and self.generators == ((0,), (1,)) and self.possible.all():
            return np.asarray(empty.all(axis=1, keepdims=True) | empty.all(axis=0, keepdims=True)) & empty
        # Cells of an empty margin vanish; only the others need the linear programme.
        gone = np.zeros(self.shape, dtype=np.bool_)
        for axes in self._margin_axes():
            gone |= (empty | ~self.possible).all(axis=tuple(axis - 1 for axis in axes), keepdims=True)
        gone &= self.possible
        left = self.possible & ~gone
        return gone | self._face(empty & left, left) if (empty & left).any() else gone

    def _face(self, empty: Flags, left: Flags) -> Flags:
        """Which of the empty cells vanish: those of weight u = A theta > 0 where u = 0 on all others that are left."""
        from scipy.optimize import linprog  # noqa: PLC0415 - slow to import, and seldom needed

        inside = empty[left]
        design = self.design(left)
        parameters, zeros = design.shape[1], int(inside.sum())
        # Maximise the sum of s <= u = A theta, s <= 1: a cone, so each s that can be positive is 1.
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


#: A fit has converged when no margin is off by more than this part of the largest cell of a margin.
REACHED = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class PlainFit:
    """Fits of a batch of tables.

    Args:
        means: The fitted means; zero outside the facial set.
        present: The facial set of each table.
        reached: Whether the fit of each table has the margins of its counts.
    """

    counts: Floats
    means: Floats
    present: NDArray[np.bool_]
    reached: NDArray[np.bool_]

    def g_squared(self) -> Floats:
        """G² = 2 Σ f log(f / fit) of each table."""
        fit = np.where(self.counts > 0, self.means, 1.0)
        parts = xlogy(self.counts, self.counts) - xlogy(self.counts, fit)
        return np.asarray(np.maximum(2 * parts.reshape(len(parts), -1).sum(axis=1), 0.0))

    def pearson(self) -> Floats:
        """X² = Σ (f - fit)² / fit of each table."""
        shown = np.where(self.present, self.means, 1.0)
        parts = np.where(self.present, (self.counts - shown) ** 2 / shown, 0.0)
        return np.asarray(parts.reshape(len(parts), -1).sum(axis=1))


def plain_fit(tables: Floats, model: HierarchicalModel) -> PlainFit:
    """Fit a model to each table of a batch of non-negative counts."""
    present = np.broadcast_to(model.possible, tables.shape).copy()
    for table in np.flatnonzero((tables == 0).reshape(len(tables), -1).any(axis=1)):
        present[table] &= ~model.vanishing(tables[table] == 0)
    means = model.fit(tables, start=model.offset * present)
    return PlainFit(tables, means, present, model.off_by(means, tables) <= REACHED)


@dataclass(frozen=True, eq=False)
class LogLinearFit:
    """The (extended) maximum likelihood estimate of a model for one table.

    Args:
        probabilities: p̂, adding up to one; zero outside the facial set.
        statistic: G².
        pearson: X².
        df: Degrees of freedom if every parameter could be estimated.
        df_adjusted: The cells of the facial set minus the rank of the model on them.
    """

    probabilities: Floats
    support: NDArray[np.bool_]
    statistic: float
    pearson: float
    df: int
    df_adjusted: int


def fit_log_linear(table: ArrayLike, generators: Sequence[Sequence[int]]) -> LogLinearFit:
    """Fit the model whose sufficient statistics are the margins of the generators.

    Args:
        table: Counts without totals, not negative and not all zero.
        generators: The largest sets of axes that interact.

    Raises:
        BadRequest: The table is not such a table.
        DiscreetError: The fit did not reach its margins.

    >>> fit = fit_log_linear([[10, 20], [30, 40]], [(0,), (1,)])
    >>> round(fit.statistic, 4), fit.df, round(float(fit.probabilities[0, 0]), 9)
    (0.8043, 1, 0.12)
    """
    counts = np.asarray(table, dtype=np.float64)
    if not counts.size or counts.min() < 0 or counts.sum() <= 0:
        raise BadRequest("A log-linear model needs a table that is not negative and not empty.")
    model = HierarchicalModel.of(generators, np.ones(counts.shape))
    fit = plain_fit(counts[None], model)
    if not fit.reached[0]:
        raise DiscreetError(
            f"Proportional fitting did not reach its margins in {MOST_CYCLES:,} cycles.",
            "Fit a model with fewer interactions, or a table with fewer zeros.",
        )
    return LogLinearFit(
        fit.means[0] / counts.sum(),
        fit.present[0],
        float(fit.g_squared()[0]),
        float(fit.pearson()[0]),
        model.degrees_of_freedom(model.possible),
        model.degrees_of_freedom(fit.present[0]),
    )


TOLERANCE = 1e-10
MOST_STEPS = 600
_LONGEST = 256.0
#: Means below these may converge to zero. The larger bound is tried first, because convergence to zero is slow.
_FAINT = (1e-2, 1e-4)
#: Rounding error of the likelihood of the extended estimate.
_ROUNDING = 1e-9
_START_CYCLES = 10


class Likelihood(Protocol):
    """The likelihood of a batch of released tables."""

    @property
    def evidence(self) -> Evidence | WideEvidence:
        """The evidence of the released counts."""

    def take(self, index: NDArray[np.int64]) -> Self:
        """Some of the tables."""

    def expect(self, mu: Floats) -> tuple[Floats, Floats]:
        """The log-likelihood of each table, and the expected true count of each cell."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Fitted tables.

    Args:
        log_likelihood: The largest log-likelihood of each table.
        present: Cells that can occur and do not vanish in the extended estimate.
        converged: Whether the last step changed less than the tolerance.
    """

    means: Floats
    log_likelihood: Floats
    present: NDArray[np.bool_]
    converged: NDArray[np.bool_]


def maximise(likelihood: Likelihood, model: HierarchicalModel) -> Fit:
    """The maximum likelihood estimate of a model for each table of a batch.

    A step takes the expected true counts given the release and the current means, then one cycle of proportional fitting to
    them. Steps are extrapolated in log mu, in which a log-linear model is linear:

        log mu' = log mu_0 - 2 a r + a^2 v,   r = log mu_1 - log mu_0,   v = log mu_2 - 2 log mu_1 + log mu_0,

    with a = -|r|/|v|, accepted where the likelihood does not fall. At the end the extended estimate, with mean zero in
    faint cells, replaces an estimate that is not better.
    """
    start = _start(likelihood, model)
    means, log_likelihood, converged = _climb(likelihood, model, start)
    fit = Fit(means, log_likelihood, model.possible & (start > 0), converged)
    for faint in _FAINT:
        _let_vanish(likelihood, model, fit, (means < faint) & likelihood.evidence.allows_zero())
    return fit


def _let_vanish(likelihood: Likelihood, model: HierarchicalModel, fit: Fit, faint: NDArray[np.bool_]) -> None:
    """Replace estimates by the extended ones, with mean zero in faint cells, where they are no worse."""
    gone = np.zeros_like(fit.present)
    for table in np.flatnonzero((faint & fit.present).reshape(len(gone), -1).any(axis=1)):
        gone[table] = model.vanishing(faint[table] | ~fit.present[table]) & fit.present[table]
    some = np.flatnonzero(gone.reshape(len(gone), -1).any(axis=1))
    if not len(some):
        return
    means, height, done = _climb(likelihood.take(some), model, np.where(gone[some], 0.0, fit.means[some]))
    better = height >= fit.log_likelihood[some] - _ROUNDING
    taken = some[better]
    fit.means[taken], fit.log_likelihood[taken] = means[better], height[better]
    fit.converged[taken] = done[better]
    fit.present[taken] &= ~gone[taken]


def _start(likelihood: Likelihood, model: HierarchicalModel) -> Floats:
    """A few cycles towards the released counts; cells that must vanish start at zero and stay there."""
    target = np.maximum(likelihood.evidence.released, 0.5) * model.possible
    mu = np.broadcast_to(model.offset, target.shape).astype(np.float64)
    empty = likelihood.evidence.sure_zero()
    for table in np.flatnonzero((empty & model.possible).reshape(len(empty), -1).any(axis=1)):
        gone = model.vanishing(empty[table])
        mu[table][gone] = 0.0
        target[table][gone] = 0.0
    for _ in range(_START_CYCLES):
        mu = model.cycle(mu, target)
    return mu


def _climb(
    likelihood: Likelihood, model: HierarchicalModel, start: Floats
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Iterate from a start until a plain step changes nothing; converged tables are left alone."""
    means, height = start.copy(), np.full(len(start), -np.inf)
    done = np.zeros(len(start), dtype=np.bool_)
    waiting, part, mu = np.arange(len(start)), likelihood, start
    for _ in range(MOST_STEPS):
        height[waiting], expected = part.expect(mu)
        once = model.cycle(mu, expected)
        change = np.abs(once - mu) / (1 + mu)
        still = change.reshape(len(mu), -1).max(axis=1) > TOLERANCE
        means[waiting] = mu
        done[waiting[~still]] = True
        waiting = waiting[still]
        if not len(waiting):
            break
        if not still.all():
            part = likelihood.take(waiting)
        mu = _leap(part, model, mu[still], once[still])
    return means, height, done


def _leap(likelihood: Likelihood, model: HierarchicalModel, mu: Floats, once: Floats) -> Floats:
    """Two plain steps and, where it increases the likelihood, their extrapolation."""
    height, expected = likelihood.expect(once)
    twice = model.cycle(once, expected)
    start, middle, end = (np.log(np.maximum(table, TINY)) for table in (mu, once, twice))
    first = middle - start
    second = end - middle - first
    cells = tuple(range(1, mu.ndim))
    length = (twice * first**2).sum(axis=cells, keepdims=True)
    bend = (twice * second**2).sum(axis=cells, keepdims=True)
    step = -np.clip(np.sqrt(length / np.maximum(bend, TINY)), 1.0, _LONGEST)
    moved = np.exp(np.clip(start - 2 * step * first + step**2 * second, -690.0, 60.0))
    far = np.where(twice > TINY, moved, 0.0)
    far_height, expected = likelihood.expect(far)
    better = (far_height >= height).reshape((-1,) + (1,) * (mu.ndim - 1))
    return np.where(better, model.cycle(far, expected), twice)
