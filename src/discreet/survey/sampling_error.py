"""Sampling error from what is public: noisy counts, the design, and the variance of the noise.

An exact standard error would give the exact count away, so it is computed from the noisy count ñ:

    sampling variance = deff·(1 - n/N)·ñ·(1 - ñ/n)      noise variance = V      (both in sample counts)
    relative standard error = √(sampling + noise) / ñ   noise's share = noise / (sampling + noise)

with Kish's design effect deff = 1 + relative variance of the weights. A cell whose error passes the limit
gets status `u`. All is decided in exact rationals; the error is printed in tenths of a percent, rounded up, and
the share too, to the nearest, a half up.

Comes from: `protect` and the design. Goes to: the release's status and its two columns of error.
Source: Kish (1965), section 11.7; Kish (1992).
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from discreet.survey.design import SurveyDesign

#: A cell with a larger relative standard error is marked `u`.
UNRELIABLE = Fraction(1, 4)
#: One hundred percent, in the tenths of a percent in which errors are printed.
WHOLE = 1000
#: Printed where no relative error exists: a count of zero or less.
NO_ERROR = -1


def sampling_variance(count: int, design: SurveyDesign) -> Fraction:
    """The sampling variance of a sample count, estimated from a noisy one; zero outside 0..n."""
    inside = min(max(count, 0), design.sample_size)
    spread = inside * (1 - Fraction(inside, design.sample_size))
    return design.design_effect * (1 - design.sampling_fraction) * spread


def relative_standard_errors(
    noisy: NDArray[np.int64], design: SurveyDesign, noise_variance: Fraction
) -> NDArray[np.int64]:
    """The relative standard error of each cell, noise included, in tenths of a percent, rounded up.

    >>> from discreet.survey.design import SurveyDesign
    >>> design = SurveyDesign(1500, 10_000_000_000, 4, 30_000_000)
    >>> relative_standard_errors(np.array([0, 4, 100]), design, Fraction(3)).tolist()
    [-1, 661, 99]
    """
    return _of_each(
        noisy,
        lambda count: _root_rounded_up(
            (sampling_variance(count, design) + noise_variance) * WHOLE**2 / count**2
        ),
    )


def _of_each(noisy: NDArray[np.int64], figure: Callable[[int], int]) -> NDArray[np.int64]:
    """A figure of each cell, worked out once for equal counts; there is none for a count of zero or less."""
    values, places = np.unique(noisy, return_inverse=True)
    figures = [figure(count) if count > 0 else NO_ERROR for count in values.tolist()]
    return np.array(figures, dtype=np.int64)[places].reshape(noisy.shape)


def _root_rounded_up(square: Fraction) -> int:
    """The least integer whose square is at least the given one."""
    whole = -(-square.numerator // square.denominator)
    return isqrt(whole - 1) + 1 if whole else 0


def noise_shares(
    noisy: NDArray[np.int64], design: SurveyDesign, noise_variance: Fraction
) -> NDArray[np.int64]:
    """The noise's share of each cell's variance in tenths of a percent; -1 where there is no relative error.

    >>> from discreet.survey.design import SurveyDesign
    >>> design = SurveyDesign(1500, 10_000_000_000, 4, 30_000_000)
    >>> noise_shares(np.array([0, 4, 100]), design, Fraction(3)).tolist()
    [-1, 430, 31]
    """
    return _of_each(
        noisy, lambda count: int(noise_share(count, design, noise_variance) * WHOLE + Fraction(1, 2))
    )


def noise_share(count: int, design: SurveyDesign, noise_variance: Fraction) -> Fraction:
    """The noise's share of the total variance of a cell; 1 if nothing else varies, 0 if nothing does."""
    total = sampling_variance(count, design) + noise_variance
    return noise_variance / total if total else Fraction(0)


def reliable_from(design: SurveyDesign, noise_variance: Fraction, limit: Fraction = UNRELIABLE) -> int:
    """The smallest count whose relative standard error is within the limit.

    The error falls as the count grows, so one number decides for all cells: `u` is `noisy < reliable_from`.
    """
    low, high = 1, 1
    while not _is_reliable(high, design, noise_variance, limit):
        low, high = high + 1, 2 * high
    while low < high:
        middle = (low + high) // 2
        reliable = _is_reliable(middle, design, noise_variance, limit)
        low, high = (low, middle) if reliable else (middle + 1, high)
    return low


def _is_reliable(count: int, design: SurveyDesign, noise_variance: Fraction, limit: Fraction) -> bool:
    return sampling_variance(count, design) + noise_variance <= (limit * count) ** 2


def unreliable(
    noisy: NDArray[np.int64], design: SurveyDesign, noise_variance: Fraction, limit: Fraction = UNRELIABLE
) -> NDArray[np.bool_]:
    """Which cells get status `u`: the relative standard error passes the limit, or there is none."""
    return np.less(noisy, reliable_from(design, noise_variance, limit))
