"""Independent noise on every wanted margin, the budget split equally: what most systems do.

A person is in one cell of each of d margins. Laplace: each margin gets ε/d (replace-one: ε/2d, for a
replacement changes two cells). Gaussian: each margin gets μ/√d (replace-one: μ/√(2d)). As they are the
margins contradict each other; least squares makes them consistent, and more accurate, for free.

Source: Dwork et al. (2006); Yang, Fienberg & Rinaldo (2012) compare against nothing, hence this.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.margins.importance import overall_error
from discreet.margins.integer_noise import gaussian_noise, laplace_noise
from discreet.margins.least_squares import MeasuredMargins
from discreet.margins.reserve import fine_grid, gaussian_reserve
from discreet.margins.sensitivity import require_neighbours
from discreet.privacy.gaussian import gaussian_mu, require_budget

if TYPE_CHECKING:
    from discreet.margins.closure import MarginSet
    from discreet.margins.least_squares import Law


def independent(
    wanted: MarginSet,
    epsilon: float,
    delta: float = 0.0,
    *,
    neighbours: str = "add-remove",
    consistent: bool = False,
    law: Law | None = None,
) -> MeasuredMargins:
    """Equal noise on every wanted margin.

    With a δ the law with the smaller error is taken: Laplace for few margins, Gaussian for many.

    >>> from discreet.margins.closure import MarginSet
    >>> wanted = MarginSet(("A", "B", "C"), (3, 4, 5), ((0, 1), (0, 2), (1, 2)))
    >>> round(independent(wanted, 1.0).expected_error((0, 1)), 3)
    2.945
    """
    require_budget(epsilon, delta)
    require_neighbours(neighbours)
    plans = [
        _laplace(wanted, epsilon, neighbours, consistent=consistent) if law != "gaussian" else None,
        _gaussian(wanted, epsilon, delta, neighbours, consistent=consistent)
        if law == "gaussian" or (law is None and delta > 0)
        else None,
    ]
    return min((plan for plan in plans if plan), key=overall_error)


def _laplace(wanted: MarginSet, epsilon: float, neighbours: str, *, consistent: bool) -> MeasuredMargins:
    changes = len(wanted.margins) * (1 if neighbours == "add-remove" else 2)
    noise = laplace_noise(changes / epsilon)
    each = dict.fromkeys(wanted.margins, noise)
    return MeasuredMargins(wanted, each, "laplace", epsilon, 0.0, neighbours, consistent)


def _gaussian(
    wanted: MarginSet, epsilon: float, delta: float, neighbours: str, *, consistent: bool
) -> MeasuredMargins:
    changes = len(wanted.margins) * (1 if neighbours == "add-remove" else 2)
    cells = sum(wanted.cells(margin) for margin in wanted.margins)
    mu = gaussian_mu(epsilon, gaussian_reserve(epsilon, delta, cells))
    sigma = math.sqrt(changes) / mu
    noise = gaussian_noise(sigma, fine_grid(sigma, epsilon, mu))
    each = dict.fromkeys(wanted.margins, noise)
    return MeasuredMargins(wanted, each, "gaussian", epsilon, delta, neighbours, consistent)
