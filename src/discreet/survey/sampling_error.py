"""Released sampling errors: from noisy counts, released numbers and design effects, rounded up to public steps.

With ñ the noisy sample count of a cell, X̃ its released number, deff its design effect and V the variance of
the noise in X̃:

    relative standard error = √(deff / ñ + V / X̃²)      noise's share = (V / X̃²) / (deff / ñ + V / X̃²)

An exact standard error would disclose the exact count: it is about 1/√n. Here the count is the noisy one, and the result is
rounded up to 1, 2, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 200, 500 or 1,000 %, the noise's share to 1, 2, 5 or tens of
percent. A cell whose printed error exceeds the limit, or whose number is not positive, gets status `u`.

No function here takes an exact count or weight.

Source: Kish (1965), section 11.7; Wolter (2007), chapter 7.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.deprecated import renamed
from discreet.model.release import NO_ERROR, SHARE_STEPS, WHOLE, round_up_to_step
from discreet.survey.weight_forms import SurveyDesign


class RelativeErrors(NamedTuple):
    """Printed errors and noise shares in tenths of a percent; negative where there is none."""

    errors: NDArray[np.int64]
    noise_shares: NDArray[np.int64]


def kish_effects(noisy: NDArray[np.int64], design: SurveyDesign) -> NDArray[np.float64]:
    """Design effects from declared constants alone: Kish's, with the sampling fraction and (1 - ñ/n) of a proportion."""
    inside = np.clip(noisy, 0, design.sample_size) / design.sample_size
    return np.asarray(float(design.design_effect * (1 - design.sampling_fraction)) * (1 - inside))


def relative_errors(
    noisy: NDArray[np.int64],
    values: NDArray[np.int64],
    effects: NDArray[np.float64],
    noise_variance: NDArray[np.float64],
) -> RelativeErrors:
    """The printed errors of a table and the noise's share of each.

    Args:
        noisy: Noisy sample counts.
        values: Released numbers.
        effects: Design effects.
        noise_variance: Of the noise in the released numbers, in people squared.

    >>> found = relative_errors(np.array([0, 4, 100]), np.array([0, 40, 1000]), np.full(3, 1.2), np.full(3, 300.0))
    >>> found.errors.tolist(), found.noise_shares.tolist()
    ([-1, 750, 150], [-1, 400, 50])
    """
    there = (noisy > 0) & (values > 0)
    sampling = effects / np.where(there, noisy, 1)
    noise = noise_variance / np.where(there, values, 1).astype(np.float64) ** 2
    together = sampling + noise
    errors = round_up_to_step(np.sqrt(together) * WHOLE)
    there &= errors > 0
    shares = round_up_to_step(WHOLE * noise / np.where(together > 0, together, 1), SHARE_STEPS)
    return RelativeErrors(np.where(there, errors, NO_ERROR), np.where(there, shares, NO_ERROR))


def unreliable(errors: NDArray[np.int64], limit: Fraction) -> NDArray[np.bool_]:
    """The cells with status `u`: the printed error exceeds the limit, or there is none."""
    return np.asarray((errors < 0) | (errors > float(limit * WHOLE)))


__getattr__ = renamed(__name__)  # names of 0.2
