"""Maximum likelihood of a log-linear model seen through noise: expected counts, then their fit, batched.

One step takes the expected true counts given the release and the present means, then one cycle of
proportional fitting to them. Steps are extrapolated in log mu, where a log-linear model is a flat space:

    log mu' = log mu_0 - 2 a r + a^2 v,   r = log mu_1 - log mu_0,   v = log mu_2 - 2 log mu_1 + log mu_0,

with a = -|r|/|v|, taken only where the likelihood does not fall. Where cells die away, the extended estimate
with mean zero there is tried at the end and kept if it is no worse.

Source: Dempster, Laird & Rubin (1977); Varadhan & Roland (2008), scheme S3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from discreet.inference.poisson_likelihood import TINY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.inference.hierarchical_model import HierarchicalModel

    Floats = NDArray[np.float64]

TOLERANCE = 1e-10
MOST_STEPS = 600
_LONGEST = 256.0
#: A mean below these may be on its way to zero: the bold guess first, since means die away slowly.
_FAINT = (1e-2, 1e-4)
#: How much the likelihood of the extended estimate may differ by rounding.
_ROUNDING = 1e-9
_START_CYCLES = 10


class Seen(Protocol):
    """What released counts say, as far as a fit asks."""

    @property
    def released(self) -> NDArray[np.int64]:
        """The released counts."""

    def sure_zero(self) -> NDArray[np.bool_]:
        """Where nothing but a true count of zero is possible."""

    def allows_zero(self) -> NDArray[np.bool_]:
        """Where a true count of zero is possible."""


class Likelihood(Protocol):
    """A batch of released tables: how likely they are, and what counts they make one expect."""

    @property
    def evidence(self) -> Seen:
        """What the released counts say."""

    def take(self, index: NDArray[np.int64]) -> Self:
        """Some of the tables."""

    def expect(self, mu: Floats) -> tuple[Floats, Floats]:
        """The log-likelihood of each table, and the expected true count of each cell."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Fitted tables.

    Args:
        means: The fitted means.
        log_likelihood: The largest log-likelihood of each table.
        present: Cells that take part: those that can occur and do not vanish in the extended estimate.
        converged: Whether the last step changed nothing that matters.
    """

    means: Floats
    log_likelihood: Floats
    present: NDArray[np.bool_]
    converged: NDArray[np.bool_]


def maximise(likelihood: Likelihood, model: HierarchicalModel) -> Fit:
    """The maximum likelihood estimate of a model for each table of a batch."""
    start = _start(likelihood, model)
    means, log_likelihood, converged = _climb(likelihood, model, start)
    fit = Fit(means, log_likelihood, model.possible & (start > 0), converged)
    for faint in _FAINT:
        _let_vanish(likelihood, model, fit, (means < faint) & likelihood.evidence.allows_zero())
    return fit


def _let_vanish(likelihood: Likelihood, model: HierarchicalModel, fit: Fit, faint: NDArray[np.bool_]) -> None:
    """Take the extended estimates of tables, in which faint cells have mean zero, where they are no worse."""
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
    """Climb from a start until a plain step changes nothing; tables that are done are left alone."""
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
    """Two plain steps and, where it climbs, an extrapolation of them."""
    height, expected = likelihood.expect(once)
    twice = model.cycle(once, expected)
    far = _extrapolated(mu, once, twice)
    far_height, expected = likelihood.expect(far)
    better = (far_height >= height).reshape((-1,) + (1,) * (mu.ndim - 1))
    return np.where(better, model.cycle(far, expected), twice)


def _extrapolated(mu: Floats, once: Floats, twice: Floats) -> Floats:
    logs = [np.log(np.maximum(table, TINY)) for table in (mu, once, twice)]
    first = logs[1] - logs[0]
    second = logs[2] - logs[1] - first
    cells = tuple(range(1, mu.ndim))
    length = (twice * first**2).sum(axis=cells, keepdims=True)
    bend = (twice * second**2).sum(axis=cells, keepdims=True)
    step = -np.clip(np.sqrt(length / np.maximum(bend, TINY)), 1.0, _LONGEST)
    moved = np.exp(np.clip(logs[0] - 2 * step * first + step**2 * second, -690.0, 60.0))
    return np.where(twice > TINY, moved, 0.0)
