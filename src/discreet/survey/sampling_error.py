"""Released sampling errors: from noisy counts, released numbers and design effects, rounded up to a public ladder.

With ñ the noisy sample count of a cell, X̃ its released number, deff its design effect and V the variance of
the noise in X̃:

    relative standard error = √(deff / ñ + V / X̃²)      noise's share = (V / X̃²) / (deff / ñ + V / X̃²)

An exact standard error would give the exact count away: it is about 1/√n. Here the count is the noisy one, and the
result is rounded up to 1, 2, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 200, 500 or 1,000 %, the noise's share to 1, 2, 5
or tens of percent. A cell whose printed error passes the limit gets status `u`; so does a number of zero or less,
which has no relative error.

Nothing here can be given an exact count or weight.

Comes from: noisy cells, `design_effect` or declared constants. Goes to: the release's status and its columns of error.
Source: Kish (1965), section 11.7; Wolter (2007), chapter 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from discreet.survey.design import SurveyDesign

#: What a printed relative standard error may be, in tenths of a percent.
ERROR_LADDER = np.array([10, 20, 50, 100, 150, 200, 250, 300, 400, 500, 750, 1000, 2000, 5000, 10_000])
#: What a printed share of the noise may be, in tenths of a percent.
SHARE_LADDER = np.array([0, 10, 20, 50, *range(100, 1001, 100)])
#: One hundred percent, in the tenths of a percent in which errors are printed.
WHOLE = 1000
#: Printed where no relative error exists: a number of zero or less, or an error beyond the ladder.
NO_ERROR = -1


class ErrorsTold(NamedTuple):
    """What stands beside the numbers of a table, in tenths of a percent; negative where nothing does."""

    errors: NDArray[np.int64]
    noise_shares: NDArray[np.int64]


def declared_effects(noisy: NDArray[np.int64], design: SurveyDesign) -> NDArray[np.float64]:
    """Design effects from declared constants alone: Kish's, with the sampling fraction and (1 - ñ/n) of a proportion."""
    inside = np.clip(noisy, 0, design.sample_size) / design.sample_size
    return np.asarray(float(design.design_effect * (1 - design.sampling_fraction)) * (1 - inside))


def errors_told(
    noisy: NDArray[np.int64],
    values: NDArray[np.int64],
    effects: NDArray[np.float64],
    noise_variance: NDArray[np.float64],
) -> ErrorsTold:
    """The printed errors of a table and the noise's share of each.

    Args:
        noisy: Sample counts with their noise.
        values: Released numbers.
        effects: Design effects.
        noise_variance: Of the noise in the released numbers, in people squared.

    >>> told = errors_told(np.array([0, 4, 100]), np.array([0, 40, 1000]), np.full(3, 1.2), np.full(3, 300.0))
    >>> told.errors.tolist(), told.noise_shares.tolist()
    ([-1, 750, 150], [-1, 400, 50])
    """
    there = (noisy > 0) & (values > 0)
    sampling = effects / np.where(there, noisy, 1)
    noise = noise_variance / np.where(there, values, 1).astype(np.float64) ** 2
    together = sampling + noise
    errors = _rounded_up(np.sqrt(together) * WHOLE, ERROR_LADDER)
    there &= errors > 0
    shares = _rounded_up(WHOLE * noise / np.where(together > 0, together, 1), SHARE_LADDER)
    return ErrorsTold(np.where(there, errors, NO_ERROR), np.where(there, shares, NO_ERROR))


def _rounded_up(values: NDArray[np.float64], ladder: NDArray[np.int64]) -> NDArray[np.int64]:
    """The least rung that is not below each value; none beyond the last."""
    # A value that is a rung but for the last bits of a float stands on it.
    place = np.searchsorted(ladder, values * (1 - 1e-12), side="left")
    return np.append(ladder, NO_ERROR)[place]


def unreliable(errors: NDArray[np.int64], limit: Fraction) -> NDArray[np.bool_]:
    """Which cells get status `u`: the printed error passes the limit, or there is none."""
    return np.asarray((errors < 0) | (errors > float(limit * WHOLE)))
